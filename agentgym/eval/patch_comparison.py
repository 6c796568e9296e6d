"""Compares patch scorers with the execution of the hidden tests, over recorded attempts.

A *group* is the attempts at one task with one seed. `best` is the share of groups whose chosen
attempt is resolved; attempts with equal scores are chosen with equal chance. `chance` is the mean
share of resolved attempts, and `ceiling` the share of groups with a resolved attempt: what
execution itself would choose. Only *mixed* groups, with resolved and unresolved attempts, can tell
scorers apart, so `auc` (the chance that a resolved attempt is scored above an unresolved one of the
same group, ties half) is over them alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.eval.statistics import Interval, t_quantile


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """The attempts at one task with one seed.

    Attributes:
        task: Task id.
        seed: Seed of the episodes.
        resolved: For each attempt whether the hidden tests accept it.
        scores: For each attempt its score.
    """

    task: str
    seed: int
    resolved: tuple[bool, ...]
    scores: tuple[float, ...]

    @property
    def chance(self) -> float:
        """Share of resolved attempts."""
        return sum(self.resolved) / len(self.resolved)

    @property
    def best(self) -> float:
        """Chance that an attempt with the highest score is resolved."""
        top = max(self.scores)
        chosen = [ok for ok, score in zip(self.resolved, self.scores, strict=True) if score == top]
        return sum(chosen) / len(chosen)

    @property
    def is_mixed(self) -> bool:
        """Whether a choice matters."""
        return 0 < sum(self.resolved) < len(self.resolved)

    @property
    def auc(self) -> float:
        """Chance that a resolved attempt is scored above an unresolved one; for mixed groups."""
        pairs = list(zip(self.resolved, self.scores, strict=True))
        good = [score for ok, score in pairs if ok]
        bad = [score for ok, score in pairs if not ok]
        won = math.fsum((g > b) + 0.5 * (g == b) for g in good for b in bad)
        return won / (len(good) * len(bad))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One scorer beside chance and execution.

    Attributes:
        groups: Number of groups.
        mixed: Number of mixed groups.
        attempts: Number of attempts.
        chance: See the module.
        best: See the module.
        ceiling: See the module.
        gain_ci95: 95% interval of ``best - chance``, clustered by task; None if fewer than two
            tasks have a mixed group, or all of them agree.
        auc: See the module; None without a mixed group.
    """

    groups: int
    mixed: int
    attempts: int
    chance: float
    best: float
    ceiling: float
    gain_ci95: Interval | None
    auc: float | None

    @property
    def finding(self) -> str:
        """Conclusion that the numbers allow, in one line."""
        if not self.mixed:
            return "no group has resolved and unresolved attempts: nothing can be said"
        if self.gain_ci95 is None:
            return "too few tasks with a choice, or all agree: no interval"
        low, high = self.gain_ci95
        if low <= 0 <= high:
            return "not distinguishable from chance"
        return "better than chance" if low > 0 else "worse than chance"


def compare(groups: Sequence[ScoredGroup]) -> Comparison:
    """Compare a scorer with chance and execution.

    Args:
        groups: At least one group, each with at least one attempt.
    """
    mixed = [group for group in groups if group.is_mixed]
    count = len(groups)
    chance = math.fsum(group.chance for group in groups) / count
    ceiling = sum(any(group.resolved) for group in groups) / count
    gain = _gain(groups, tasks_with_choice=len({group.task for group in mixed}))
    return Comparison(
        groups=count,
        mixed=len(mixed),
        attempts=sum(len(group.resolved) for group in groups),
        chance=chance,
        best=math.fsum(group.best for group in groups) / count,
        ceiling=ceiling,
        # No scorer can do worse than never, or better than execution.
        gain_ci95=gain and (max(gain[0], -chance), min(gain[1], ceiling - chance)),
        auc=math.fsum(group.auc for group in mixed) / len(mixed) if mixed else None,
    )


def _gain(groups: Sequence[ScoredGroup], *, tasks_with_choice: int) -> Interval | None:
    """Return the interval of the mean gain; the gains of one task depend on each other."""
    if tasks_with_choice < 2:
        return None
    gains: dict[str, list[float]] = {}
    for group in groups:
        gains.setdefault(group.task, []).append(group.best - group.chance)
    total, count = len(groups), len(gains)
    mean = math.fsum(gain for own in gains.values() for gain in own) / total
    squares = math.fsum(math.fsum(gain - mean for gain in own) ** 2 for own in gains.values())
    reach = t_quantile(count - 1) * math.sqrt(count / (count - 1) * squares) / total
    return (mean - reach, mean + reach) if reach > 1e-12 else None
