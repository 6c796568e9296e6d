"""The next episode of a lane is announced to the pool, and taken back when another one begins."""

import asyncio
from types import SimpleNamespace

import pytest
from fake_environment import FakeEnvironment
from gymnasium.vector import AutoresetMode

from agentgym.errors import TaskError
from agentgym.gymnasium.lookahead import LookAhead
from agentgym.gymnasium.vector import VectorEnvironment, _look_ahead

SUBMIT = {"tool": "submit", "arguments": {}}


class CountingPool:
    """Counts announcements by the snapshot that they name."""

    def __init__(self):
        self.expected, self.log, self.closed = {}, [], False

    def expect(self, recipe, snapshot, count=1):
        self.expected[snapshot] = self.expected.get(snapshot, 0) + count
        self.log.append(("expect", snapshot))

    def retract(self, recipe, snapshot, count=1):
        self.expected[snapshot] -= count
        self.log.append(("retract", snapshot))

    async def close(self):
        self.closed = True

    @property
    def held(self):
        return {key: count for key, count in self.expected.items() if count}


class PooledEnvironment(FakeEnvironment):
    """Has a setup for each seed, and requests a sandbox from the pool at each start."""

    def __init__(self, pool, params=("word",)):
        super().__init__(max_steps=20)
        self.provider = pool
        self.task = SimpleNamespace(id="fake/pooled", manifest=SimpleNamespace(params=params))
        self.prepared, self.broken = [], False
        self.gate = None

    async def prepare(self, seed):
        if self.gate is not None:
            await self.gate.wait()
        self.prepared.append(seed)
        if self.broken:
            raise TaskError("no setup")
        return ("recipe", seed)

    async def start(self, seed, *, alone=False):
        if self.provider.expected.get(seed):
            self.provider.expected[seed] -= 1
            self.provider.log.append(("hit", seed))
        else:
            self.provider.log.append(("miss", seed))
        return await super().start(seed)


def kinds(pool):
    return [what for what, _ in pool.log]


def lanes(mode, count=2):
    pool = CountingPool()
    environment = PooledEnvironment(pool)
    envs = VectorEnvironment(environment, count, autoreset_mode=mode, pool=pool)
    return envs, environment, pool


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_autoreset_takes_what_was_announced(mode):
    envs, _, pool = lanes(mode)
    envs.reset(seed=5)
    for _ in range(6):
        envs.step([SUBMIT, SUBMIT])
    resets = 3 if mode == "NextStep" else 6
    assert kinds(pool).count("miss") == 2
    assert kinds(pool).count("hit") == 2 * resets
    assert "retract" not in kinds(pool)
    envs.close()
    assert not pool.held and pool.closed


def test_looking_ahead_changes_no_seed():
    envs, _, _ = lanes("SameStep")
    plain = VectorEnvironment(FakeEnvironment(), 2, autoreset_mode="SameStep")
    for vector in (envs, plain):
        vector.reset(seed=5)
    for _ in range(4):
        seeds = [vector.step([SUBMIT, SUBMIT])[-1]["seed"].tolist() for vector in (envs, plain)]
        assert seeds[0] == seeds[1]
    envs.close()
    plain.close()


def test_another_seed_takes_the_announcement_back():
    envs, _, pool = lanes("NextStep")
    envs.reset(seed=5)
    envs.step([SUBMIT, SUBMIT])
    first = pool.held
    envs.reset(seed=50)
    assert kinds(pool).count("retract") == 2 and len(first) == 2
    assert not first.keys() & pool.held.keys()
    envs.close()
    assert not pool.held


def test_without_autoreset_only_a_start_that_no_seed_changes_is_announced():
    pool = CountingPool()
    disabled = AutoresetMode.DISABLED
    assert _look_ahead(PooledEnvironment(pool), pool, disabled) is None
    assert _look_ahead(PooledEnvironment(pool, params=()), pool, disabled) is not None
    assert _look_ahead(PooledEnvironment(pool), pool, AutoresetMode.SAME_STEP) is not None
    assert _look_ahead(PooledEnvironment(CountingPool()), pool, AutoresetMode.SAME_STEP) is None


def test_an_episode_waits_for_its_own_preparation_and_stops_that_of_another():
    async def play():
        pool = CountingPool()
        environment = PooledEnvironment(pool)
        environment.gate = asyncio.Event()
        ahead = LookAhead(environment, pool)
        ahead.expect(3)
        taking = asyncio.ensure_future(ahead.take(3))
        await asyncio.sleep(0)
        assert not taking.done()
        environment.gate.set()
        await taking
        assert pool.log == [("expect", 3)]
        environment.gate.clear()
        ahead.expect(4)
        await asyncio.sleep(0)
        await ahead.take(9)
        environment.gate.set()
        await asyncio.sleep(0)
        assert environment.prepared == [3] and pool.log == [("expect", 3)]
        ahead.expect(5)
        await asyncio.sleep(0.01)
        await ahead.cancel()
        await ahead.cancel()
        assert pool.log[1:] == [("expect", 5), ("retract", 5)]

    asyncio.run(play())


def test_a_setup_that_fails_ahead_leaves_the_failure_to_the_episode():
    envs, environment, pool = lanes("SameStep", 1)
    _, infos = envs.reset(seed=5)
    environment.broken = True
    *_, infos = envs.step([SUBMIT])
    assert infos["final_info"]["scored"][0] and kinds(pool) == ["miss", "expect", "hit"]
    envs.step([SUBMIT])
    assert kinds(pool)[3:] == ["miss"]
    envs.close()
