"""Loops: repeated actions without change, recurring states, and oscillation.

This is a monitor and proves nothing, since an invisible change is possible. Each step is looked at
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentgym.errors import ConfigError
from agentgym.records import CheckStatus, StepGrade, Trajectory
from agentgym.verify.contracts import rows_without_change
from agentgym.verify.steps.anchor import anchor

TIMES = 3
_SWING = 4


class LoopGrader:
    """Grades each step: ``moving``, ``stuck``, ``oscillating`` or ``recurring``.

    - ``stuck``: the action is taken the third time in a row and none of them changed anything.
    - ``oscillating``: the last four anchors are A-B-A-B.
    - ``recurring``: the anchor of the step (see `agentgym.verify.steps.anchor`) occurs the third
    time.

    `since` is the first step of the loop, `value` its length so far (for a recurring state, its
    number of occurrences).

    Args:
        argument: Number of repetitions that count as a loop, instead of 3; at least 2.
    """

    name = "loops"

    def __init__(self, argument: str = "") -> None:
        if argument and not (argument.isascii() and argument.isdigit() and int(argument) >= 2):
            raise ConfigError(
                f"step grader 'loops': expected a whole number of at least 2, got {argument!r}; "
                "e.g. loops:4"
            )
        self._times = int(argument or TIMES)
        self.version = "1" if self._times == TIMES else f"1+times={self._times}"

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade every step."""
        return find_loops(trajectory, self._times)


def find_loops(trajectory: Trajectory, times: int = TIMES) -> list[StepGrade]:
    """Return the grades of `LoopGrader` for every step."""
    steps = trajectory.steps
    anchors = [anchor(step, trajectory.volatile_text) for step in steps]
    seen: Counter[str] = Counter()
    first: dict[str, int] = {}
    grades: list[StepGrade] = []
    swings = 0
    for k, row in enumerate(rows_without_change(steps)):
        here = anchors[k]
        seen[here] += 1
        first.setdefault(here, k)
        swings = swings + 1 if k >= 2 and here == anchors[k - 2] != anchors[k - 1] else 0
        if row >= times:
            grade = _loop(k, "stuck", k - row + 1, row, f"the same action {row} times, no change")
        elif swings >= _SWING - 2:
            said = f"between two states for {swings + 2} steps"
            grade = _loop(k, "oscillating", k - swings - 1, swings + 2, said)
        elif seen[here] >= times:
            said = f"the same action and view {seen[here]} times"
            grade = _loop(k, "recurring", first[here], seen[here], said)
        else:
            grade = StepGrade(k, CheckStatus.PASS, "moving")
        grades.append(grade)
    return grades


def _loop(step: int, label: str, since: int, length: int, message: str) -> StepGrade:
    told = f"{message}, since step {since}"
    return StepGrade(step, CheckStatus.FAIL, label, told, float(length), since)
