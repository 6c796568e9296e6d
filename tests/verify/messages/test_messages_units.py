"""How a text is split into sentences and words, and what they are compared by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.units import read_message, stem
from agentgym.verify.messages.words import words


@given(st.sampled_from(["move", "cancel", "plan", "carry", "close", "assign", "share", "delete"]))
def test_forms_of_a_word_have_one_stem(word: str) -> None:
    base = word.removesuffix("e")
    past = {"cancel": "cancelled", "plan": "planned", "carry": "carried"}.get(word, f"{base}ed")
    assert stem(past) == stem(word)


def test_the_lists_hold_words_and_no_figures() -> None:
    lists = words()
    for phrases in lists.commitments.values():
        assert all(t.figure is None for p in phrases for t in read_message(p).tokens())
        assert len(set(phrases)) == len(phrases)


@pytest.mark.parametrize(
    "text", ["priya.haugen@redwood-insurance.example", "Pitch.docx", "redwood.example"]
)
def test_an_address_or_a_file_is_no_two_sentences(text: str) -> None:
    assert [unit.text for unit in read_message(f"It is {text}. Thank you.").units] == [
        f"it is {text.casefold()}.",
        "thank you.",
    ]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("I am happy to confirm your visit.", False),
        ("We confirm that it is off.", False),
        ("Please confirm your address.", True),
        ("I need you to confirm your address.", True),
        ("To go on, confirm your address.", True),
    ],
)
def test_who_confirms_does_not_ask(text: str, asks: bool) -> None:
    assert [unit.asks for unit in read_message(text).units] == [asks]


def test_a_character_that_stands_for_a_phrase_does_not_make_a_text_long() -> None:
    assert len(plain("\ufdfa" * MOST_CHARS)) <= 4 * MOST_CHARS


@pytest.mark.parametrize("sign", [" at ", "[at]", "( at )", " {AT} ", "\n\nat\n"])
def test_an_address_is_a_secret_however_its_signs_stand(sign: str) -> None:
    assert leak(f"It is priya{sign}redwood dot example.", ["priya@redwood.example"])
    assert not leak(f"It is paula{sign}redmond dot example.", ["priya@redwood.example"])
