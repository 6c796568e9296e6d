"""The patch that a recorded episode made, from its kept final state or an exact re-execution."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentgym.env.ending import kept_files
from agentgym.env.environment import Environment
from agentgym.errors import ReplayError, TaskError
from agentgym.manifest import load_toml
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Snapshot
from agentgym.rollout.reexecution import recorded_periods, reexecute
from agentgym.rollout.replay import recorded_environment
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.swe.diff import write_diff
from agentgym.swe.native import IssueManifest
from agentgym.swe.patch import Patch, PatchError, compare_trees
from agentgym.swe.patch_tests import has_hidden_tests
from agentgym.swe.predictions import Prediction
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.task_folder import read_task
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.threads import to_thread

_ENDING = ("submit", "give_up")


async def recorded_patch(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> Patch:
    """Return the patch that an episode made.

    A patch that is too large, or an episode that deleted the repository, gives an empty one.

    Args:
        store: The run.
        row: The episode; it is over.
        provider: Starts the sandboxes.
        named: Names that the user gave in addition to the run.

    Raises:
        ReplayError: The task has no repository, or the re-execution diverged.
        AgentGymError: The task or a sandbox is broken.
    """
    async with recorded_environment(store, row, provider, named) as environment:
        root = _root(environment.task)
        async with _files(store, row, environment) as (before, after):
            changes = await provider.compare(before, after)
            found, left = await provider.open_tree(before), await provider.open_tree(after)
            try:
                return await to_thread(compare_trees, found, left, root, changes)
            except PatchError:
                return Patch()


def _root(task: Task) -> str:
    if not has_hidden_tests(task):
        raise ReplayError(f"{task.id} is about no repository with hidden tests: it has no patch")
    if task.foreign is not None:
        return REPOSITORY
    return load_toml(task.folder / "checks" / "issue.toml", IssueManifest, TaskError).root


@asynccontextmanager
async def _files(
    store: RunStore, row: EpisodeRow, environment: Environment
) -> AsyncIterator[tuple[Snapshot, Snapshot]]:
    """Open the files with which an episode began, and those that it left."""
    kept, seed = store.endings.find(row.id), row.plan.seed
    if kept is not None and kept.state:
        instance = environment.task.instance(seed)
        before, after = await kept_files(
            environment, instance, kept.evidence, store.endings.state(kept)
        )
        try:
            yield before, after
        finally:
            await environment.provider.discard(after)
        return
    steps = list(store.steps(row.id))
    if steps and steps[-1].action.tool in _ENDING:
        steps.pop()
    episode = await environment.start(seed)
    executed = await reexecute(
        *(episode, row, steps),
        recorded_in=recorded_periods(store, row),
        strict=True,
        forks=[at for at in store.forks(row.id) if at <= len(steps)],
    )
    async with executed.episode:
        if executed.divergence is not None:
            raise ReplayError(f"episode {row.id}: re-execution diverged at {executed.divergence}")
        _, before = await environment.prepare(seed)
        after = await executed.episode.sandbox.snapshot()
        try:
            yield before, after
        finally:
            await environment.provider.discard(after)


async def recorded_prediction(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> Prediction:
    """Return the patch of an episode of an imported instance as a prediction.

    Raises:
        ReplayError: The task is no instance, or its patch cannot be had; see `recorded_patch`.
        AgentGymError: The task or a sandbox is broken.
    """
    task = find_task(named.task(row.plan.task))
    if task.foreign is None or task.foreign.format != "swebench":
        raise ReplayError(f"{row.plan.task} is no instance; predictions are made of instances")
    instance = read_task(task.folder).instance
    patch = await recorded_patch(store, row, provider, named)
    return Prediction(instance.id, row.plan.agent, write_diff(patch))
