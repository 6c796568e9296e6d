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
        # Number of jobs that wait for a worker of their own.
        self._waiting = 0
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
            hired = await (self._idle() if alone else self._free())
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
                if alone:
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

    async def _idle(self) -> _Hired[J, R]:
        """Return a live worker without a job, which takes no other job while it is reserved.

        If all are busy, one takes no more jobs until any is idle.
        """
        kept: _Hired[J, R] | None = None
        self._waiting += 1

        def found() -> _Hired[J, R] | None:
            nonlocal kept
            idle = [one for one in self._live if not one.busy and (one is kept or not one.reserved)]
            if kept is not None and (idle or kept.lost):
                kept.reserved, kept = False, None
            if idle:
                idle[0].reserved = True
                return idle[0]
            if kept is None:
                kept = self._least_busy(lambda each: True)
                if kept is not None:
                    kept.reserved = True
            return None

        try:
            return await self._when(found)
        finally:
            self._waiting -= 1
            if kept is not None:
                kept.reserved = False
            self._changed.set()

    async def _free(self) -> _Hired[J, R]:
        """Return the live worker with the fewest jobs; wait until one can take a job."""

        def fits(each: _Hired[J, R]) -> bool:
            # Workers without a job are left to jobs that wait for one.
            return each.busy < self._jobs and (each.busy > 0 or not self._waiting)

        return await self._when(lambda: self._least_busy(fits))

    def _least_busy(self, fits: Callable[[_Hired[J, R]], bool]) -> _Hired[J, R] | None:
        """Return the live worker with the fewest jobs among those that fit and are not reserved."""
        fitting = [each for each in self._live if fits(each) and not each.reserved]
        return min(fitting, key=lambda each: each.busy, default=None)

    async def _when(self, found: Callable[[], _Hired[J, R] | None]) -> _Hired[J, R]:
        """Return a worker as soon as one is found; it is looked for whenever something changes.

        Raises:
            WorkerLostError: No worker is left, or none gets ready in time.
        """
        while True:
            hired = found()
            if hired is not None:
                return hired
            if not self._live and not self._starting:
                faults = self.statistics.faults
                told = faults[-1] if faults else "all workers were lost"
                raise WorkerLostError(f"no worker is left: {told}")
            limit_s = None if self._live else self._start_s
            try:
                async with asyncio.timeout(limit_s):
                    self._changed.clear()
                    await self._changed.wait()
            except TimeoutError:
                if not self._live:
                    told = "the cluster may have no room for what a worker asks for"
                    raise WorkerLostError(
                        f"no worker was ready within {self._start_s:g} s; {told}"
                    ) from None

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
