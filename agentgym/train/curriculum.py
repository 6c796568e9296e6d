"""Chooses the task, the seed and the size of each group by what the policy can learn there.

The success rate of an instance (a task with one seed) is known by a Beta posterior whose counts
fade with every batch, as the policy changes. Its prior has the mean rate of the task (empirical
Bayes), so that an instance which was never tried counts as hard as the others of its task. Thompson
sampling (Thompson 1933) draws a rate from each posterior, so that instances that were tried seldom
are tried, too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from agentgym.record.reading import read
from agentgym.train.rollouts import Assignment, Group

_CANDIDATES: Final = 16


class Difficulty(StrEnum):
    """The rule by which instances are chosen."""

    UNIFORM = "uniform"
    """All alike."""
    THOMPSON = "thompson"
    """The one of some candidates whose drawn rate p has the largest variance p (1 - p)."""
    BAND = "band"
    """The one of some candidates whose drawn rate lies nearest to a band of rates."""


@dataclass(frozen=True)
class _State:
    """The state of a curriculum in a checkpoint: task, seed, passes and failures of instances."""

    counts: tuple[tuple[str, int, float, float], ...]


class Curriculum:
    """See the module. What it chooses depends only on its seed and on the groups it was told of.

    Args:
        instances: The seeds of each task.
        difficulty: How instances are chosen.
        sizes: Smallest and largest number of attempts of a group. If they differ, the size is the
            smallest that makes equal rewards of all attempts (by the mean rate) unlikely.
        band: Lowest and highest success rate for `Difficulty.BAND`.
        fade: Share of the counts that stays from one batch to the next.
        unlikely: Chance of equal rewards that a group's size aims at.
        seed: Seed of the choices.

    Raises:
        ValueError: There is no instance, or a bound is out of range.
    """

    def __init__(
        self,
        instances: Mapping[str, Sequence[int]],
        *,
        difficulty: Difficulty = Difficulty.UNIFORM,
        sizes: tuple[int, int] = (8, 8),
        band: tuple[float, float] = (0.2, 0.8),
        fade: float = 0.9,
        unlikely: float = 0.1,
        seed: int = 0,
    ) -> None:
        if not instances or not all(instances.values()):
            raise ValueError("instances: expected at least one task, and a seed of each")
        if not 1 <= sizes[0] <= sizes[1]:
            raise ValueError(f"sizes: expected two ascending numbers from 1, got {sizes}")
        if not 0 <= band[0] <= band[1] <= 1:
            raise ValueError(f"band: expected two ascending rates from 0 to 1, got {band}")
        self._instances = {task: tuple(seeds) for task, seeds in instances.items()}
        self._difficulty, self._sizes, self._band = difficulty, sizes, band
        self._fade, self._unlikely, self._seed = fade, unlikely, seed
        self._counts: dict[tuple[str, int], tuple[float, float]] = {}
        self._priors: dict[str, tuple[float, float]] = {}

    def choose(self, number: int) -> Assignment:
        """Return the group with a number."""
        rng = random.Random(f"{self._seed} curriculum {number}")
        tasks = list(self._instances)
        wanted = 1 if self._difficulty is Difficulty.UNIFORM else _CANDIDATES
        candidates = []
        for _ in range(wanted):
            task = rng.choice(tasks)
            candidates.append((task, rng.choice(self._instances[task])))
        rates = [rng.betavariate(*self._posterior(each)) for each in candidates]
        values = [self._value(rate) for rate in rates]
        task, seed = candidates[values.index(max(values))]
        return Assignment(number, task, seed, self._size((task, seed)))

    def learn(self, groups: Sequence[Group]) -> None:
        """Count the passes of a batch of groups, those that taught nothing included."""
        self._counts = {
            instance: (won * self._fade, lost * self._fade)
            for instance, (won, lost) in self._counts.items()
        }
        for group in groups:
            instance = (group.assignment.task, group.assignment.seed)
            won, lost = self._counts.get(instance, (0.0, 0.0))
            # Part of the credit counts as part of a pass: it is something to learn from.
            passes = sum(min(max(each.reward, 0.0), 1.0) for each in group.trajectories)
            failures = len(group.trajectories) - passes
            self._counts[instance] = (won + passes, lost + failures)
        self._priors = self._mean_rates()

    def success_rate(self, task: str, seed: int) -> float:
        """Return the mean of an instance's posterior, 0..1; 0.5 before the task was tried."""
        won, lost = self._posterior((task, seed))
        return won / (won + lost)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training run needs to choose the same."""
        return {"counts": [[*instance, *counts] for instance, counts in self._counts.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`.

        Raises:
            ValueError: It is damaged.
        """
        found = read(_State, state, "curriculum")
        if any(min(won, lost) < 0 for _, _, won, lost in found.counts):
            raise ValueError("curriculum.counts: expected numbers from 0")
        self._counts = {(task, seed): (won, lost) for task, seed, won, lost in found.counts}
        self._priors = self._mean_rates()

    def check(self, assignment: Assignment) -> None:
        """Check that a group is one that this curriculum may choose.

        Raises:
            ValueError: It is of another task, or has another size.
        """
        if assignment.task not in self._instances:
            raise ValueError(f"a group of the unknown task {assignment.task!r:.80}")
        if not 1 <= assignment.size <= self._sizes[1]:
            raise ValueError(f"a group of {assignment.size} episodes")

    def _mean_rates(self) -> dict[str, tuple[float, float]]:
        """Return a Beta prior for each task, as strong as two episodes."""
        totals: dict[str, tuple[float, float]] = {}
        for (task, _), (won, lost) in self._counts.items():
            before = totals.get(task, (1.0, 1.0))
            totals[task] = (before[0] + won, before[1] + lost)
        return {
            task: (2 * won / (won + lost), 2 * lost / (won + lost))
            for task, (won, lost) in totals.items()
        }

    def _posterior(self, instance: tuple[str, int]) -> tuple[float, float]:
        prior = self._priors.get(instance[0], (1.0, 1.0))
        won, lost = self._counts.get(instance, (0.0, 0.0))
        return prior[0] + won, prior[1] + lost

    def _value(self, rate: float) -> float:
        if self._difficulty is Difficulty.THOMPSON:
            return rate * (1 - rate)
        low, high = self._band
        return -max(low - rate, rate - high, 0.0)

    def _size(self, instance: tuple[str, int]) -> int:
        low, high = self._sizes
        won, lost = self._posterior(instance)
        rate = won / (won + lost)
        for size in range(low, high):
            if rate**size + (1 - rate) ** size <= self._unlikely:
                return size
        return high
