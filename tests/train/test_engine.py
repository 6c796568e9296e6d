"""The rollout engine: its bounds on staleness, refills and surplus, whatever ends first."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import RecordError
from agentgym.train.curriculum import Curriculum, Difficulty
from agentgym.train.engine import GOES_ON, HELD, RolloutEngine, Surplus
from agentgym.train.rollouts import Group, Trajectory
from agentgym.train.samples import EpisodeTokens


def trajectory(reward, version=0):
    return Trajectory(reward, EpisodeTokens((), 0, version), ("",))


class Played:
    """Plays groups in the order that a seed gives; what a group is depends on its number only."""

    def __init__(self, order_seed, *, alike=0.3, missing=0.0, steps=6):
        self.engine = None
        self.random = random.Random(order_seed)
        self.alike, self.missing, self.steps = alike, missing, steps
        self.live = self.most_live = self.cancelled = 0
        self.going = asyncio.Event()
        self.going.set()

    def hold(self):
        self.going.clear()

    def go_on(self):
        self.going.set()

    async def group(self, assignment):
        version = self.engine.version
        self.live += 1
        self.most_live = max(self.most_live, self.live)
        try:
            for _ in range(self.random.randrange(self.steps)):
                await self.going.wait()
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.live -= 1
        drawn = random.Random(f"group {assignment.number}")
        if drawn.random() < self.missing:
            return Group(assignment, (), ("error:sandbox: gone",) * assignment.size)
        second = 0.0 if drawn.random() < self.alike else 1.0
        return Group(assignment, (trajectory(0.0, version), trajectory(second, version)))


def engine_of(played, **options):
    curriculum = Curriculum({"a": range(5), "b": range(3)}, difficulty=Difficulty.THOMPSON)
    played.engine = RolloutEngine(played, curriculum, **{"batch": 4, **options})
    return played.engine


async def train(engine, batches):
    found = []
    for _ in range(batches):
        found.append(await engine.batch())
        engine.advance()
    await engine.close()
    return found


def names(batches):
    return [[group.assignment for group in batch.groups] for batch in batches]


@settings(max_examples=40, deadline=None)
@given(first=st.integers(), second=st.integers(), refills=st.integers(0, 3))
def test_without_staleness_a_batch_does_not_depend_on_what_ends_first(first, second, refills):
    one = asyncio.run(train(engine_of(Played(first), refills=refills), 5))
    other = asyncio.run(train(engine_of(Played(second), refills=refills), 5))
    assert names(one) == names(other)
    assert [len(batch.played) for batch in one] == [len(batch.played) for batch in other]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(),
    staleness=st.integers(0, 3),
    overprovision=st.sampled_from([1.0, 1.5, 3.0]),
    surplus=st.sampled_from(Surplus),
    batch=st.integers(1, 6),
)
def test_no_group_is_staler_than_the_bound(seed, staleness, overprovision, surplus, batch):
    if surplus in GOES_ON and not staleness:
        return
    played = Played(seed, steps=30)
    engine = engine_of(
        *(played,), batch=batch, staleness=staleness, overprovision=overprovision, surplus=surplus
    )
    ages = []

    async def run():
        for _ in range(8):
            found = await engine.batch()
            ages.extend(engine.version - group.oldest for group in found.groups)
            assert len(found.groups) <= batch
            engine.advance()
            await asyncio.sleep(0)
        await engine.close()

    asyncio.run(run())
    assert max(ages, default=0) <= staleness
    assert played.most_live <= batch * staleness + round(batch * overprovision)
    assert played.live == 0
    counted = engine.counters
    ended = counted["accepted"] + counted["alike"] + counted["stale"] + counted["cancelled"]
    assert counted["admitted"] == ended + len(engine._ready) + len(engine._running)


def test_groups_that_are_too_old_are_counted_and_not_used():
    played = Played(0, alike=0.0, steps=1)
    engine = engine_of(played, staleness=1, surplus=Surplus.CONTINUE)

    async def run():
        await engine.batch()
        engine.advance()
        engine.advance()
        found = await engine.batch()
        await engine.close()
        return found

    found = asyncio.run(run())
    assert engine.counters["stale"] > 0
    assert all(group.oldest >= 1 for group in found.groups)


def test_a_batch_without_refills_is_short_rather_than_endless():
    engine = engine_of(Played(0, alike=1.0), refills=2)
    found = asyncio.run(train(engine, 1))[0]
    assert found.groups == ()
    assert len(found.played) == 12


def test_surplus_groups_are_begun_anew_if_that_is_asked_for():
    played = Played(3, alike=0.0, steps=40)
    engine = engine_of(played, overprovision=2.0, surplus=Surplus.REISSUE)

    async def run():
        first = await engine.batch()
        cancelled = set(range(8)) - {group.assignment.number for group in first.played}
        engine.advance()
        state = engine.state_dict()
        second = await engine.batch()
        await engine.close()
        return cancelled, state, second

    cancelled, state, second = asyncio.run(run())
    assert cancelled
    assert {each[0] for each in state["pending"]} == cancelled
    assert {group.assignment.number for group in second.played} & cancelled


@pytest.mark.parametrize("surplus", HELD)
def test_surplus_groups_wait_between_two_batches_if_that_is_asked_for(surplus):
    played = Played(3, alike=0.0, steps=40)
    engine = engine_of(played, overprovision=2.0, staleness=1, surplus=surplus)

    async def run():
        first = await engine.batch()
        waiting = set(range(8)) - {group.assignment.number for group in first.played}
        live = played.live
        for _ in range(100):
            await asyncio.sleep(0)
        same = played.live == live > 0
        engine.advance()
        second = await engine.batch()
        await engine.close()
        return waiting, same, second

    waiting, same, second = asyncio.run(run())
    assert waiting and same
    assert {group.assignment.number for group in second.played} & waiting
    assert not engine.counters["stale"]


def test_no_score_at_all_is_an_error_that_says_why():
    with pytest.raises(RecordError, match="no episode of a batch has a score: error:sandbox: gone"):
        asyncio.run(train(engine_of(Played(0, missing=1.0)), 1))


def test_a_resumed_engine_plays_the_same_groups():
    whole = asyncio.run(train(engine_of(Played(1)), 6))
    first = engine_of(Played(2))
    begun = asyncio.run(train(first, 3))
    second = engine_of(Played(3))
    second.load_state_dict(first.state_dict())
    ended = asyncio.run(train(second, 3))
    assert names(whole) == names(begun) + names(ended)
    assert second.counters["accepted"] == sum(len(batch.groups) for batch in whole)


def test_a_group_that_was_under_way_is_begun_again_after_a_stop():
    engine = engine_of(Played(5, alike=0.0, steps=50), staleness=2, surplus=Surplus.CONTINUE)

    async def run():
        await engine.batch()
        state = engine.state_dict()
        await engine.close()
        return state

    state = asyncio.run(run())
    assert state["pending"]
    again = engine_of(Played(6, alike=0.0), staleness=2, surplus=Surplus.CONTINUE)
    again.load_state_dict(state)
    numbers = {each[0] for each in state["pending"]}

    async def go_on():
        for _ in range(4):
            found = await again.batch()
            numbers.difference_update(group.assignment.number for group in found.played)
            again.advance()
        await again.close()

    asyncio.run(go_on())
    assert not numbers


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"staleness": -1},
        {"refills": -1},
        {"overprovision": 0.5},
        {"surplus": Surplus.CONTINUE},
    ],
)
def test_bounds_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="out of range|staleness of at least 1"):
        engine_of(Played(0), **options)
