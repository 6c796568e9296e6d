"""Runs the episodes of a plan, a bounded number at a time.

An episode that fails is recorded and never stops the others. Finished episodes stay recorded, so a
run can be resumed after any interruption.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from agentgym import plugins
from agentgym.agents import registry
from agentgym.eval.episodes import Episodes
from agentgym.eval.progress import Progress
from agentgym.eval.queue import Queue
from agentgym.eval.settings import Settings
from agentgym.protocols import Agent
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step
from agentgym.rollout.run import EpisodeResult
from agentgym.sandbox.pool import PooledProvider, PoolStatistics, spare_memory_mb

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
    rows = store.episodes()
    size = min(settings.jobs if settings.pool is None else settings.pool, len(rows))
    started_by = plugins.make_provider(settings.sandbox)
    provider = PooledProvider(started_by, size=size, memory_mb=spare_memory_mb())
    episodes = Episodes(settings, provider, unrunnable, create)

    async def look_ahead(queue: Queue) -> None:
        await queue.look_ahead(size, episodes.prepare, provider.expect)

    try:
        run = functools.partial(episodes.run, store)
        await run_all(rows, run, jobs=settings.jobs, progress=progress, beside=look_ahead)
        return provider.statistics()
    finally:
        await episodes.close()
        await provider.close()


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
