"""Recorded text made safe to show."""

from __future__ import annotations

import doctest
import unicodedata

from agentgym.eval import printable
from agentgym.eval.printable import clean

MARKS = ("LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK")


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(printable) == (0, 1)


def test_only_what_is_no_text_is_spelled_out() -> None:
    """Unicode's own tables say what a control, a surrogate or a bidirectional mark is."""
    for point in range(0x3000):
        character = chr(point)
        steers = unicodedata.category(character) == "Cc" and character not in "\t\n"
        steers |= unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF")
        steers |= unicodedata.bidirectional(character) in ("LRI", "RLI", "FSI", "PDI")
        steers |= unicodedata.name(character, "") in MARKS
        assert (clean(character) != character) == steers, hex(point)
    assert clean("a\ud800") == r"a\ud800"
