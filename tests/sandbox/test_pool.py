"""What a pool keeps ready, for whom and how long: over an honest fake and its clock."""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest
from counted_provider import CountedProvider, settled
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentgym.errors import SandboxError
from agentgym.records import Limits, Recipe, Snapshot
from agentgym.sandbox.pool import PooledProvider

HOST = Recipe("host")
SNAPSHOTS = [Snapshot("counted", (name,)) for name in ("a", "b", "c")]
A, B, C = SNAPSHOTS


@asynccontextmanager
async def pooled(provider, size=8, memory_mb=1000.0):
    pool = PooledProvider(
        provider, size=size, memory_mb=memory_mb, calm_s=0.0, clock=provider.clock
    )
    try:
        yield pool
    finally:
        await pool.close()


async def later(pool, provider, seconds):
    provider.now_s += seconds
    await pool.tend()
    await settled()


async def taken(pool, provider, *snapshots):
    """Ask for sandboxes a second after another, with time for the pool in between."""
    boxes = []
    for snapshot in snapshots:
        provider.now_s += 1
        boxes.append(await pool.start(HOST, snapshot))
        await settled()
    return boxes


async def test_nothing_is_kept_for_a_single_request_and_one_from_the_second_on():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        await taken(pool, provider, A)
        assert pool.statistics().ready == 0
        await taken(pool, provider, A)
        assert pool.statistics().ready == 1
        await taken(pool, provider, A, A)
        seen = pool.statistics()
        assert (seen.hits, seen.misses, seen.ready) == (2, 2, 1)


async def test_a_sandbox_is_handed_out_once_alive_and_with_its_time_beginning_then():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        await taken(pool, provider, A, A)
        (waiting,) = provider.started[2:]
        assert waiting.begun == 0
        (box,) = await taken(pool, provider, A)
        assert box.id == waiting.id and waiting.begun == 1
        (other,) = await taken(pool, provider, A)
        assert other.id != box.id


async def test_only_the_same_recipe_and_snapshot_will_do():
    provider = CountedProvider()
    small = Recipe("host", limits=Limits(memory_mb=64))
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await settled()
        for recipe, snapshot in ((HOST, B), (HOST, None), (small, A)):
            box = await pool.start(recipe, snapshot)
            assert (box.recipe, box.snapshot_of) == (recipe, snapshot)
        assert pool.statistics().hits == 0
        assert (await pool.start(HOST, A)).snapshot_of == A
        assert pool.statistics().hits == 1


async def test_what_is_announced_is_there_and_nothing_more_afterwards():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A, 3)
        await settled()
        assert pool.statistics().ready == 3
        await taken(pool, provider, A, A, A)
        seen = pool.statistics()
        assert (seen.hits, seen.misses, seen.ready) == (3, 0, 0)
        assert len(provider.started) == 3


async def test_an_announcement_that_nobody_keeps_is_forgotten():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await settled()
        await later(pool, provider, 500)
        assert pool.statistics().ready == 1
        await later(pool, provider, 200)
        assert pool.statistics().ready == 0 and provider.open() == []


async def test_what_is_idle_is_closed():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        boxes = await taken(pool, provider, A, A)
        await later(pool, provider, 59)
        assert pool.statistics().ready == 1
        await later(pool, provider, 2)
        assert pool.statistics().ready == 0
        assert len(provider.open()) == len(boxes)


async def test_the_least_recently_used_makes_room():
    provider = CountedProvider()
    async with pooled(provider, size=2) as pool:
        await taken(pool, provider, A, A, B, B)
        assert pool.statistics().ready == 2
        await taken(pool, provider, A, C, C)
        assert pool.statistics().ready == 2
        before = pool.statistics().hits
        await taken(pool, provider, C, A)
        assert pool.statistics().hits == before + 2
        await taken(pool, provider, B)
        assert pool.statistics().hits == before + 2


async def test_memory_bounds_it_as_measured():
    provider = CountedProvider()
    provider.memory_mb = 40.0
    async with pooled(provider, memory_mb=100.0) as pool:
        pool.expect(HOST, A, 5)
        await settled()
        seen = pool.statistics()
        assert (seen.ready, seen.memory_mb) == (2, 80.0)


async def test_memory_nobody_measures_counts_with_its_limit():
    provider = CountedProvider()
    provider.memory_mb = None
    limited = Recipe("host", limits=Limits(memory_mb=300))
    async with pooled(provider, memory_mb=1000.0) as pool:
        pool.expect(limited, A, 5)
        await settled()
        assert pool.statistics().ready == 3


async def test_one_that_takes_more_than_all_may_is_not_kept():
    provider = CountedProvider()
    provider.memory_mb = 400.0
    async with pooled(provider, memory_mb=100.0) as pool:
        pool.expect(HOST, A, 2)
        await settled()
        assert pool.statistics().ready == 0 and provider.open() == []
        assert len(provider.started) == 1


async def test_starting_ahead_leaves_processors_to_who_waits():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A, 6)
        await settled()
        assert provider.most_starting <= max(1, os.cpu_count() // 2)
        provider.hanging.add("start")
        waiting = asyncio.create_task(pool.start(HOST, C))
        await settled()
        pool.expect(HOST, B, 2)
        await settled()
        assert provider.starting == 1, "nothing is started ahead while somebody waits"
        waiting.cancel()
        await asyncio.wait({waiting})


async def test_who_asks_gets_the_one_on_its_way():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await pool.tend()
        assert pool.statistics().starting == 1
        await pool.start(HOST, A)
        assert (pool.statistics().hits, len(provider.started)) == (1, 1)


async def test_who_asks_and_leaves_leaves_nothing():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await pool.tend()
        for moment in range(12):
            asking = asyncio.create_task(pool.start(HOST, A))
            for _ in range(moment):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait({asking})
            if not asking.cancelled():
                await asking.result().close()
            await settled()
            await later(pool, provider, 700)
            assert provider.open() == [], moment


async def test_one_that_died_is_replaced_and_counted():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A, 2)
        await settled()
        first, second = provider.open()
        first.alive = False
        box = await pool.start(HOST, A)
        assert box.id == second.id
        await settled()
        assert first.closed
        (third,) = [b for b in provider.open() if b.id != box.id]
        third.alive = False
        await later(pool, provider, 11)
        assert pool.statistics().discarded == 2
        assert pool.statistics().ready == 1


async def test_a_failing_start_is_tried_again_ever_later():
    provider = CountedProvider()
    provider.failures = ["no room"] * 4
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await settled()
        waits = []
        while pool.statistics().faults < 4:
            before, faults = provider.now_s, pool.statistics().faults
            while pool.statistics().faults == faults:
                await later(pool, provider, 0.25)
            waits.append(provider.now_s - before)
        assert waits == sorted(waits) and waits[0] < waits[-1]
        assert pool.statistics().last_fault == "no room"
        await later(pool, provider, 60)
        assert pool.statistics().ready == 1


async def test_a_fault_in_the_background_is_told_by_the_next_failure():
    provider = CountedProvider()
    provider.failures = ["the daemon is away", "no route"]
    async with pooled(provider) as pool:
        pool.expect(HOST, A)
        await settled()
        with pytest.raises(SandboxError, match="no route.*ahead.*the daemon is away"):
            await pool.start(HOST, A)
        assert (await pool.start(HOST, A)).alive
        assert pool.statistics().faults == 1


async def test_a_snapshot_is_dropped_after_what_was_started_from_it():
    provider = CountedProvider()
    async with pooled(provider) as pool:
        pool.expect(HOST, A, 2)
        pool.expect(HOST, B)
        await settled()
        await pool.discard(A)
        ((dropped, open_then),) = provider.discarded
        assert dropped == A
        assert [box.snapshot_of for box in open_then] == [B]


async def test_the_rest_is_the_providers_own():
    provider = CountedProvider()
    async with pooled(provider, size=0) as pool:
        assert (pool.name, pool.capabilities) == (provider.name, provider.capabilities)
        assert pool.problems() == []
        await taken(pool, provider, A, A, A)
        assert pool.statistics().ready == 0


ACTIONS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(SNAPSHOTS)),
    st.tuples(st.just("expect"), st.sampled_from(SNAPSHOTS)),
    st.tuples(st.just("pass"), st.sampled_from([0.1, 5.0, 30.0, 700.0])),
    st.tuples(st.just("kill"), st.integers(0, 5)),
    st.tuples(st.just("fail"), st.none()),
    st.tuples(st.just("discard"), st.sampled_from(SNAPSHOTS)),
    st.tuples(st.just("turns"), st.integers(1, 5)),
)


@settings(max_examples=150, deadline=None)
# The pool is closed while it ends a sandbox that did not answer.
@example(size=1, actions=[("ask", A), ("expect", A), ("turns", 5), ("kill", 1)])
@given(size=st.integers(0, 4), actions=st.lists(ACTIONS, max_size=40))
def test_the_books_are_right_whatever_happens(size, actions):
    asyncio.run(_play(size, actions))


async def _play(size, actions):
    provider, handed = CountedProvider(), []
    pool = PooledProvider(provider, size=size, memory_mb=35.0, calm_s=0.0, clock=provider.clock)
    for what, detail in actions:
        if what == "ask":
            try:
                box = await pool.start(HOST, detail)
            except SandboxError:
                continue
            assert box.alive and box.snapshot_of == detail
            assert box.id not in [other.id for other in handed], "handed out twice"
            handed.append(box)
        elif what == "expect":
            pool.expect(HOST, detail)
        elif what == "pass":
            await later(pool, provider, detail)
        elif what == "kill":
            for box in provider.open()[detail : detail + 1]:
                box.alive = False
        elif what == "fail":
            provider.failures.append("told to")
        elif what == "discard":
            await pool.discard(detail)
            ours = {box.id for box in handed}
            left = [b for b in provider.discarded[-1][1] if b.snapshot_of == detail]
            assert {box.id for box in left} <= ours
        else:
            for _ in range(detail):
                await asyncio.sleep(0)
        ours = {box.id for box in handed}
        spare = [box for box in provider.open() if box.id not in ours]
        assert len(spare) <= size
        seen = pool.statistics()
        assert seen.ready + seen.starting <= size
    await pool.close()
    ours = {box.id for box in handed}
    assert [box for box in provider.open_at_close if box.id not in ours] == []
