"""Ranges: two times of day that a message joins, "14:00 to 15:30"."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.units import Token, Unit, read_message

_JOINING: Final = frozenset(("to", "until", "till", "and", "through"))


@dataclass(frozen=True, slots=True)
class Range:
    """A span between two times of day, each with its possible meanings in minutes.

    Attributes:
        shown: The range as the text writes it.
    """

    start: frozenset[int]
    end: frozenset[int]
    shown: str

    def __str__(self) -> str:
        return self.shown

    def agrees(self, other: Range) -> bool:
        """Return whether both ranges can mean the same."""
        return bool(self.start & other.start and self.end & other.end)


def find_ranges(text: str) -> list[Range]:
    """Return the ranges of a text.

    Example:
        >>> [str(one) for one in find_ranges("14:00-15:30, not from 9 am until noon")]
        ['14:00 15:30', '9 am noon']
    """
    return [one for unit in read_message(text).units for one in unit_ranges(unit)]


def unit_ranges(unit: Unit) -> Iterator[Range]:
    """Yield the ranges of a sentence."""
    times = [place for place, token in enumerate(unit.tokens) if _minutes(token)]
    for here, there in itertools.pairwise(times):
        between = unit.tokens[here + 1 : there]
        first, second = unit.tokens[here], unit.tokens[there]
        joined = len(between) <= 1 and all(token.text in _JOINING for token in between)
        if joined and first.segment == second.segment:
            yield Range(_minutes(first), _minutes(second), f"{first.text} {second.text}")


def _minutes(token: Token) -> frozenset[int]:
    readings = token.figure.readings if token.figure is not None else ()
    return frozenset(value for kind, value in readings if kind == "time")
