"""Ranges of a sheet's cells, such as ``A2:C9``."""

from __future__ import annotations

import re

from agentgym import VerifierError

CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_MOST_CELLS = 20_000


def extent(at: object) -> tuple[int, int]:
    """Return the number of columns and rows of a range.

    Raises:
        VerifierError: It is no range, or has too many cells.
    """
    first, _, last = str(at).partition(":")
    begin, end = CELL.fullmatch(first), CELL.fullmatch(last or first)
    if begin and end:
        wide = _column(end[1]) - _column(begin[1]) + 1
        high = int(end[2]) - int(begin[2]) + 1
        if wide > 0 and high > 0 and wide * high <= _MOST_CELLS:
            return wide, high
    raise VerifierError(
        f"at: expected a range such as 'A2:C9', at most {_MOST_CELLS} cells; got {at!r}"
    )


def corners(at: str) -> tuple[int, int, int, int]:
    """Return first column, first row, last column and last row of a valid range."""
    first, _, last = at.partition(":")
    (left, top), (right, bottom) = _place(first), _place(last or first)
    return left, top, right, bottom


def lies_in(cell: str, corners: tuple[int, int, int, int]) -> bool:
    """Return whether a cell, such as ``B7``, lies within these corners of a range."""
    left, top, right, bottom = corners
    column, row = _place(cell)
    return left <= column <= right and top <= row <= bottom


def _place(cell: str) -> tuple[int, int]:
    found = CELL.fullmatch(cell)
    assert found is not None, "a reader names cells so"
    return _column(found[1]), int(found[2])


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
