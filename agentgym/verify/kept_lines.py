"""Text files to which may be added: which of their lines are gone.

A line is still there if another one has all its words in their order. Closing punctuation of a
word does not count, because a clause that is added to a sentence replaces its full stop.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

_MOST_EXTENDED: Final = 1_000
"""New lines that may hold the words of old ones; more would take long to compare."""
_CLOSING: Final = ".,;:!?"


def lost_lines(before: str, after: str) -> Counter[str]:
    """Return the lines of a text, without trailing white space, that a later text lacks.

    Empty lines and the order of the lines do not count.
    """
    had = Counter(line.rstrip() for line in before.split("\n") if line.strip())
    has = Counter(line.rstrip() for line in after.split("\n"))
    return _without_extended(had - has, has - had)


def _without_extended(lost: Counter[str], new: Counter[str]) -> Counter[str]:
    """Return the lost lines, without those of which a new line has every word, in order."""
    left = lost.copy()
    waiting = [_words(line) for line in new.elements()] if new.total() <= _MOST_EXTENDED else []
    # The longest come first: fewer new lines have all of their words.
    for line in sorted(lost.elements(), key=lambda one: -len(one.split())):
        for words in waiting:
            rest = iter(words)
            if all(word in rest for word in _words(line)):
                waiting.remove(words)
                left -= Counter([line])
                break
    return left


def _words(line: str) -> list[str]:
    return [word.rstrip(_CLOSING) or word for word in line.split()]
