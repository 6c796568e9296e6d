"""Progress over milestones as potential-based shaping (Ng, Harada and Russell, 1999).

The potential Φ of a state is the weighted share of the rubric's milestones that have latched. A
step from s to s' is worth F = γ·Φ(s') − Φ(s), which is added to its reward: r' = r + F. The laws:

1. Whatever the potential, r' has exactly the optimal policies of r. Φ looks at what has latched
   so far, so the state is the world's together with that; it may not look at what comes later.
   For the same reason a milestone that turned out not to apply stays in the denominator.
2. Where an episode ends, Φ is 0, or the end would keep the last potential as a prize (Grześ, 2017).
   The values of an episode then add up to Σ γᵗ·Fₜ = −Φ(s₀), the same for every policy: progress
   moves credit to the step that earned it and adds none. An episode that a limit ended counts as
   ended; who bootstraps a value there takes the potential of the last state from `potentials`.
3. A bonus for every milestone without the − Φ(s) has no such law: it pays for reaching, not for
   ending well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentgym.errors import ConfigError, VerifierError
from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, StepGrade, Trajectory
from agentgym.verify.steps.registry import GROUP


def shaping(before: float, after: float, gamma: float) -> float:
    """Return F = γ·Φ(s') − Φ(s)."""
    return gamma * after - before


def potentials(trajectory: Trajectory) -> list[float]:
    """Return Φ at the start and after each step, in 0..1; the last value is not set to 0.

    Raises:
        VerifierError: The milestones that held are not known.
    """
    reached = [0.0] * (len(trajectory.steps) + 1)
    weights = {milestone.id: milestone.weight for milestone in trajectory.milestones}
    for step, ids in latched(trajectory).items():
        reached[min(step + 1, len(trajectory.steps))] += math.fsum(weights[id] for id in ids)
    total, found = 0.0, []
    for share in reached:
        total += share
        found.append(min(total, 1.0))
    return found


def latched(trajectory: Trajectory) -> dict[int, list[str]]:
    """Return by step, -1 for the start, the ids of the milestones that first held after it.

    Raises:
        VerifierError: The milestones that held are not known.
    """
    if trajectory.problem:
        raise VerifierError(f"the milestones are not known: {trajectory.problem}")
    if not trajectory.milestones:
        return {}
    if trajectory.verdict is None:
        raise VerifierError("the episode is not over, so it is not known which milestones held")
    results = {result.id: result for result in trajectory.verdict.checkpoints}
    found: dict[int, list[str]] = {}
    for milestone in trajectory.milestones:
        result = results.get(milestone.id)
        if result is None:
            raise VerifierError(
                f"the verdict does not know milestone {milestone.id!r}, which the rubric has now; "
                "run: agentgym regrade RUN"
            )
        if result.status is CheckStatus.ERROR:
            raise VerifierError(f"milestone {milestone.id!r} is in error: {result.message}")
        if result.step is not None:
            found.setdefault(result.step, []).append(milestone.id)
    return found


class ProgressGrader:
    """Grades each step with its shaping reward: ``milestone``, ``none``, and ``end`` for the last.

    `value` is F. A step that reached a milestone passes. The others are not applicable, since a
    step may be necessary without reaching one. A rubric without milestones gives no grades.

    Args:
        argument: The discount γ in 0..1, instead of 1.
    """

    name = "progress"

    def __init__(self, argument: str = "") -> None:
        try:
            self._gamma = float(argument or 1.0)
        except ValueError:
            self._gamma = math.nan
        if not 0 <= self._gamma <= 1:
            raise ConfigError(
                f"step grader 'progress': expected a discount in 0..1, got {argument!r}; "
                "e.g. progress:0.99"
            )
        self.version = f"1+gamma={self._gamma:g}"

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade every step.

        Raises:
            VerifierError: The milestones that held are not known.
        """
        reached, phi = latched(trajectory), potentials(trajectory)
        if not trajectory.milestones:
            return []
        last = len(trajectory.steps) - 1
        grades = []
        for k in range(last + 1):
            ids = reached.get(k, [])
            value = shaping(phi[k], 0.0 if k == last else phi[k + 1], self._gamma)
            status = CheckStatus.PASS if ids else CheckStatus.NOT_APPLICABLE
            label = "milestone" if ids else "end" if k == last else "none"
            told = f"Φ {phi[k]:.3f} → {phi[k + 1]:.3f}" + (f": {', '.join(ids)}" if ids else "")
            grades.append(StepGrade(k, status, label, told, value))
        return grades


class MilestoneGrader:
    """Grades each step that reached a milestone with the weights of those that it reached.

    `value` is their share of all milestones, so the values of an episode add up to 1 at most. Law 3
    of the module applies: as a reward, it pays for reaching.
    """

    name = "milestones"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade the steps that reached a milestone.

        Raises:
            VerifierError: The milestones that held are not known.
        """
        weights = {milestone.id: milestone.weight for milestone in trajectory.milestones}
        return [
            StepGrade(
                step,
                CheckStatus.PASS,
                "milestone",
                ", ".join(ids),
                math.fsum(weights[id] for id in ids),
            )
            for step, ids in sorted(latched(trajectory).items())
            if 0 <= step < len(trajectory.steps)
        ]
