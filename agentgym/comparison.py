"""Compares sequences that strangers wrote, within a budget of comparisons.

`difflib` takes cubic time for sequences that repeat a few parts: two texts of 8,000 letters can
take hours.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

COMPARISONS: Final = 30_000_000
"""Pairs of parts that may be compared, a few seconds."""

Opcode: TypeAlias = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
"""A tag and two ranges, as `difflib` has them."""


class BudgetSpentError(Exception):
    """Sequences take too many comparisons."""


class Budget:
    """The comparisons that are left.

    Args:
        count: Their number.
    """

    def __init__(self, count: int = COMPARISONS) -> None:
        self._left = count

    def take(self, count: int) -> None:
        """Count comparisons.

        Raises:
            BudgetSpentError: There are not so many left.
        """
        self._left -= count
        if self._left < 0:
            raise BudgetSpentError


class Matcher(difflib.SequenceMatcher[str]):
    """A matcher whose comparisons count; its methods raise BudgetSpentError.

    Args:
        old: A sequence.
        new: Another one.
        budget: Is shared by matchers; None: one of its own.
    """

    def __init__(
        self, old: Sequence[str], new: Sequence[str], budget: Budget | None = None
    ) -> None:
        super().__init__(None, old, new, False)
        self._budget = budget or Budget()
        times = Counter(new)
        self._costs = [0, *accumulate(1 + times[part] for part in old)]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        """Find the longest block in two ranges, within the budget."""
        self._budget.take(self._costs[-1 if ahi is None else ahi] - self._costs[alo])
        return super().find_longest_match(alo, ahi, blo, bhi)


def are_alike(
    one: Sequence[str], other: Sequence[str], similarity: float, budget: Budget | None = None
) -> bool:
    """Return whether two sequences have a share of their parts in common, by `difflib`.

    It is false as well if comparing them takes too long.

    Args:
        one: A sequence.
        other: Another one.
        similarity: Smallest share, 0..1.
        budget: Is shared by comparisons; None: one of its own.

    Example:
        >>> are_alike("abcd", "bcde", 0.7)
        True
    """
    matcher = Matcher(one, other, budget)
    try:
        return matcher.quick_ratio() >= similarity and matcher.ratio() >= similarity
    except BudgetSpentError:
        return False
