"""Rewards of single steps, given by step graders, beside the score of the episode.

`milestones` pays for each milestone of the rubric when it is reached. `progress` turns them into
rewards that cannot change which policy is best (Ng, Harada and Russell 1999); since they cancel in
returns without a discount, they only help an advantage that discounts or that learns values. Other
graders can be given a weight, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from agentgym.records import CheckStatus, Grading, Step, StepGrade, Trajectory, Verdict
from agentgym.rollout.grading import with_task
from agentgym.rollout.step_tests import NAME as STEP_TESTS
from agentgym.task.model import Instance
from agentgym.threads import COMPUTING
from agentgym.verify.steps import registry
from agentgym.verify.steps.grading import grade_steps

_BAD_STEP: Final = -1.0


class StepRewards:
    """See the module.

    A grader that cannot judge an episode, or one of its steps, adds nothing there: a policy must
    not be able to leave the data by text that a grader chokes on.

    Args:
        weights: Weight of the values of each grader, by its spec such as ``"progress:0.99"``;
            ``"step-tests"`` weighs the scores by hidden tests.

    Attributes:
        runs_tests: Whether hidden tests have to score the steps of the episodes.

    Raises:
        AgentGymError: No step grader has that name, or it refuses its argument.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._failures = 0
        self.runs_tests = STEP_TESTS in weights
        self._tests_weight = weights.get(STEP_TESTS, 0.0)
        self._graders = {
            spec: (registry.create(spec), weight)
            for spec, weight in weights.items()
            if spec != STEP_TESTS
        }

    async def rewards(
        self,
        instance: Instance,
        steps: Sequence[Step],
        verdict: Verdict,
        step_tests: Grading | None = None,
    ) -> list[float]:
        """Return the reward of each step of an episode, its score not included.

        A bad step counts -1, another one the value of its grade, 0 without a value.

        Args:
            instance: What was played.
            steps: All steps of the episode.
            verdict: Its verdict.
            step_tests: Scores of its steps by hidden tests.

        Raises:
            AgentGymError: The task is broken.
        """
        plain = Trajectory(instance.task.id, instance.instruction, tuple(steps), verdict=verdict)
        # A policy may write megabytes, and other episodes share the loop.
        trajectory = await COMPUTING.run(with_task, plain, instance.task, instance.params)
        found = [0.0] * len(steps)
        for spec, (grader, weight) in self._graders.items():
            await asyncio.sleep(0)
            grading = await grade_steps(spec, grader, trajectory)
            self._failures += bool(grading.error)
            for grade in grading.grades:
                self._failures += grade.status is CheckStatus.ERROR
                found[grade.step] += weight * _value(grade)
        for grade in () if step_tests is None else step_tests.grades:
            self._failures += grade.status is CheckStatus.ERROR
            found[grade.step] += self._tests_weight * _value(grade)
        return found

    def take_failures(self) -> int:
        """Return how often a grader could not judge since the last time."""
        failures, self._failures = self._failures, 0
        return failures


def _value(grade: StepGrade) -> float:
    if grade.status is CheckStatus.FAIL:
        return _BAD_STEP
    return 0.0 if grade.status is CheckStatus.ERROR else grade.value or 0.0
