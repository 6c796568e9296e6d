"""The agreement of two graders: Cohen's kappa (1960) with its large-sample interval.

The standard error is that of Fleiss, Cohen and Everitt (1969), Psychological Bulletin 72, 323-327.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.records import Json

_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Agreement:
    """The rate of equal answers of two graders, corrected for chance.

    Attributes:
        categories: Every answer that a grader gave, sorted.
        matrix: Counts; rows are the first grader's answers, columns the second's.
        kappa: 1 for perfect agreement, 0 for chance; None if both always gave one same answer.
        ci95: 95% interval of kappa, cut to -1..1; None with kappa, or for fewer than two pairs.
    """

    categories: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]
    kappa: float | None
    ci95: tuple[float, float] | None

    @property
    def pairs(self) -> int:
        """Number of compared answers."""
        return sum(map(sum, self.matrix))

    @property
    def observed(self) -> float | None:
        """Share of equal answers; None without pairs."""
        equal = sum(row[i] for i, row in enumerate(self.matrix))
        return equal / self.pairs if self.pairs else None

    def to_json(self) -> dict[str, Json]:
        """Return the agreement as a JSON object, with its published field names."""
        return {
            "pairs": self.pairs,
            "observed": self.observed,
            "kappa": self.kappa,
            "ci95": list(self.ci95) if self.ci95 else None,
            "categories": self.categories,
            "matrix": self.matrix,
        }


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Compare two graders.

    Args:
        pairs: For each case, the answer of the first (a person's label) and of the second (the
            judge).
    """
    categories = tuple(sorted({answer for pair in pairs for answer in pair}))
    counts = Counter(pairs)
    matrix = tuple(tuple(counts[a, b] for b in categories) for a in categories)
    kappa, error = _kappa(matrix, len(pairs))
    if kappa is None or len(pairs) < 2:
        return Agreement(categories, matrix, kappa, None)
    low, high = max(-1.0, kappa - _Z * error), min(1.0, kappa + _Z * error)
    return Agreement(categories, matrix, kappa, (low, high))


def _kappa(matrix: Sequence[Sequence[int]], n: int) -> tuple[float | None, float]:
    """Return kappa and its standard error."""
    if not n:
        return None, 0.0
    p = [[count / n for count in row] for row in matrix]
    size = range(len(p))
    rows = [sum(row) for row in p]
    columns = [sum(row[j] for row in p) for j in size]
    chance = sum(rows[i] * columns[i] for i in size)
    if math.isclose(chance, 1.0):
        return None, 0.0
    kappa = (sum(p[i][i] for i in size) - chance) / (1 - chance)
    off = 1 - kappa
    equal = sum(p[i][i] * (1 - (rows[i] + columns[i]) * off) ** 2 for i in size)
    unequal = sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = equal + off**2 * unequal - (kappa - chance * off) ** 2
    return kappa, math.sqrt(max(variance, 0.0) / n) / (1 - chance)
