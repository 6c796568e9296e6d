"""Run one grader over one trajectory: validate its grades and classify its failures.

A grader that fails gets no grades at all: partial grades are dropped, and missing grades are not
zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from agentgym.errors import AgentGymError, VerifierError, pass_interruptions
from agentgym.protocols import StepGrader
from agentgym.records import CheckStatus, Grading, StepGrade, Trajectory
from agentgym.verify.checking import tidy


async def grade_steps(spec: str, grader: StepGrader, trajectory: Trajectory) -> Grading:
    """Ask one grader.

    Args:
        spec: Spec of the grader; the grading carries it.
        grader: The grader.
        trajectory: The graded trajectory.
    """
    verdict = trajectory.verdict
    grading = Grading(
        grader=spec,
        version=grader.version,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        verifier="" if verdict is None else verdict.verifier,
        rubric=trajectory.rubric,
        steps=len(trajectory.steps),
    )
    try:
        grades = _read(await grader.grade(trajectory), len(trajectory.steps))
    except AgentGymError as error:
        return replace(grading, error=tidy(str(error)))
    except BaseException as error:  # noqa: BLE001 - a plug-in may raise anything
        pass_interruptions(error)
        return replace(grading, error=tidy(f"{type(error).__name__}: {error}"))
    return replace(grading, grades=grades)


def _read(grades: Sequence[StepGrade], steps: int) -> tuple[StepGrade, ...]:
    """Return the grades, their messages short and encodable.

    Raises:
        VerifierError: A value is not a grade, or its step is out of order.
    """
    last = -1
    for grade in grades:
        if not isinstance(grade, StepGrade):
            raise VerifierError(f"expected StepGrades, got {grade!r:.80}")
        if not last < grade.step < steps:
            raise VerifierError(
                f"a grade of step {grade.step} after one of step {last}; expected one grade "
                f"a step in the order of the {steps} steps"
            )
        last = grade.step
        if not isinstance(grade.status, CheckStatus):
            raise VerifierError(f"step {last}: expected a CheckStatus, got {grade.status!r}")
        if grade.value is not None and not math.isfinite(grade.value):
            raise VerifierError(f"step {last}: expected a finite value, got {grade.value!r}")
        for name, value in grade.measures.items():
            if value is not None and not math.isfinite(value):
                raise VerifierError(f"step {last}: {name}: expected a finite value, got {value!r}")
        if grade.since is not None and not 0 <= grade.since <= last:
            raise VerifierError(f"step {last}: since {grade.since} is not an earlier step")
    return tuple(replace(grade, message=tidy(grade.message)) for grade in grades)
