"""An episode of an imported instance: the agent's files become a patch, and the patch is graded."""

from __future__ import annotations

import math
from dataclasses import replace

from agentgym.protocols import EpisodeContext, EpisodeRules, Sandbox, Services, UserWorld
from agentgym.records import CheckpointResult, CheckStatus, Phase, Snapshot, Step, Verdict
from agentgym.swe.grading import Grade, GradedPatch, longest_s
from agentgym.swe.instance_rooms import open_ground
from agentgym.swe.instance_tests import grade_instance
from agentgym.swe.patch import Patch, PatchError, compare_trees
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.task_folder import InstanceTask
from agentgym.threads import to_thread
from agentgym.verify.checking import tidy


class SweBenchEpisode:
    """The rules of one episode.

    Args:
        task: The task.
        context: The parts of the engine.
    """

    services: Services | None = None
    customer: UserWorld | None = None

    def __init__(self, task: InstanceTask, context: EpisodeContext) -> None:
        self._task, self._context = task, context

    async def begin(self, sandbox: Sandbox) -> str:
        """Return no text: the image holds the repository."""
        return ""

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Return None: a submit ends the episode."""
        return None

    def note(self, step: Step) -> None:
        """Do nothing: the verdict depends on the final files alone."""

    def fork(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of another episode in the same state; rules have no state."""
        return SweBenchEpisode(self._task, context)

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Grade the difference between the agent's files and untouched ones.

        Raises:
            SandboxError: A sandbox could not be started, or broke.
        """
        after = await sandbox.seal()
        try:
            return await self._graded(after, gave_up=gave_up)
        finally:
            await self._context.provider.discard(after)

    async def _graded(self, after: Snapshot, *, gave_up: bool) -> Verdict:
        context = self._context
        async with open_ground(context.provider, context.recipe) as ground:
            tests = self._task.tests(ground.plugins)
            timeout_s = min(tests.spec.timeout_s, context.tests_s)
            tests = replace(tests, spec=replace(tests.spec, timeout_s=timeout_s))
            changes = await context.provider.compare(ground.pristine, after)
            left = await context.provider.open_tree(after)
            found = await context.provider.open_tree(ground.pristine)
            try:
                patch = await to_thread(compare_trees, found, left, REPOSITORY, changes)
            except PatchError as error:
                return _failed(str(error))
            graded = await ground.grade(
                lambda open_room: grade_instance(tests, open_room, patch),
                commands_s=longest_s(timeout_s, gold=True),
            )
        return verdict_of(graded, patch, gave_up=gave_up)

    def close(self) -> None:
        """Do nothing: nothing outlives a grading."""


def verdict_of(graded: GradedPatch, patch: Patch, *, gave_up: bool) -> Verdict:
    """Return the verdict of a graded patch: solved or not, without partial credit."""
    if graded.grade is Grade.ERROR:
        part = _part("resolved", CheckStatus.ERROR, 0.0, graded.reason)
        return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=(part,))
    resolution = graded.resolution
    solved = graded.grade is Grade.RESOLVED
    status = CheckStatus.PASS if solved else CheckStatus.FAIL
    parts = [_part("resolved", status, float(solved), graded.reason)]
    for name, wrong, all_ in (
        ("fail_to_pass", resolution.unresolved, resolution.fail_to_pass),
        ("pass_to_pass", resolution.regressed, resolution.pass_to_pass),
    ):
        told = f"{len(all_) - len(wrong)} of {len(all_)} pass"
        share = 1 - len(wrong) / len(all_) if all_ else 1.0
        passed = CheckStatus.FAIL if wrong else CheckStatus.PASS
        parts.append(_part(name, passed, share, told, weight=0.0))
    changed = f"{len(patch.paths)} files changed: {', '.join(patch.paths[:5])}"
    parts.append(_part("patch", CheckStatus.PASS, 1.0, changed, weight=0.0))
    return Verdict(
        "scored", outcome=solved and not gave_up, score=float(solved), checkpoints=tuple(parts)
    )


def _failed(why: str) -> Verdict:
    part = _part("resolved", CheckStatus.FAIL, 0.0, why)
    return Verdict("scored", outcome=False, score=0.0, checkpoints=(part,))


def _part(
    name: str, status: CheckStatus, score: float, told: str, weight: float = 1.0
) -> CheckpointResult:
    assert math.isfinite(score)
    return CheckpointResult(name, Phase.OUTCOME, status, score, weight, tidy(told))
