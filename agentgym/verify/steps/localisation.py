"""Localisation: the earliest step from which a failed episode did not recover.

Four signals, and the earliest of them wins:

1. ``contract``: a step broke a contract for good. Exact: no later step can repair it.
2. ``error``: a call failed, and no later call of that tool succeeded. Heuristic: another tool may
   have done the work, or the failure may not have mattered.
3. ``loop``: a loop began that lasted to the end. Heuristic, as the loop monitor itself is.
4. ``stalled``: the step after the last milestone, where milestones were missed. Heuristic: the
   work for the next one may have gone well for some time.

A milestone proves that the agent recovered from everything before it, so signals 2 and 3 count only
after the last one. If no signal is left, the label is ``ended``: the last step, which ended a
failure. An episode that passed, or has no score, has nothing to localise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, Effect, StepGrade, Trajectory
from agentgym.verify.steps.contracts import is_breach, violations
from agentgym.verify.steps.loops import find_loops
from agentgym.verify.steps.progress import latched
from agentgym.verify.steps.registry import GROUP

_ENDINGS = ("submit", "give_up")
_RANK = ("contract", "error", "loop", "stalled", "ended")

Signal = tuple[int, str, str]
"""Step, label and message."""


class LocalisationGrader:
    """Grades one step of a failed episode: the first failure, see the module docstring."""

    name = "localisation"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Name the first failure, if any.

        Raises:
            VerifierError: The milestones that held are not known, or a contract is itself in error.
        """
        verdict = trajectory.verdict
        if verdict is None or not verdict.scored or verdict.outcome or not trajectory.steps:
            return []
        found = sorted(_signals(trajectory), key=lambda s: (s[0], _RANK.index(s[1])))
        step, label, message = found[0]
        how = "exact" if label == "contract" else "heuristic"
        rest = "".join(f"; then {other} at step {k}" for k, other, _ in found[1:])
        unknown = f"; rubric not known: {trajectory.problem}" if trajectory.problem else ""
        told = f"{message} ({how}){rest}{unknown}"
        return [StepGrade(step, CheckStatus.FAIL, label, told)]


def _signals(trajectory: Trajectory) -> Iterator[Signal]:
    """Yield at least one signal, each kind at most once."""
    breaches = [
        (finding.step, "contract", f"{id}: {finding.message}")
        for id, kind, finding in violations(trajectory)
        if finding.step is not None and is_breach(kind, finding)
    ]
    if breaches:
        yield min(breaches)
    reached = {} if trajectory.problem else latched(trajectory)
    last = max(reached, default=-1)
    later = [*_error(trajectory, last), *_loop(trajectory, last)]
    yield from later
    held = sum(map(len, reached.values()))
    if held < len(trajectory.milestones):
        stalled = min(last + 1, len(trajectory.steps) - 1)
        yield stalled, "stalled", f"{held} of {len(trajectory.milestones)} milestones by then"
    elif not later and not breaches:
        tool = trajectory.steps[-1].action.tool
        yield len(trajectory.steps) - 1, "ended", f"ended by {tool!r} and nothing looked wrong"


def _error(trajectory: Trajectory, after: int) -> Iterator[Signal]:
    """Find the earliest failed call that no later call of its tool corrected."""
    open_errors: dict[str, int] = {}
    for step in trajectory.steps:
        bad = step.observation.effect in (Effect.ERROR, Effect.TIMEOUT)
        if not bad:
            open_errors.pop(step.action.tool, None)
        elif step.index > after:
            open_errors.setdefault(step.action.tool, step.index)
    if open_errors:
        first = min(open_errors.values())
        tool = trajectory.steps[first].action.tool
        yield first, "error", f"a call of {tool!r} failed and none succeeded after it"


def _loop(trajectory: Trajectory, after: int) -> Iterator[Signal]:
    """Find the loop in which the episode ended; the call that ended it is ignored."""
    grades = find_loops(trajectory)
    if trajectory.steps[-1].action.tool in _ENDINGS:
        grades = grades[:-1]
    row: list[StepGrade] = []
    for grade in reversed(grades):
        if grade.since is None:
            break
        row.append(grade)
    starts = [grade.since for grade in row if grade.since is not None and grade.since > after]
    if starts:
        yield min(starts), "loop", f"{row[0].label} to the end"
