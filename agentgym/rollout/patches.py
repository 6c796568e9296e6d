"""The patch that a recorded episode made, taken from an exact re-execution of its actions."""

from __future__ import annotations

from agentgym.errors import ReplayError
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.rollout.reexecution import recorded_periods, reexecute
from agentgym.rollout.replay import recorded_environment
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.swe.diff import write_diff
from agentgym.swe.patch import PatchError, compare_trees
from agentgym.swe.predictions import Prediction
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.task_folder import read_task
from agentgym.threads import to_thread

_ENDING = ("submit", "give_up")


async def recorded_prediction(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> Prediction:
    """Return the patch of an episode of an imported instance.

    A patch that is too large, or an episode that deleted the repository, gives an empty one.

    Args:
        store: The run.
        row: The episode; it is over.
        provider: Starts the sandboxes.
        named: Names that the user gave in addition to the run.

    Raises:
        ReplayError: The re-execution diverged, or the task is no instance.
        AgentGymError: The task or a sandbox is broken.
    """
    async with recorded_environment(store, row, provider, named) as environment:
        task = environment.task
        if task.foreign is None or task.foreign.format != "swebench":
            raise ReplayError(f"{row.plan.task} is no instance; predictions are made of instances")
        instance = read_task(task.folder).instance
        steps = list(store.steps(row.id))
        if steps and steps[-1].action.tool in _ENDING:
            steps.pop()
        episode = await environment.start(row.plan.seed)
        executed = await reexecute(
            *(episode, row, steps),
            recorded_in=recorded_periods(store, row),
            strict=True,
            forks=[at for at in store.forks(row.id) if at <= len(steps)],
        )
        if executed.divergence is not None:
            raise ReplayError(f"episode {row.id}: re-execution diverged at {executed.divergence}")
        sandbox = executed.episode.sandbox
        _, pristine = await environment.prepare(row.plan.seed)
        after = await sandbox.snapshot()
        try:
            changes = await provider.compare(pristine, after)
            found, left = await provider.open_tree(pristine), await provider.open_tree(after)
            patch = await to_thread(compare_trees, found, left, REPOSITORY, changes)
            text = write_diff(patch)
        except PatchError:
            text = ""
        finally:
            await provider.discard(after)
            await executed.episode.close()
        return Prediction(instance.id, row.plan.agent, text)
