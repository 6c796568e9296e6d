"""The hidden tests of a task about a repository, run over any patch in a clean room.

One interface for issues of the native suite and for imported instances. Nothing runs in the
sandbox of an agent, and nothing is written there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentgym.errors import TaskError
from agentgym.protocols import Room, SandboxProvider
from agentgym.records import Recipe, Snapshot
from agentgym.swe.detection import find_detection
from agentgym.swe.grading import Grade, GradedPatch, grade_patch, longest_s
from agentgym.swe.instance_rooms import Ground, open_ground
from agentgym.swe.instance_tests import InstanceTests, grade_instance
from agentgym.swe.native import Issue
from agentgym.swe.outcomes import Resolution, apply_rules
from agentgym.swe.patch import Patch, compare_trees
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.task_folder import read_task
from agentgym.swe.test_run import TestRun, run_pytest
from agentgym.task.model import Task
from agentgym.threads import to_thread

"""Runs of the tests in one grading: with the patch, and without it if that leaves no evidence."""


def has_hidden_tests(task: Task) -> bool:
    """Return whether hidden tests of a repository decide a task."""
    if task.foreign is not None:
        return task.foreign.format == "swebench"
    return (task.folder / "checks" / "issue.toml").is_file()


@dataclass(frozen=True, slots=True)
class PatchTests:
    """The hidden tests of one task; `open_patch_tests` makes it.

    Attributes:
        ground: The files from which clean rooms start.
        root: The repository, an absolute guest path.
        commands_s: Seconds that one grading may take for its commands.
        judge: Grades a patch on a worker thread; it gets a function that opens a fresh room.
    """

    ground: Ground
    root: str
    commands_s: float
    judge: Callable[[Callable[[], Room], Patch], GradedPatch]

    async def patch(self, after: Snapshot) -> Patch:
        """Return the difference between the untouched files and those of a snapshot.

        Raises:
            PatchError: The repository is gone, or the patch is too large.
        """
        provider, pristine = self.ground.provider, self.ground.pristine
        changes = await provider.compare(pristine, after)
        before, left = await provider.open_tree(pristine), await provider.open_tree(after)
        return await to_thread(compare_trees, before, left, self.root, changes)

    async def grade(self, patch: Patch) -> GradedPatch:
        """Run the tests over a patch.

        Raises:
            SandboxError: A room could not be started, or broke.
        """
        return await self.ground.grade(
            lambda open_room: self.judge(open_room, patch), commands_s=self.commands_s
        )


@asynccontextmanager
async def open_patch_tests(
    task: Task, provider: SandboxProvider, recipe: Recipe, pristine: Snapshot
) -> AsyncIterator[PatchTests]:
    """Open the hidden tests of a task.

    Args:
        task: A task for which `has_hidden_tests` is true.
        provider: Starts the rooms.
        recipe: Recipe of the task's sandbox.
        pristine: The files that the agent found.

    Raises:
        TaskError: Hidden tests do not decide this task.
        AgentGymError: The tests cannot be read, or no sandbox can be started.
    """
    if not has_hidden_tests(task):
        raise TaskError(f"{task.id}: no hidden tests of a repository decide this task")
    if task.foreign is None:
        issue = Issue(task.folder / "checks")
        timeout_s = issue.manifest.timeout_s
        ground = Ground(provider, recipe, pristine)
        base = await provider.open_tree(pristine)
        plan = await to_thread(issue.plan, base)

        def judge(open_room: Callable[[], Room], patch: Patch) -> GradedPatch:
            def run(changes: Patch) -> TestRun:
                return run_pytest(open_room(), plan, changes, issue.tests)

            counted = issue.counted(patch)
            if found := find_detection(counted):
                return _refused(found, issue)
            return grade_patch(run, counted, issue.fail_to_pass, issue.pass_to_pass)

        yield PatchTests(ground, issue.manifest.root, longest_s(timeout_s), judge)
        return
    own = read_task(task.folder)
    async with open_ground(provider, recipe) as ground:
        tests: InstanceTests = own.tests(ground.plugins)
        yield PatchTests(
            *(ground, REPOSITORY, longest_s(tests.spec.timeout_s, gold=True)),
            lambda open_room, patch: grade_instance(tests, open_room, patch),
        )


def _refused(why: str, issue: Issue) -> GradedPatch:
    nothing = apply_rules({}, issue.fail_to_pass, issue.pass_to_pass)
    return GradedPatch(Grade.UNRESOLVED, why, nothing, TestRun(outcomes={}, problem=why))


def progress(resolution: Resolution) -> float:
    """Return how far a patch is: the share of fail-to-pass tests that pass, in 0..1.

    It is multiplied by the share of pass-to-pass tests that still pass, so it is 1 for a resolved
    issue only, and a patch that breaks everything else is worth nothing.
    """
    fail, keep = resolution.fail_to_pass, resolution.pass_to_pass
    if not fail:
        return 0.0
    kept = 1 - len(resolution.regressed) / len(keep) if keep else 1.0
    return (1 - len(resolution.unresolved) / len(fail)) * kept
