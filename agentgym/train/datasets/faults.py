"""Finds the recorded steps that a policy should not imitate.

A step that failed because of an injected fault is not a mistake, and neither is its repetition.
The calls of one reply of a model are trained together, so a fault of one is a fault of all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

from agentgym.agents.batch import place
from agentgym.errors import RecordError
from agentgym.records import CheckStatus, Effect, Grading, Step, StepEventKind
from agentgym.train.datasets.episodes import RecordedEpisode
from agentgym.verify.contracts import rows_without_change


class StepFault(StrEnum):
    """Reasons not to train on a step."""

    ERROR = "error"
    """Its call failed or timed out, and no injected fault caused this."""
    NO_EFFECT = "no-effect"
    """It changed nothing, as far as the surface can tell. Calls that only look are among these."""
    REPEATED = "repeated"
    """It repeats the call before it, which had changed nothing."""
    REJECTED = "rejected"
    """A completion without a usable call, after which the policy was corrected."""
    BAD_GRADE = "bad-grade"
    """A step grader found it bad."""


DEFAULT_FAULTS = (StepFault.ERROR, StepFault.REPEATED, StepFault.REJECTED)


def find_faults(steps: Sequence[Step], gradings: Sequence[Grading] = ()) -> list[set[StepFault]]:
    """Return the faults of each step; `StepFault.REJECTED` is that of a completion, not of a step.

    Args:
        steps: All steps of an episode.
        gradings: Gradings of these steps; a failed grade is a fault.
    """
    rows = rows_without_change(steps)
    graded = {
        grade.step
        for grading in gradings
        for grade in grading.grades
        if grade.status is CheckStatus.FAIL
    }
    found = list[set[StepFault]]()
    for number, step in enumerate(steps):
        faults, effect = set[StepFault](), step.observation.effect
        if effect in (Effect.ERROR, Effect.TIMEOUT) and not injected(step):
            faults.add(StepFault.ERROR)
        if effect is not Effect.CHANGED and number < len(steps) - 1:
            faults.add(StepFault.NO_EFFECT)
        if rows[number] > 1 and not injected(steps[number - 1]):
            faults.add(StepFault.REPEATED)
        if step.index in graded:
            faults.add(StepFault.BAD_GRADE)
        found.append(faults)
    return found


def injected(step: Step) -> bool:
    """Return whether a fault of the task struck the step."""
    return any(event.kind is StepEventKind.FAULT for event in step.events)


def trained_steps(
    episode: RecordedEpisode, dropped: Collection[StepFault], graders: Sequence[str] = ()
) -> list[bool]:
    """Return for each step whether to train on it.

    Args:
        episode: The episode.
        dropped: Faults of steps that are not trained.
        graders: Step graders whose failed grades count; empty: all that graded the episode.

    Raises:
        RecordError: Grades are needed, and the record lacks one of them.
    """
    gradings = _gradings(episode, graders) if StepFault.BAD_GRADE in dropped else []
    faults = find_faults(episode.steps, gradings)
    kept = [not each & set(dropped) for each in faults]
    for first, end in replies(episode.steps):
        kept[first:end] = [all(kept[first:end])] * (end - first)
    return kept


def replies(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Return the first step of each reply of a model, and the one after its last."""
    starts = [
        number
        for number, step in enumerate(steps)
        if not number or place(step) == 0 or place(steps[number - 1]) != place(step) - 1
    ]
    return list(zip(starts, [*starts[1:], len(steps)], strict=True))


def _gradings(episode: RecordedEpisode, graders: Sequence[str]) -> list[Grading]:
    found = {one.grader: one for one in episode.store.history.newest_gradings(episode.row.id)}
    named = graders or [name for name, one in found.items() if not one.error]
    missing = [name for name in named if name not in found or found[name].error]
    if missing or not named:
        what = f"grades of {missing[0]!r}" if missing else "step grades"
        options = f" --grader {missing[0]}" if missing else ""
        raise RecordError(
            f"{episode.name} has no {what}; run: agentgym grade {episode.store.folder}{options}"
        )
    return [found[name] for name in named]
