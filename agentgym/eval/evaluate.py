"""Runs the episodes of a plan, a bounded number at a time.

An episode that fails is recorded and never stops the others. Finished episodes stay recorded, so a
run can be resumed after any interruption.
"""

from __future__ import annotations

import asyncio
import functools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from agentgym import plugins
from agentgym.agents import registry
from agentgym.env.environment import Environment
from agentgym.env.outcome import failed
from agentgym.env.recording import record_end
from agentgym.errors import AgentGymError, SandboxError
from agentgym.eval.progress import Progress
from agentgym.eval.queue import Queue, StartingPoint
from agentgym.eval.settings import Settings
from agentgym.protocols import Agent, SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step
from agentgym.rollout.run import EpisodeResult, run_episode
from agentgym.sandbox.pool import PooledProvider, PoolStatistics, spare_memory_mb
from agentgym.task.load import find_task
from agentgym.threads import to_thread
from agentgym.verify.judge.opening import open_judge

RunOne = Callable[[EpisodeRow, Callable[[Step], None]], Awaitable[EpisodeResult]]
"""Runs one episode to its recorded end and reports every step."""


async def _nothing(queue: Queue) -> None:
    """Do nothing beside the episodes."""


async def evaluate(
    store: RunStore,
    settings: Settings,
    *,
    progress: Progress,
    unrunnable: Mapping[str, str] = MappingProxyType({}),
    create: Callable[[str], Agent] = registry.create,
) -> PoolStatistics:
    """Run every episode of the store that is not done.

    Args:
        store: The run; its plan lists the episodes.
        settings: Settings of the run; a resumed run may have other `jobs` and `pool`.
        progress: Displays the events.
        unrunnable: Reason why a task cannot run, by task; its episodes are recorded with it.
        create: Creates an agent from its spec.

    Returns:
        The statistics of the pool of sandboxes.
    """
    size = min(settings.jobs if settings.pool is None else settings.pool, len(store.episodes()))
    started_by = plugins.make_provider(settings.sandbox)
    provider = PooledProvider(started_by, size=size, memory_mb=spare_memory_mb())
    episodes = _Episodes(store, settings, provider, unrunnable, create)

    async def look_ahead(queue: Queue) -> None:
        await queue.look_ahead(size, episodes.prepare, provider.expect)

    try:
        rows, jobs = store.episodes(), settings.jobs
        await run_all(rows, episodes.run, jobs=jobs, progress=progress, beside=look_ahead)
        return provider.statistics()
    finally:
        await episodes.close()
        await provider.close()


class _Episodes:
    """The episodes of one run: those of one task share an environment."""

    def __init__(
        self,
        store: RunStore,
        settings: Settings,
        provider: SandboxProvider,
        unrunnable: Mapping[str, str],
        create: Callable[[str], Agent],
    ) -> None:
        self._store, self._settings, self._create = store, settings, create
        self._provider, self._unrunnable = provider, unrunnable
        self._judge = open_judge(settings.judge) if settings.judge else None
        self._environments: dict[str, Environment] = {}
        self._making: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        """Run an episode to its recorded end."""
        settings = self._settings
        try:
            environment = await self._environment(row)
            agent = self._create(row.plan.agent)
        except AgentGymError as error:
            ending = failed(error)
            ended = (self._store, row, settings.sandbox, ending, 0.0)
            await self._store.threads.finish(record_end, *ended)
            return EpisodeResult(ending.verdict, row.steps, row.usage, 0.0, 0.0, ending.error)
        return await run_episode(
            environment,
            agent,
            seed=row.plan.seed,
            store=self._store,
            episode_id=row.id,
            timeout_s=settings.timeout_s,
            on_step=on_step,
            step_tests=settings.step_tests,
        )

    async def prepare(self, row: EpisodeRow) -> StartingPoint | None:
        """Run the setup of an episode in advance; return None if the episode needs no sandbox."""
        environment = await self._environment(row)
        if environment.provider is not self._provider:
            return None
        return await environment.prepare(row.plan.seed)

    async def close(self) -> None:
        """Close all environments. Never raises."""
        for environment in self._environments.values():
            await environment.close()

    async def _environment(self, row: EpisodeRow) -> Environment:
        name = row.plan.task
        if why := self._unrunnable.get(name):
            raise SandboxError(why)
        async with self._making[name]:
            if name not in self._environments:
                self._environments[name] = await to_thread(self._make, name)
        return self._environments[name]

    def _make(self, task: str) -> Environment:
        """Make the environment of a task; this reads its files and may load its services."""
        settings = self._settings
        return Environment(
            find_task(task).with_surfaces(settings.surfaces),
            self._provider,
            max_steps=settings.max_steps,
            judge=self._judge,
            user=settings.user,
            offline=settings.offline,
        )


async def run_all(
    rows: Sequence[EpisodeRow],
    run_one: RunOne,
    *,
    jobs: int,
    progress: Progress,
    beside: Callable[[Queue], Awaitable[None]] = _nothing,
) -> None:
    """Run the rows that are not done, `jobs` at a time, in their order.

    Args:
        rows: Every row of the run.
        run_one: Runs one of them.
        jobs: Number of concurrent episodes.
        progress: Displays the events.
        beside: Runs concurrently until all rows are begun.
    """
    rows = [row for row in rows if row.parent is None]
    waiting = Queue(row for row in rows if row.state != "done")

    async def worker() -> None:
        # All workers draw from one queue, so each row is taken once.
        for row in waiting:
            progress.begin(row)
            result = await run_one(row, functools.partial(progress.step, row))
            progress.end(row, result.verdict, result.error)

    with progress:
        progress.plan(rows)
        try:
            async with asyncio.TaskGroup() as group:
                # The number may come from a record, and a worker without an episode does nothing.
                for _ in range(min(jobs, len(rows))):
                    group.create_task(worker())
                await beside(waiting)
        except ExceptionGroup as failures:
            # Only a failure to record gets here, and it is the same one for every worker.
            raise failures.exceptions[0] from None
