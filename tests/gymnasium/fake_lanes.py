"""Lanes of a vector environment that break or hang at what is said in them."""

import asyncio
import threading
from contextlib import suppress

from fake_environment import FakeEnvironment, FakeEpisode, Transition
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from agentgym.records import Observation

LANES = 3
MODES = list(AutoresetMode)


def submit(answer="wrong"):
    return {"tool": "submit", "arguments": {"answer": answer}}


def seen(text, **parts):
    return Transition(Observation(text, **parts), 0.0, False, False, None)


class BreakingEpisode(FakeEpisode):
    """Raises what the environment holds for the text that is said."""

    async def step(self, decision):
        text = decision["arguments"].get("text") if isinstance(decision, dict) else None
        broken = self.environment.breaks.get(text)
        if broken == "hang":
            self.environment.stuck.set()
            await asyncio.sleep(3600)
        if isinstance(broken, Exception):
            raise broken
        if broken is not None:
            return broken
        return await super().step(decision)


class BreakingEnvironment(FakeEnvironment):
    episode_type = BreakingEpisode

    def __init__(self, max_steps=20, breaks=(), starts=()):
        super().__init__(max_steps)
        self.breaks, self.starts = dict(breaks), dict(starts)
        self.stuck, self.begun = threading.Event(), []

    async def start(self, seed, *, alone=False):
        if seed in self.starts and self.starts[seed] == "late":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        elif seed in self.starts:
            raise self.starts[seed]
        self.begun.append(await super().start(seed))
        return self.begun[-1]


def of_lane(batched, lane):
    return {key: values[lane] for key, values in batched.items()}


def same(one, other):
    return data_equivalence(one, other, exact=True)


async def until_closed(episodes):
    while any(episode.closed != 1 for episode in episodes):
        await asyncio.sleep(0.01)
