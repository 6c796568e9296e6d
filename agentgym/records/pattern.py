"""Decides which foreign regular expressions may run over texts that an agent chose.

Python's `re` backtracks: a short pattern can take hours on a short text. Only patterns that are
linear for every text are accepted: anchored at the start, at most one part of any length, few
ways to match the others, no repeated group, no lookaround and no backreference.
"""

from __future__ import annotations

import fnmatch
import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any, Final

_MOST_CHARS: Final = 500
_MOST_REPEATS: Final = 1_000
_MOST_WAYS: Final = 1_000
_MOST_WAYS_ANYWHERE: Final = 10
UNREADABLE: Final = (re.error, RecursionError, OverflowError, ValueError)
"""The exceptions of `re.compile` for a text that is no pattern."""

_MOST_GLOB: Final = 1_000
"""Longest glob; to translate one takes time that grows with the square of its length."""

_SIMPLE: Final = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN, op.CATEGORY)
_BEGINNINGS: Final = ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))


def is_linear(pattern: object) -> bool:
    """Return whether the time of a search is proportional to the length of the text.

    Example:
        >>> is_linear("^[a-z]+[0-9]{4}$"), is_linear("^(a+)+$")
        (True, False)
    """
    cost = _cost(pattern)
    if cost is None:
        return False
    # Unanchored, the search begins anew at each character.
    return cost.anchored or (cost.endless == 0 and cost.ways <= _MOST_WAYS_ANYWHERE)


def is_cheap(pattern: object) -> bool:
    r"""Return whether the time of a match at one place is at most proportional to the text.

    It is for a search that begins only at words, over a text of bounded length.

    Example:
        >>> is_cheap(r"(expir|end)\w*"), is_cheap("(a+)+b")
        (True, False)
    """
    return _cost(pattern) is not None


def fits_glob(name: str, glob: str) -> bool:
    """Return whether a name fits a glob; a glob of more than 1,000 characters fits nothing.

    Example:
        >>> fits_glob("mail_send", "mail_*"), fits_glob("a", "*" * 1_001)
        (True, False)
    """
    return len(glob) <= _MOST_GLOB and fnmatch.fnmatchcase(name, glob)


def _cost(pattern: object) -> _Cost | None:
    """Return the number of ways a match may have to try; None if that is too many."""
    if not isinstance(pattern, str) or len(pattern) > _MOST_CHARS:
        return None
    try:
        parts = list(parser.parse(pattern))
        re.compile(pattern)
    except UNREADABLE:
        return None
    cost = _Cost(bool(parts) and parts[0] in _BEGINNINGS)
    return cost if all(cost.admits(part) for part in parts) else None


class _Cost:
    """Adds up the ways that a search may have to try.

    Attributes:
        endless: Number of parts that match any length.
        ways: Number of ways in which all other parts can match one text.

    Args:
        anchored: Whether the pattern matches at the start of a text only.
    """

    def __init__(self, anchored: bool) -> None:
        self.anchored = anchored
        self.endless, self.ways = 0, 1
        self._size = 0

    def admits(self, part: tuple[Any, Any]) -> bool:
        """Count a part; return whether the pattern is still cheap."""
        kind, value = part
        self._size += 1
        if kind in _SIMPLE or kind is op.AT:
            fine = True
        elif kind is op.SUBPATTERN:
            fine = all(self.admits(inner) for inner in value[-1])
        elif kind is op.BRANCH:
            self.ways *= len(value[1])
            fine = all(self.admits(inner) for way in value[1] for inner in way)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            fine = self._repeat(*value)
        else:
            fine = False
        cheap = self._size <= _MOST_REPEATS and self.ways <= _MOST_WAYS and self.endless <= 1
        return fine and cheap

    def _repeat(self, low: int, high: Any, parts: Any) -> bool:
        inner = list(parts)
        if (low, high) == (0, 1):
            self.ways *= 2
            return all(self.admits(part) for part in inner)
        if len(inner) != 1 or inner[0][0] not in _SIMPLE:
            return False
        self._size += low
        if high is op.MAXREPEAT or high - low > _MOST_REPEATS:
            self.endless += 1
        else:
            self.ways *= high - low + 1
        return True
