"""Grades a patch: does it make the failing tests pass, and keep the others passing?

If a run leaves no evidence that the tests ran, the same tests run over the base without the patch,
and over a patch that is known to be right, if there is one. If they leave evidence there, the patch
is to blame and the score is 0; else the tests are broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agentgym.swe.outcomes import Resolution, apply_rules
from agentgym.swe.patch import Patch
from agentgym.swe.test_run import STRETCH, TestRun


class Grade(StrEnum):
    """The verdict on a patch. An `ERROR` is a failure of the tests or the machine."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    ERROR = "error"


@dataclass(frozen=True)
class GradedPatch:
    """A patch with its grade.

    Attributes:
        grade: The verdict.
        reason: What decided, in one line.
        resolution: Outcomes of the named tests; all are missing if the run left no evidence.
        run: The run with the patch.
    """

    grade: Grade
    reason: str
    resolution: Resolution
    run: TestRun


def grade_patch(
    run: Callable[[Patch], TestRun],
    patch: Patch,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str],
    *,
    xfail_passes: bool = False,
    gold: Patch | None = None,
) -> GradedPatch:
    """Run the tests over a patch and apply the rules.

    Args:
        run: Runs the tests in a fresh clean room over the base and a patch.
        patch: The agent's changes.
        fail_to_pass: Ids of the tests that have to pass now.
        pass_to_pass: Ids of the tests that have to pass still.
        xfail_passes: Whether an announced failure counts as a pass in `pass_to_pass`.
        gold: A right patch. The tests of some instances cannot even start without it, such as those
            whose hidden `conftest.py` imports what it adds.

    Raises:
        SandboxError: A room broke, and no program in it caused that.
    """
    seen = run(patch)
    resolution = apply_rules(seen.outcomes, fail_to_pass, pass_to_pass, xfail_passes=xfail_passes)
    if seen.problem:
        control = run(Patch())
        if control.problem and gold is not None:
            control = run(gold)
        if control.problem:
            why = f"the tests leave no evidence without the patch either: {control.problem}"
            return GradedPatch(Grade.ERROR, why, resolution, seen)
        return GradedPatch(Grade.UNRESOLVED, seen.problem, resolution, seen)
    grade = Grade.RESOLVED if resolution.resolved else Grade.UNRESOLVED
    return GradedPatch(grade, describe(resolution), resolution, seen)


def longest_s(timeout_s: float, *, gold: bool = False) -> float:
    """Return how long the commands of one grading may take, in seconds.

    Args:
        timeout_s: Limit of one run: over the patch, and over the base if that leaves no evidence.
        gold: Whether a third run over the gold patch may follow.
    """
    return (3 if gold else 2) * STRETCH * timeout_s


def describe(resolution: Resolution) -> str:
    """Return the numbers of tests and the first that is wrong."""
    unresolved, regressed = resolution.unresolved, resolution.regressed
    fail, keep = len(resolution.fail_to_pass), len(resolution.pass_to_pass)
    text = f"{fail - len(unresolved)} of {fail} failing tests pass now"
    text += f", {keep - len(regressed)} of {keep} still pass"
    outcomes = {**resolution.pass_to_pass, **resolution.fail_to_pass}
    for name in [*unresolved, *regressed][:1]:
        text += f"; {name} is {outcomes[name].value}"
    return text
