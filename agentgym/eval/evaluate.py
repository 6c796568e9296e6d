"""Runs the episodes of a plan, a bounded number at a time.

An episode that fails is recorded and never stops the others; what is done stays done, so a run
can be taken up again after any interruption.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from agentgym import plugins
from agentgym.agents import registry
from agentgym.env.environment import Environment
from agentgym.errors import AgentGymError, SandboxError
from agentgym.eval.progress import Progress
from agentgym.eval.queue import Ground, Queue
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step, Verdict
from agentgym.rollout.run import EpisodeResult, run_episode
from agentgym.sandbox.pool import PooledProvider, PoolStatistics
from agentgym.task.load import find_task
from agentgym.verify.judge.opening import open_judge

RunOne = Callable[[EpisodeRow, Callable[[Step], None]], Awaitable[EpisodeResult]]
"""Runs one episode to its recorded end and tells of every step."""

# Of the machine's memory, for sandboxes that nobody uses yet.
_SPARE_SHARE = 0.25


async def _nothing(queue: Queue) -> None:
    """Go on with nothing beside the episodes."""


async def evaluate(
    store: RunStore,
    *,
    jobs: int,
    pool: int | None,
    sandbox: str,
    max_steps: int | None,
    timeout_s: float | None,
    progress: Progress,
    judge: str = "",
    user: str = "",
    offline: bool = False,
    unrunnable: Mapping[str, str] = MappingProxyType({}),
) -> PoolStatistics:
    """Run every episode of the store that is not done.

    Args:
        store: The run; its plan says what to run.
        jobs: Episodes that run at the same time, each with an environment of its own.
        pool: Sandboxes kept ready ahead of the episodes, None for as many as `jobs`.
        sandbox: Name of the sandbox provider all of them share.
        max_steps: Bound on an episode's steps, None for the task's own.
        timeout_s: Bound on an episode's wall time.
        progress: Hears what happens.
        judge: Spec of who decides what checks ask a judge; all episodes share it.
        user: Spec of who plays the users that tasks have.
        offline: Sandboxes have no network, whatever a task allows.
        unrunnable: Why a task cannot run, by task; its episodes are recorded with that.

    Returns:
        What the pool of sandboxes did.
    """
    size = jobs if pool is None else pool
    provider = PooledProvider(
        plugins.load("agentgym.sandboxes", sandbox)(), size=size, memory_mb=_spare_memory_mb()
    )
    load = functools.cache(find_task)
    judging = open_judge(judge) if judge else None

    async def run_one(row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        try:
            if why := unrunnable.get(row.plan.task):
                raise SandboxError(why)
            env = Environment(
                load(row.plan.task),
                provider,
                max_steps=max_steps,
                judge=judging,
                user=user,
                offline=offline,
            )
            agent = registry.create(row.plan.agent)
        except AgentGymError as error:
            return _record_failure(store, row, sandbox, error)
        try:
            return await run_episode(
                env,
                agent,
                seed=row.plan.seed,
                store=store,
                episode_id=row.id,
                timeout_s=timeout_s,
                on_step=on_step,
            )
        finally:
            await env.close()

    # It prepares episodes and runs none, so one a task will do.
    preparing = functools.cache(
        lambda task_id: Environment(load(task_id), provider, offline=offline)
    )

    async def prepare(row: EpisodeRow) -> Ground | None:
        if row.plan.task in unrunnable:
            raise SandboxError(unrunnable[row.plan.task])
        env = preparing(row.plan.task)
        # Where there is no sandbox, none has to be started ahead.
        return await env.prepare(row.plan.seed) if env.provider is provider else None

    async def look_ahead(queue: Queue) -> None:
        await queue.look_ahead(size, prepare, provider.expect)

    try:
        await run_all(store.episodes(), run_one, jobs=jobs, progress=progress, beside=look_ahead)
        return provider.statistics()
    finally:
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
        run_one: Runs one.
        jobs: How many at a time.
        progress: Hears what happens.
        beside: What else goes on until all rows are begun.
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
                for _ in range(jobs):
                    group.create_task(worker())
                await beside(waiting)
        except ExceptionGroup as failures:
            # Only what cannot be recorded gets here, and it is the same failure for every worker.
            raise failures.exceptions[0] from None


def _spare_memory_mb() -> float:
    return _SPARE_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20


def _record_failure(
    store: RunStore, row: EpisodeRow, sandbox: str, error: AgentGymError
) -> EpisodeResult:
    """Record an episode that could not even be set up."""
    recorder = store.begin(
        row.id, params={}, instruction="", sandbox=sandbox, reset_s=0.0, first=row.first
    )
    verdict = Verdict(f"error:{error.boundary}", outcome=False, score=0.0)
    recorder.finish(verdict, duration_s=0.0, error=str(error))
    return EpisodeResult(verdict, row.steps, row.usage, 0.0, 0.0, str(error))
