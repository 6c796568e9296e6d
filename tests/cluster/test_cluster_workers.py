"""Jobs have one result each, whatever becomes of the workers; without a cluster."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from agentgym.cluster.place import read_resources
from agentgym.cluster.workers import LOSSES, WorkerLostError, Workers
from agentgym.errors import ConfigError


class Fleet:
    """Starts workers that can be killed; counts what they begin and what they finish."""

    def __init__(self, refuse=()):
        self.workers, self.begun, self.finished = [], Counter(), Counter()
        self.refuse, self.asked = set(refuse), 0
        self.hold, self.holds = asyncio.Event(), {}
        self.beside = {}
        self.most = 0

    async def start(self):
        self.asked += 1
        if self.asked in self.refuse:
            raise RuntimeError("no such image")
        await asyncio.sleep(0)
        worker = FleetWorker(self)
        self.workers.append(worker)
        return worker


class FleetWorker:
    def __init__(self, fleet):
        self.fleet, self.dead, self.closed = fleet, asyncio.Event(), False
        self.now, self.jobs = 0, []

    async def do(self, job):
        fleet = self.fleet
        fleet.begun[job] += 1
        self.now += 1
        self.jobs.append(job)
        for each in self.jobs:
            fleet.beside[each] = max(fleet.beside.get(each, 0), len(self.jobs) - 1)
        fleet.most = max(fleet.most, self.now)
        try:
            if job == "raises":
                raise ZeroDivisionError("the job's own")
            if job == "kills":
                self.dead.set()
            hold = fleet.holds.get(job, fleet.hold)
            held, dead = asyncio.ensure_future(hold.wait()), self.dead.wait()
            waits = {held, asyncio.ensure_future(dead)}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()
            if hold.is_set():
                fleet.finished[job] += 1
            if self.dead.is_set():
                raise WorkerLostError("its node is gone")  # even if it was finished: nobody knows
            return f"{job} done"
        finally:
            self.now -= 1
            self.jobs.remove(job)

    async def close(self):
        self.closed = True


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


async def test_a_job_of_a_lost_worker_is_done_by_another_one():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=2, jobs=2)
    jobs = [asyncio.create_task(workers.do(n)) for n in range(6)]
    await until(lambda: sum(fleet.begun.values()) == 4)
    lost = fleet.workers[0]
    lost.dead.set()
    await until(lambda: len(fleet.workers) == 3)
    fleet.hold.set()
    assert await asyncio.gather(*jobs) == [f"{n} done" for n in range(6)]
    assert set(fleet.finished.values()) == {1}
    assert sorted(fleet.begun.values()) == [1, 1, 1, 1, 2, 2]
    assert fleet.most == 2
    assert lost.closed
    assert (workers.statistics.started, workers.statistics.lost) == (3, 1)
    assert workers.statistics.told() == ["1 workers were lost; 2 jobs were repeated"]
    await workers.close()
    assert all(each.closed for each in fleet.workers)


async def test_a_result_that_was_lost_with_its_worker_is_not_used():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=1, jobs=1)
    job = asyncio.create_task(workers.do("a"))
    await until(lambda: fleet.begun["a"] == 1)
    fleet.workers[0].dead.set()
    fleet.hold.set()
    assert await job == "a done"
    assert fleet.begun["a"] == 2
    await workers.close()


async def test_a_job_that_kills_its_workers_is_given_up():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=1, jobs=1)
    with pytest.raises(WorkerLostError, match=f"{LOSSES} workers were lost with this job"):
        await workers.do("kills")
    assert fleet.begun["kills"] == LOSSES
    fleet.hold.set()
    assert await workers.do("harmless") == "harmless done"
    await workers.close()


@pytest.mark.parametrize(
    ("count", "refuse"),
    [(1, ()), (2, ()), pytest.param(2, {4}, id="without another worker, one has to become idle")],
)
async def test_a_job_that_was_lost_twice_is_alone_at_its_last_attempt(count, refuse):
    fleet = Fleet(refuse)
    workers = Workers(fleet.start, workers=count, jobs=3)
    await until(lambda: workers.live == count)
    names = [f"job {number}" for number in range(12)]
    unlucky = asyncio.create_task(workers.do("unlucky"))
    for attempt in range(1, LOSSES):
        await until(lambda attempt=attempt: fleet.begun["unlucky"] == attempt)
        if attempt == LOSSES - 1:
            # Every worker is busy, and more jobs keep coming.
            fleet.holds = {name: asyncio.Event() for name in names}
            jobs = [asyncio.create_task(workers.do(name)) for name in names]
            await until(lambda: sum(fleet.begun[name] for name in names) == 3 * count - 1)
        (worker,) = (each for each in fleet.workers if "unlucky" in each.jobs)
        fleet.beside.clear()
        worker.dead.set()
    fleet.beside.pop("unlucky", None)
    for name in names:
        await until(lambda name=name: fleet.begun[name] or fleet.begun["unlucky"] == LOSSES)
        fleet.holds[name].set()
        for _ in range(20):
            await asyncio.sleep(0)
    await until(lambda: fleet.begun["unlucky"] == LOSSES)
    assert fleet.beside["unlucky"] == 0
    late = asyncio.create_task(workers.do("late"))
    for _ in range(50):
        await asyncio.sleep(0)
    assert fleet.beside["unlucky"] == 0
    fleet.hold.set()
    assert await unlucky == "unlucky done"
    await asyncio.gather(late, *jobs)
    assert fleet.beside["unlucky"] == 0
    await workers.close()


async def test_a_job_that_ends_workers_is_given_up_alone_and_harms_no_other():
    fleet = Fleet()
    fleet.holds["kills"] = asyncio.Event()
    workers = Workers(fleet.start, workers=1, jobs=3)
    jobs = [asyncio.create_task(workers.do(name)) for name in ("kills", "a", "b")]
    fleet.hold.set()
    done = await asyncio.gather(*jobs, return_exceptions=True)
    assert "the last alone" in str(done[0])
    assert done[1:] == ["a done", "b done"]
    await workers.close()


async def test_a_job_that_is_cancelled_while_it_waits_to_be_alone_reserves_no_worker():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=1, jobs=2)
    both = [asyncio.create_task(workers.do(name)) for name in "ab"]
    for attempt in range(1, LOSSES):
        await until(lambda attempt=attempt: fleet.begun["a"] == fleet.begun["b"] == attempt)
        fleet.workers[-1].dead.set()
    await until(lambda: sum(fleet.begun.values()) == 2 * LOSSES - 1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert sum(fleet.begun.values()) == 2 * LOSSES - 1, "one has to wait for the other"
    running, waiting = sorted(both, key=lambda task: fleet.begun["ab"[both.index(task)]])[::-1]
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    others = [asyncio.create_task(workers.do(name)) for name in "cd"]
    fleet.hold.set()
    await asyncio.gather(running, *others)
    await workers.close()


async def test_what_a_job_raises_is_its_own():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=1, jobs=1)
    with pytest.raises(ZeroDivisionError, match="the job's own"):
        await workers.do("raises")
    assert fleet.begun["raises"] == 1
    assert workers.statistics.lost == 0
    await workers.close()


async def test_the_others_go_on_without_a_worker_that_cannot_start():
    fleet = Fleet(refuse={1})
    fleet.hold.set()
    workers = Workers(fleet.start, workers=2, jobs=1)
    assert await workers.do("a") == "a done"
    assert workers.statistics.told() == [
        "1 workers did not start, the last: RuntimeError: no such image"
    ]
    await workers.close()


async def test_nothing_waits_for_workers_that_cannot_start():
    fleet = Fleet(refuse={1, 2})
    workers = Workers(fleet.start, workers=2, jobs=1)
    with pytest.raises(WorkerLostError, match="no worker is left: RuntimeError: no such image"):
        await workers.do("a")
    await workers.close()


async def test_nothing_waits_for_ever_for_room_on_the_cluster():
    async def never():
        await asyncio.Event().wait()

    workers = Workers(never, workers=1, jobs=1, start_s=0.01)
    with pytest.raises(WorkerLostError, match=r"no worker was ready within 0.01 s"):
        await workers.do("a")
    await workers.close()


async def test_a_cancelled_job_frees_its_worker():
    fleet = Fleet()
    workers = Workers(fleet.start, workers=1, jobs=1)
    job = asyncio.create_task(workers.do("a"))
    await until(lambda: fleet.begun["a"] == 1)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    fleet.hold.set()
    assert await workers.do("b") == "b done"
    await workers.close()


@pytest.mark.parametrize(("workers", "jobs"), [(0, 1), (1, 0)])
async def test_numbers_below_one_are_refused(workers, jobs):
    with pytest.raises(ValueError, match="at least one worker"):
        Workers(Fleet().start, workers=workers, jobs=jobs)


def test_resources_are_read():
    assert read_resources(("sandbox=1", "disk=0.5")) == {"sandbox": 1.0, "disk": 0.5}


@pytest.mark.parametrize("text", ["sandbox", "=1", "a=", "a=-1", "a=0", "a=nan", "a=inf", "a=b"])
def test_other_resources_are_refused(text):
    with pytest.raises(ConfigError, match="expected NAME=AMOUNT"):
        read_resources((text,))


@pytest.mark.parametrize("end", ["cut short", ValueError("it is closed")], ids=["result", "error"])
async def test_what_other_jobs_of_a_lost_worker_return_counts_for_nothing(end):
    begun = []

    class Closing:
        """Ends its other jobs when it is closed, as a worker in this process does."""

        def __init__(self):
            self.closed = asyncio.Event()

        async def do(self, job):
            begun.append(job)
            if len(begun) > 2:
                return f"{job} done"
            if job == "first":
                await until(lambda: len(begun) == 2)
                raise WorkerLostError("its node is gone")
            await self.closed.wait()
            if isinstance(end, Exception):
                raise end
            return end

        async def close(self):
            self.closed.set()

    async def start():
        return Closing()

    workers = Workers(start, workers=1, jobs=2)
    assert await asyncio.gather(workers.do("first"), workers.do("second")) == [
        "first done",
        "second done",
    ]
    assert (workers.statistics.lost, workers.statistics.repeated) == (1, 2)
    await workers.close()
