"""The contract suite of `agentgym.protocols.StepGrader`, which every step grader must pass.

Subclass `StepGraderContract` in a test module; pytest finds the inherited tests. The trajectories
are hand-made and of kinds that break graders: empty, failing throughout, malformed, in any script,
with pictures, a thousand steps long.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from agentgym.protocols import StepGrader
from agentgym.record import codec
from agentgym.record.reading import read
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Contract,
    Decision,
    Effect,
    Grading,
    Milestone,
    Observation,
    Phase,
    Step,
    StepGrade,
    Trajectory,
    Verdict,
)
from agentgym.verify.steps.grading import grade_steps

MILESTONES = (Milestone("begun", 0.25), Milestone("built", 0.75))
CONTRACTS = (
    Contract("no-force", "never_calls", {"tool": "bash", "where": {"command": "--force"}}),
    Contract("short", "budget", {"steps": 5}),
)


def step(
    index: int,
    tool: str = "bash",
    effect: Effect = Effect.CHANGED,
    *,
    text: str = "",
    image: bool = False,
    **arguments: str,
) -> Step:
    """Return a step of a hand-made trajectory."""
    picture = np.full((2, 3, 3), index % 256, np.uint8) if image else None
    seen = Observation(text or f"output {index}", picture, {"exit_code": 0}, effect)
    return Step(index, Decision(Action(tool, arguments or {"command": f"do {index}"})), seen, 0.01)


def trajectory(steps: Sequence[Step], *, outcome: bool = False) -> Trajectory:
    """Return a finished episode over steps: it reached the first of two milestones at step 0."""
    checkpoints = [
        CheckpointResult("begun", Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, step=0),
        CheckpointResult("built", Phase.OUTCOME, CheckStatus.FAIL, 0.0, 3.0),
    ]
    verdict = Verdict("scored", outcome, float(outcome), checkpoints=tuple(checkpoints))
    return Trajectory(
        task="contract/steps-v1",
        instruction="Begin, then build.",
        steps=tuple(steps),
        first=Observation("Begin, then build."),
        verdict=verdict,
        milestones=MILESTONES,
        contracts=CONTRACTS,
    )


def long_trajectory(count: int) -> Trajectory:
    """Return a number of steps, with every kind of loop and failure among them."""
    kinds = (Effect.CHANGED, Effect.NO_CHANGE, Effect.ERROR, Effect.TIMEOUT)
    steps = [
        step(k, "bash", kinds[k // 7 % 4], text=f"{k // 5 % 3}", command=f"try {k // 5 % 3}")
        for k in range(count)
    ]
    return trajectory(steps)


def malformed() -> Trajectory:
    """Return steps without a legal call, and the complaints about them."""
    calls = [
        Action("", {"malformed": "an action is an object with 'tool' and 'arguments', not int"}),
        Action("no_such_tool", {"x": [None, {"y": 1.5}]}),
        Action("bash", {}),
    ]
    failed = Observation("error: no legal call", effect=Effect.ERROR)
    steps = [Step(k, Decision(action), failed) for k, action in enumerate(calls)]
    return replace(trajectory(steps), complaints=dict.fromkeys(range(len(calls)), "no legal call"))


def foreign() -> Trajectory:
    """Return steps in scripts that break code which expects ASCII or UTF-8."""
    texts = ["naïve ☃ 日本語", "\u202egnp.exe", "\x1b[31m\x00\r\n", "\ud800 alone", "🏳️‍🌈" * 400, ""]
    return trajectory([step(k, text=text, command=text) for k, text in enumerate(texts)])


TRAJECTORIES: dict[str, Callable[[], Trajectory]] = {
    "short": lambda: trajectory([step(k) for k in range(4)]),
    "passed": lambda: trajectory([step(0), step(1, "submit")], outcome=True),
    "errors": lambda: trajectory([step(k, effect=Effect.ERROR) for k in range(12)]),
    "malformed": malformed,
    "foreign": foreign,
    "pictures": lambda: trajectory([step(k, image=True) for k in range(5)]),
    "long": lambda: long_trajectory(1000),
}


class StepGraderContract:
    """Tests that every step grader passes.

    Example:
        >>> from agentgym.verify.steps.loops import LoopGrader
        >>> class TestLoops(StepGraderContract):
        ...     def make(self) -> StepGrader:
        ...         return LoopGrader()
        >>> TestLoops().test_the_same_trajectory_gets_the_same_grades()
    """

    def make(self) -> StepGrader:
        """Return a new grader."""
        raise NotImplementedError

    def _grade(self, trajectory: Trajectory) -> Grading:
        return asyncio.run(grade_steps("contract", self.make(), trajectory))

    def test_it_says_who_it_is(self) -> None:
        """Name and version are words, and equal graders have the same ones."""
        one, other = self.make(), self.make()
        assert one.name and one.version
        assert (one.name, one.version) == (other.name, other.version)

    def test_any_trajectory_can_be_graded(self) -> None:
        """Grades are in order, at most one a step, and survive JSON."""
        for name, make in TRAJECTORIES.items():
            grading = self._grade(make())
            assert grading.error == "", f"{name}: {grading.error}"
            for grade in grading.grades:
                text = codec.dumps(grade)
                assert read(StepGrade, json.loads(text), "grade") == grade, name

    def test_an_empty_trajectory_has_no_grades(self) -> None:
        """An episode without steps has no grades."""
        grading = self._grade(trajectory([]))
        assert (grading.error, grading.grades) == ("", ())

    def test_the_same_trajectory_gets_the_same_grades(self) -> None:
        """Two equal graders agree, and one grader repeats its grades."""
        for make in TRAJECTORIES.values():
            assert self._grade(make()).grades == self._grade(make()).grades

        async def twice() -> list[Sequence[StepGrade]]:
            grader = self.make()
            return [tuple(await grader.grade(TRAJECTORIES["errors"]())) for _ in range(2)]

        first, second = asyncio.run(twice())
        assert first == second

    def test_trajectories_side_by_side_do_not_mix(self) -> None:
        """One grader can grade two episodes at once."""

        async def both() -> list[Grading]:
            grader = self.make()
            asked = [TRAJECTORIES["errors"](), TRAJECTORIES["foreign"]()]
            return list(await asyncio.gather(*(grade_steps("c", grader, t) for t in asked)))

        alone = [self._grade(TRAJECTORIES[name]()).grades for name in ("errors", "foreign")]
        assert [grading.grades for grading in asyncio.run(both())] == alone

    def test_the_trajectory_is_left_alone(self) -> None:
        """Grading changes nothing in the trajectory."""
        for make in TRAJECTORIES.values():
            shown, untouched = make(), make()
            self._grade(shown)
            assert _plain(shown) == _plain(untouched)

    def test_the_work_grows_as_the_steps_do(self) -> None:
        """Twice the steps take about twice the function calls, not four times as many."""
        few, many = (self._calls(long_trajectory(count)) for count in (500, 1000))
        assert many < 2.5 * few

    def _calls(self, trajectory: Trajectory) -> int:
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        async def grade() -> None:
            grader = self.make()
            before = sys.getprofile()
            sys.setprofile(note)
            try:
                await grade_steps("contract", grader, trajectory)
            finally:
                sys.setprofile(before)

        asyncio.run(grade())
        return count


def _plain(trajectory: Trajectory) -> object:
    steps = [
        (
            step.index,
            (codec.decision_to_text(step.decision), step.decision.usage),
            codec.observation_hash(step.observation),
        )
        for step in trajectory.steps
    ]
    complaints = dict(trajectory.complaints)
    contracts = [asdict(contract) for contract in trajectory.contracts]
    return steps, trajectory.verdict, complaints, trajectory.milestones, contracts
