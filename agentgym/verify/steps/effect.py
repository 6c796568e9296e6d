"""Effect: the observable change of the world at each step."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, Effect, Observation, StepGrade, Trajectory
from agentgym.verify.steps.anchor import view_hash
from agentgym.verify.steps.registry import GROUP

_STATUS = {
    Effect.CHANGED: CheckStatus.PASS,
    Effect.NO_CHANGE: CheckStatus.NOT_APPLICABLE,
    Effect.ERROR: CheckStatus.FAIL,
    Effect.TIMEOUT: CheckStatus.FAIL,
}


class EffectGrader:
    """Grades each step by its effect: ``changed``, ``no_change``, ``error`` or ``timeout``.

    A step that only looks is neither good nor bad, so it is not applicable. If the surface shows
    pictures, comparing two pictures overrides the effect that the surface reports.
    """

    name = "effect"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade every step."""
        grades: list[StepGrade] = []
        before = _picture(trajectory.first, trajectory.volatile_text)
        for step in trajectory.steps:
            said = step.observation.effect
            after = _picture(step.observation, trajectory.volatile_text)
            effect, message = said, ""
            if before and after and said in (Effect.CHANGED, Effect.NO_CHANGE):
                effect = Effect.NO_CHANGE if before == after else Effect.CHANGED
            if effect is not said:
                message = f"the surface says {said.value}, the pictures say {effect.value}"
            grades.append(StepGrade(step.index, _STATUS[effect], effect.value, message))
            before = after
        return grades


def _picture(observation: Observation | None, volatile_text: Sequence[str]) -> str:
    """Return the hash of a view with a picture; empty for any other view."""
    if observation is None or observation.image is None:
        return ""
    return view_hash(observation, volatile_text)
