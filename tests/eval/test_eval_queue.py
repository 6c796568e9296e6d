"""Rows are taken once, and looked at before they are begun."""

from __future__ import annotations

import asyncio
import contextlib

from synthetic_run import Runs

from agentgym.errors import TaskError
from agentgym.eval.queue import Queue, StartingPoint
from agentgym.record.store import EpisodeRow
from agentgym.records import Recipe, Snapshot


class Ahead:
    """Prepares by name, one turn each, and fails where it is told to."""

    def __init__(self) -> None:
        self.prepared: list[int] = []
        self.announced: list[str] = []
        self.failing: set[int] = set()

    async def prepare(self, row: EpisodeRow) -> StartingPoint:
        self.prepared.append(row.id)
        await asyncio.sleep(0)
        if row.id in self.failing:
            raise TaskError("its setup is broken")
        return Recipe("host"), Snapshot("fake", (str(row.id),))

    def expect(self, recipe: Recipe, snapshot: Snapshot) -> None:
        self.announced += snapshot.layers


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_so_many_rows_ahead_and_no_further(runs: Runs) -> None:
    rows = runs.start(trials=3).episodes()
    queue, ahead = Queue(rows), Ahead()
    looking = asyncio.create_task(queue.look_ahead(2, ahead.prepare, ahead.expect))
    await turns()
    assert ahead.prepared == [], "nobody has begun"
    taken = [next(queue).id]
    await turns()
    assert ahead.announced == ["2", "3"]
    for row in queue:
        taken.append(row.id)
        await turns()
    await looking
    assert ahead.announced == ["2", "3", "4", "5", "6"]
    assert taken == [1, 2, 3, 4, 5, 6]


async def test_what_began_while_it_was_prepared_is_not_announced(runs: Runs) -> None:
    queue, ahead = Queue(runs.start(trials=2).episodes()), Ahead()
    next(queue)
    looking = asyncio.create_task(queue.look_ahead(1, ahead.prepare, ahead.expect))
    while not ahead.prepared:
        await asyncio.sleep(0)
    next(queue)
    await turns()
    assert (ahead.prepared, ahead.announced) == ([2, 3], ["3"])
    looking.cancel()


async def test_a_setup_that_fails_ahead_is_left_to_its_episode(runs: Runs) -> None:
    queue, ahead = Queue(runs.start(trials=2).episodes()), Ahead()
    ahead.failing = {2}
    next(queue)
    looking = asyncio.create_task(queue.look_ahead(3, ahead.prepare, ahead.expect))
    await turns()
    assert ahead.announced == ["3", "4"]
    assert [row.id for row in queue] == [2, 3, 4]
    await looking


async def test_looking_ahead_ends_though_a_setup_takes_no_notice(runs: Runs) -> None:
    queue, prepared = Queue(runs.start(trials=2).episodes()), []

    async def prepare(row: EpisodeRow) -> None:
        prepared.append(row.id)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    next(queue)
    looking = asyncio.create_task(queue.look_ahead(3, prepare, Ahead().expect))
    await turns()
    looking.cancel()
    await turns()
    assert looking.cancelled() and prepared == [2]
