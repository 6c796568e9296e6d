"""Runs of combining marks are cut before a text is normalised; other texts stay as they are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.records.normalization import MOST_MARKS, stream_safe

MARKS = "\u0301\u0323"  # in each row the second has to move before the first


@pytest.mark.parametrize("text", ["", "plain", "Zoë e\u0301te\u0301", "中" * 100, "\u0f73\uff9e"])
def test_texts_of_people_stay_as_they_are(text):
    assert stream_safe(text) == text


@given(st.text(alphabet=f"ae中é\u0f73\uff9e{MARKS}", max_size=200), st.integers(0, 100))
def test_no_form_of_a_text_has_more_marks_in_a_row(text, more):
    safe = stream_safe(text + MARKS[0] * more + MARKS[1] * more)
    for form in ("NFC", "NFKC", "NFD", "NFKD"):
        run = longest = 0
        for character in unicodedata.normalize(form, safe):
            run = run + 1 if unicodedata.combining(character) else 0
            longest = max(longest, run)
        # A character may itself become a letter and marks, or two marks.
        assert longest <= 2 * MOST_MARKS + 3
