"""Jobs for workers that may die, without knowledge of what carries them.

A job is given to one live worker at a time. If its worker is lost, whatever that worker did is
dropped, and the job is given to another one. Only what a call of `Workers.do` returns counts, so a
job has one result, however often it was begun. Its last attempt has a worker to itself, so that no
other job is the reason if that worker is lost, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from agentgym.errors import AgentGymError

CLOSE_S: Final = 30.0
"""Longest time in seconds for a worker to release what it holds."""

LOSSES: Final = 3
"""Number of lost workers after which a job is not given to another one: it may be the reason."""

J = TypeVar("J", contravariant=True)
R = TypeVar("R", covariant=True)


class WorkerLostError(AgentGymError):
    """A worker died, or cannot be reached; what it was doing is not known."""

    boundary = "sandbox"


class Worker(Protocol[J, R]):
    """Does jobs, several at a time."""

    async def do(self, job: J) -> R:
        """Do a job. Raises WorkerLostError if the worker is lost meanwhile."""
        ...

    async def close(self) -> None:
        """Release what it holds; a worker that is lost holds nothing."""
        ...


@dataclass(eq=False)
class _Hired(Generic[J, R]):
    """A worker, the number of its jobs, whether a job has it to itself, and whether it was lost."""

    worker: Worker[J, R]
    busy: int = 0
    reserved: bool = False
    lost: bool = False

    async def do(self, job: J) -> R:
        """Do a job.

        Raises:
            WorkerLostError: The worker was lost, perhaps with another job. It is closed then, and
                what its other jobs return may have been cut short.
            Exception: What the job raised.
        """
        try:
            done = await self.worker.do(job)
        except Exception as error:
            if self.lost and not isinstance(error, WorkerLostError):
                raise WorkerLostError(f"it was lost with another job ({error})") from error
            raise
        if self.lost:
            raise WorkerLostError("it was lost with another job")
        return done


@dataclass
class WorkerStatistics:
    """Counts of what happened to workers.

    Attributes:
        started: Number of workers that were started.
        lost: Number of those that were lost.
        repeated: Number of times that a job was given to another worker.
        faults: Reasons why workers could not be started.
    """

    started: int = 0
    lost: int = 0
    repeated: int = 0
    faults: list[str] = field(default_factory=list)

    def told(self) -> list[str]:
        """Return a line for each kind of thing that went wrong."""
        lines = []
        if self.lost:
            lines.append(f"{self.lost} workers were lost; {self.repeated} jobs were repeated")
        if self.faults:
            lines.append(f"{len(self.faults)} workers did not start, the last: {self.faults[-1]}")
        return lines


class Workers(Generic[J, R]):
    """A number of workers; a lost one is replaced.

    Args:
        start: Starts a worker and returns it when it is ready. May take any time, because a cluster
            may have no room for it; it is cancelled if it is not needed any more.
        workers: Number of workers.
        jobs: Largest number of jobs that a worker does at a time.
        start_s: Longest time in seconds that jobs wait while no worker is live.

    Attributes:
        statistics: What happened to the workers.

    Raises:
        ValueError: A number is below 1.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[Worker[J, R]]],
        *,
        workers: int,
        jobs: int,
        start_s: float = 300.0,
    ) -> None:
        if workers < 1 or jobs < 1:
            raise ValueError("expected at least one worker, and one job for each")
        self.statistics = WorkerStatistics()
        self._start, self._jobs, self._start_s = start, jobs, start_s
        self._live: list[_Hired[J, R]] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        for _ in range(workers):
            self._begin_start()

    async def do(self, job: J) -> R:
        """Do a job with a worker that is free; it is repeated if its worker is lost.

        Raises:
            WorkerLostError: `LOSSES` workers were lost with it, or no worker could be started.
            Exception: What the job raised.
        """
        for attempt in range(1, LOSSES + 1):
            alone = attempt == LOSSES
            hired = await (self._reserved() if alone else self._free())
            hired.busy += 1
            try:
                return await hired.do(job)
            except WorkerLostError as error:
                self._lose(hired)
                if alone:
                    told = f"{LOSSES} workers were lost with this job, the last alone: {error}"
                    raise WorkerLostError(told) from error
                self.statistics.repeated += 1
            finally:
                hired.busy -= 1
                hired.reserved = False
                self._changed.set()
        raise AssertionError("unreachable")

    @property
    def live(self) -> int:
        """Number of workers that can take jobs."""
        return len(self._live)

    async def close(self) -> None:
        """Close all workers. Never raises."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        live, self._live = self._live, []
        await asyncio.gather(*(_close(hired.worker) for hired in live), *self._closing)

    async def _reserved(self) -> _Hired[J, R]:
        """Return a live worker without a job that takes no other job."""
        while True:
            hired = await self._free(or_busy=True)
            hired.reserved = True
            try:
                while hired.busy and not hired.lost:
                    await self._change()
            except BaseException:
                hired.reserved = False
                self._changed.set()
                raise
            if not hired.lost:
                return hired

    async def _free(self, *, or_busy: bool = False) -> _Hired[J, R]:
        """Return the live worker with the fewest jobs; wait until one can take a job.

        Args:
            or_busy: Whether it may have as many jobs as it can do.
        """
        while True:
            open_to_jobs = [each for each in self._live if not each.reserved]
            free = [each for each in open_to_jobs if or_busy or each.busy < self._jobs]
            if free:
                return min(free, key=lambda each: each.busy)
            if not self._live and not self._starting:
                faults = self.statistics.faults
                told = faults[-1] if faults else "all workers were lost"
                raise WorkerLostError(f"no worker is left: {told}")
            limit_s = None if self._live else self._start_s
            try:
                async with asyncio.timeout(limit_s):
                    await self._change()
            except TimeoutError:
                if not self._live:
                    told = "the cluster may have no room for what a worker asks for"
                    raise WorkerLostError(
                        f"no worker was ready within {self._start_s:g} s; {told}"
                    ) from None

    async def _change(self) -> None:
        """Wait until a worker is ready, is lost or has ended a job."""
        self._changed.clear()
        await self._changed.wait()

    def _lose(self, hired: _Hired[J, R]) -> None:
        """Replace a worker, unless another of its jobs did so before."""
        if hired not in self._live:
            return
        self._live.remove(hired)
        hired.lost = True
        self.statistics.lost += 1
        closing = asyncio.create_task(_close(hired.worker))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._begin_start()

    def _begin_start(self) -> None:
        task = asyncio.create_task(self._started())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self) -> None:
        """Start a worker; a fault is noted, and the others go on without it."""
        try:
            worker = await self._start()
        except Exception as error:  # noqa: BLE001 - the boundary to the cluster
            self.statistics.faults.append(f"{type(error).__name__}: {str(error)[:500]}")
        else:
            self.statistics.started += 1
            self._live.append(_Hired(worker))
        finally:
            # A job that wakes up now must not wait for this start.
            task = asyncio.current_task()
            if task is not None:
                self._starting.discard(task)
            self._changed.set()


async def _close(worker: Worker[J, R]) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSE_S):
            await worker.close()
