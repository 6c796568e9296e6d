"""Validity: illegal calls, and legal calls that failed."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, Effect, Step, StepEventKind, StepGrade, Trajectory
from agentgym.verify.steps.registry import GROUP
from agentgym.verify.values import brief


class ValidityGrader:
    """Grades each call: ``legal``, ``illegal``, ``failed``, ``timeout`` or ``fault``.

    A call that failed because of an injected fault is not a mistake, so it is not applicable.
    """

    name = "validity"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade every step."""
        complaints = trajectory.complaints
        return [_grade(step, complaints.get(step.index, "")) for step in trajectory.steps]


def _grade(step: Step, complaint: str) -> StepGrade:
    effect = step.observation.effect
    if complaint:
        return StepGrade(step.index, CheckStatus.FAIL, "illegal", complaint)
    if effect not in (Effect.ERROR, Effect.TIMEOUT):
        return StepGrade(step.index, CheckStatus.PASS, "legal")
    faults = [h.id for h in step.events if h.kind is StepEventKind.FAULT]
    if faults:
        told = f"{effect.value} while {', '.join(faults)} fired"
        return StepGrade(step.index, CheckStatus.NOT_APPLICABLE, "fault", told)
    label = "failed" if effect is Effect.ERROR else "timeout"
    return StepGrade(step.index, CheckStatus.FAIL, label, _end(step.observation.text))


def _end(text: str) -> str:
    """Quote the last two lines, because a surface's message is often the last."""
    return brief(" ".join(text[-2000:].strip().split("\n")[-2:]))
