"""Episodes of an evaluation on the workers of a cluster, merged into one run.

A worker plays an episode into a run of its own and returns that run's folder as bytes. The process
that has the run merges it in one transaction, and only into an episode that is still planned. So an
episode whose worker died is played again and counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym import plugins
from agentgym.agents import registry
from agentgym.cluster.place import ClusterOptions, Role
from agentgym.cluster.workers import WorkerLostError, Workers, WorkerStatistics
from agentgym.env.outcome import failed
from agentgym.env.recording import record_end
from agentgym.errors import RecordError
from agentgym.eval.episodes import Episodes
from agentgym.eval.evaluate import run_all
from agentgym.eval.progress import Progress
from agentgym.eval.requirements import build_images
from agentgym.eval.settings import Settings, settings_from
from agentgym.record.store import EpisodePlan, EpisodeRow, RunStore
from agentgym.records import Step
from agentgym.rollout.handover import merge, pack
from agentgym.rollout.run import EpisodeResult
from agentgym.sandbox.pool import PooledProvider, spare_memory_mb
from agentgym.scratch import scratch_folder
from agentgym.threads import to_thread

_FIRST: Final = 1
"""Number of the planned episode in the run of a worker."""


@dataclass(frozen=True, slots=True)
class Played:
    """The result of a worker.

    Attributes:
        archive: The folder of its run.
    """

    archive: bytes


class EpisodeWork:
    """The work of a worker that plays episodes.

    Args:
        settings: The settings of the run, as it records them.
        jobs: Largest number of episodes at a time.
    """

    def __init__(self, settings: Mapping[str, Any], jobs: int) -> None:
        self._recorded, self._settings = dict(settings), settings_from(settings)
        started_by = plugins.make_provider(self._settings.sandbox)
        self._provider = PooledProvider(started_by, size=jobs, memory_mb=spare_memory_mb())
        self._episodes: Episodes | None = None

    async def open(self) -> None:
        """Build the images that this machine lacks."""
        unrunnable = await to_thread(build_images, self._settings.tasks, lambda line: None)
        self._episodes = Episodes(self._settings, self._provider, unrunnable, registry.create)

    async def do(self, plan: EpisodePlan) -> Played:
        """Play an episode and return its record."""
        assert self._episodes is not None, "it is open"
        with scratch_folder("worker") as folder:
            store = RunStore.create(Path(folder, "run"), self._recorded, [plan])
            try:
                row = store.episode(_FIRST)
                await self._episodes.run(store, row, lambda step: None)
            finally:
                store.close()
            return Played(await to_thread(pack, store.folder))

    async def close(self) -> None:
        """End all sandboxes."""
        if self._episodes is not None:
            await self._episodes.close()
        await self._provider.close()


async def evaluate_on_cluster(
    store: RunStore, settings: Settings, options: ClusterOptions, *, progress: Progress
) -> WorkerStatistics:
    """Run every episode of the store that is not done, on the workers of a cluster.

    Args:
        store: The run; its plan lists the episodes.
        settings: Settings of the run; `jobs` of its episodes are live at a time, on all workers.
        options: The cluster.
        progress: Displays the events.

    Raises:
        ConfigError: There is no such cluster.
        RecordError: An episode cannot be recorded.
    """
    from agentgym.cluster.ray_workers import connected, start_worker

    each = math.ceil(settings.jobs / options.workers)
    role = Role(__name__, EpisodeWork.__name__, (dict(store.settings), each))
    async with connected(options.address):
        workers = Workers[EpisodePlan, Played](
            lambda: start_worker(role, options.place, each), workers=options.workers, jobs=each
        )
        try:
            episodes = RemoteEpisodes(store, workers)
            rows, jobs = store.episodes(), settings.jobs
            await run_all(rows, episodes.run, jobs=jobs, progress=progress)
        finally:
            await workers.close()
    return workers.statistics


class RemoteEpisodes:
    """Plays the episodes of a run on workers.

    Args:
        store: The run, open for writing.
        workers: Workers that do `EpisodeWork`.
    """

    def __init__(self, store: RunStore, workers: Workers[EpisodePlan, Played]) -> None:
        self._store, self._workers = store, workers

    async def run(self, row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        """Run an episode to its recorded end; its steps are told when it is over.

        An episode that was begun elsewhere is begun anew.

        Raises:
            RecordError: It cannot be recorded.
        """
        finish, store = self._store.threads.finish, self._store
        if row.state != "planned":
            await finish(store.reset_episode, row.id)
        try:
            played = await self._workers.do(row.plan)
        except WorkerLostError as error:
            ending = failed(error)
            sandbox = str(store.settings.get("sandbox", ""))
            await finish(record_end, store, row, sandbox, ending, 0.0)
        else:
            if not isinstance(played, Played):
                raise RecordError(f"a worker returned {type(played).__name__} and no episode")
            await finish(merge, store, played.archive, {_FIRST: row.id})
        done = await finish(store.episode, row.id)
        assert done.verdict is not None, "it is over"
        return EpisodeResult(
            *(done.verdict, done.steps, done.usage, done.reset_s, done.duration_s, done.error)
        )
