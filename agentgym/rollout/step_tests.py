"""Scores an episode by its hidden tests after each step that changed the repository.

The score of a step is the difference that it made in `progress`, so the scores of an episode add up
to the progress at its end, and tests that pass, break and pass again are paid once. As a reward it
pays for reaching; see law 3 of `agentgym.verify.steps.progress`. A snapshot is compared and the
tests run in a clean room: the agent's files stay as they are, and it sees nothing of it.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from agentgym.env.episode import Episode
from agentgym.errors import AgentGymError, SandboxEndedError, SandboxLimitError
from agentgym.records import CheckStatus, Effect, Grading, StepGrade, Verdict
from agentgym.swe.grading import Grade
from agentgym.swe.patch import Patch, PatchError
from agentgym.swe.patch_tests import PatchTests, has_hidden_tests, open_patch_tests, progress
from agentgym.verify.checking import tidy

NAME: Final = "step-tests"
"""Name of the grading, and of the weight in `algorithm.step_rewards`."""

_VERSION: Final = "1"


class StepTests:
    """The hidden tests beside one episode.

    Args:
        episode: A live episode of a task for which `has_hidden_tests` is true.

    Attributes:
        spent_s: Wall time of the scoring so far, which the agent does not pay for.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode, self._stack = episode, AsyncExitStack()
        self._tests: PatchTests | None = None
        self._patch, self._reached = Patch(), 0.0
        self._grades: list[StepGrade] = []
        self.spent_s = 0.0

    @classmethod
    def of(cls, episode: Episode) -> StepTests | None:
        """Return the tests of an episode, None if no hidden tests decide its task."""
        return cls(episode) if has_hidden_tests(episode.environment.task) else None

    async def begin(self) -> None:
        """Score the present files; steps before this count as taken elsewhere."""
        if self._episode.steps:
            await self.after_step()
            self._grades.clear()

    async def after_step(self) -> None:
        """Score the last step of the episode if it changed the repository.

        A failure of the tests or of a sandbox becomes a grade in error. It never ends the episode.
        """
        step = self._episode.steps[-1]
        if self._episode.over or step.observation.effect is Effect.NO_CHANGE:
            return
        began_s = time.monotonic()
        try:
            grade = await self._score(step.index)
        except SandboxEndedError:
            grade = None  # the agent ended its own sandbox; its next step reports that
        except (PatchError, SandboxLimitError) as error:
            # What the agent left cannot be read or is too large: it is no patch.
            grade = self._moved(step.index, 0.0, str(error))
        except AgentGymError as error:
            grade = StepGrade(step.index, CheckStatus.ERROR, "error", tidy(str(error)))
        self.spent_s += time.monotonic() - began_s
        if grade is not None:
            self._grades.append(grade)

    async def _score(self, step: int) -> StepGrade | None:
        tests = await self._opened()
        provider = self._episode.environment.provider
        after = await self._episode.sandbox.snapshot()
        try:
            patch = await tests.patch(after)
        finally:
            await provider.discard(after)
        if patch == self._patch:
            return None
        self._patch = patch
        graded = await tests.grade(patch)
        if graded.grade is Grade.ERROR:
            return StepGrade(step, CheckStatus.ERROR, "error", tidy(graded.reason))
        reached = 0.0 if graded.run.problem else progress(graded.resolution)
        return self._moved(step, reached, graded.reason)

    async def _opened(self) -> PatchTests:
        if self._tests is None:
            environment, instance = self._episode.environment, self._episode.instance
            recipe, pristine = await environment.prepare(instance.seed)
            opening = open_patch_tests(instance.task, environment.provider, recipe, pristine)
            self._tests = await self._stack.enter_async_context(opening)
        return self._tests

    def _moved(self, step: int, reached: float, told: str) -> StepGrade:
        made, self._reached = reached - self._reached, reached
        label = "better" if made > 0 else "worse" if made < 0 else "same"
        # A step may be necessary without a test that passes, and one may break what the next mends.
        status = CheckStatus.PASS if made > 0 else CheckStatus.NOT_APPLICABLE
        return StepGrade(step, status, label, tidy(f"progress {reached:.3f}: {told}"), made)

    def grading(self, verdict: Verdict) -> Grading:
        """Return the scores of the steps taken so far."""
        grades = list(self._grades)
        if grades:
            scored = [grade.value for grade in grades if grade.value is not None]
            at = [grade.step for grade in grades if grade.status is CheckStatus.PASS]
            measures: dict[str, float | None] = {
                "progress": self._reached if scored else None,
                "scored_edits": float(len(scored)),
                "steps_to_progress": float(at[0] + 1) if at else None,
            }
            grades[-1] = replace(grades[-1], measures=measures)
        return Grading(
            grader=NAME,
            version=_VERSION,
            grades=tuple(grades),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            verifier=verdict.verifier,
            steps=len(self._episode.steps),
        )

    async def close(self) -> None:
        """Discard the clean rooms' files."""
        await self._stack.aclose()
