"""Sessions in the counting world, for the tests of sessions and of their adapters."""

import asyncio

import pytest
from counter_world import CounterEnvironment, CounterEpisode, CounterProvider, counter_task

from agentgym.record.store import RunStore
from agentgym.records import Action
from agentgym.session.config import SessionConfig
from agentgym.session.server import SessionServer

ADD = Action("add", {"n": 2})
SUBMIT = Action("submit")
TOLD = "Count to 4."
TASK = "counter/count-v1"


@pytest.fixture
def store(tmp_path):
    run = RunStore.create(tmp_path / "run", {}, [])
    yield run
    run.close()


def config_of(store, *, max_steps=20, provider=None, environments=None, **terms):
    if environments is None:
        task = counter_task(max_steps=max_steps)
        provider = CounterProvider(**(provider or {}))
        environments = {TASK: CounterEnvironment(task, provider)}
    return SessionConfig(environments, store, **{"seed": 5, "idle_s": 20.0, **terms})


def opened(store, **terms):
    """Open a session on a server of its own."""
    return SessionServer(config_of(store, **terms)).open("test", "someone")


async def begun(store, **terms):
    """Open a session and begin an episode in it; return both."""
    session = opened(store, **terms)
    first = await session.reset()
    return session, first.episode


async def recorded(store, episode=1):
    """Wait until an episode is recorded as done and return it."""
    for _ in range(400):
        row = store.episode(episode)
        if row.state == "done":
            return row
        await asyncio.sleep(0.02)
    raise AssertionError("the episode is not over")


class Slow(CounterEpisode):
    """Does not come to the end of a step before it is let go on."""

    began = go_on = None

    async def step(self, decision, *, recorded=()):
        self.began.set()
        await self.go_on.wait()
        return await super().step(decision, recorded=recorded)


def slow_world(store, **terms):
    """Return a config whose steps wait, the event of their begin, and the one that frees them."""
    config = config_of(store, **terms)

    class Episode(Slow):
        began, go_on = asyncio.Event(), asyncio.Event()

    (environment,) = config.environments.values()
    environment.episode_type = Episode
    return config, Episode.began, Episode.go_on
