"""A small honest environment for tests of rollouts and sessions: a world that is one number.

It keeps the contract of `agentgym.env.environment.Environment` and of its episodes and needs no
sandbox. Its provider can be told to misbehave at a given moment.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

from agentgym.env.transition import Transition
from agentgym.records import (
    Action,
    Audit,
    Capability,
    CheckpointResult,
    CheckStatus,
    Decision,
    Effect,
    Observation,
    ObservationLimits,
    Phase,
    Step,
    TokenUsage,
    ToolSpec,
    Verdict,
)

TARGET = 4


@dataclass
class CounterProvider:
    """Where the numbers live.

    Attributes:
        name: As recorded.
        trouble: What goes wrong: step index (or ``"reset"``, ``"fork"``, ``"grade"``) to an
            exception.
        trouble_passes: Whether each of it happens once.
        drift: Step index to what is silently added there.
        hidden: Added to the number after each reset, shown by nothing but the state hash.
        murmur: Step index to what the text has at its end there, the number being as it was.
        process_id: A number that differs between worlds and means nothing.
    """

    name: str = "counter"
    capabilities: frozenset = frozenset(Capability)
    trouble: dict = field(default_factory=dict)
    trouble_passes: bool = False
    drift: dict = field(default_factory=dict)
    hidden: int = 0
    murmur: dict = field(default_factory=dict)
    process_id: int = 41
    closed: bool = False

    def problems(self):
        return []

    async def start(self, spec):
        raise AssertionError("its episodes have no sandbox")

    async def close(self):
        self.closed = True


def counter_task(*, max_steps=20, wall_s=None, volatile_text=(r"pid \d+",), params=None):
    manifest = SimpleNamespace(
        env="counter",
        surface={},
        answer="text",
        replies=(),
        max_steps=max_steps,
        limits=SimpleNamespace(wall_s=wall_s),
        replay=SimpleNamespace(volatile_text=volatile_text, volatile_paths=()),
    )
    task = SimpleNamespace(
        id="counter/count-v1", manifest=manifest, params=params or {"to": TARGET}, foreign=None
    )
    task.with_surfaces = lambda names: task
    return task


def raise_trouble(provider, moment):
    if moment in provider.trouble:
        error = provider.trouble[moment]
        if provider.trouble_passes:
            del provider.trouble[moment]
        raise error


class CounterEpisode:
    """One number; keeps the contract of `agentgym.env.episode.Episode`."""

    def __init__(self, environment, seed):
        self.environment, self._provider = environment, environment.provider
        task = environment.task
        told = f"Count to {task.params['to']}."
        self.first = Observation(told)
        self.instance = SimpleNamespace(task=task, seed=seed, params=task.params, instruction=told)
        self.steps = []
        self.audit = Audit()
        self.reset_s, self.began_s, self.waited_s, self.asks_user = 0.125, time.time(), 0.0, False
        self.prepared = environment.prepared
        self.on_end = self.recording = None
        self.closed = self.over = False
        self._number = 0

    async def step(self, decision, *, recorded=()):
        assert isinstance(decision, Decision)
        index = len(self.steps)
        assert index < self.environment.max_steps, "a step after the end"
        raise_trouble(self._provider, index)
        self._number += self._provider.drift.get(index, 0)
        action = decision.action
        if action.tool == "add" and isinstance(action.arguments.get("n"), int):
            self._number += action.arguments["n"]
            text, effect = f"it is {self._number} (pid {self._provider.process_id})", Effect.CHANGED
        elif action.tool == "submit":
            text, effect = "handed in", Effect.NO_CHANGE
        else:
            text, effect = f"no tool {action.tool!r}", Effect.ERROR
        text += self._provider.murmur.get(index, "")
        observation = Observation(text, None, {"number": self._number}, effect)
        self.steps.append(Step(index, decision, observation, 0.001))
        terminated = action.tool == "submit"
        truncated = not terminated and len(self.steps) == self.environment.max_steps
        verdict = await self.finish() if terminated or truncated else None
        return Transition(
            observation, verdict.score if verdict else 0.0, terminated, truncated, verdict
        )

    async def anew(self, *, alone):
        return await self.environment.start(self.instance.seed, alone=alone)

    async def fork(self):
        raise_trouble(self._provider, "fork")
        child = type(self)(self.environment, self.instance.seed)
        child.steps, child.began_s, child._number = list(self.steps), self.began_s, self._number
        child.forked_at = len(self.steps)
        if self.recording is not None:
            await self.recording.fork(child)
        self.environment.forks.append(child)
        return child

    async def finish(self):
        raise_trouble(self._provider, "grade")
        reached = min(self._number, TARGET) / TARGET
        state = hashlib.sha256(str(self._number + self._provider.hidden).encode()).hexdigest()
        if "check" in self._provider.trouble:
            broken = CheckpointResult(
                "n", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, "ZeroDivisionError in n"
            )
            return Verdict("error:verifier", False, 0.0, checkpoints=(broken,))
        check = CheckpointResult("n", Phase.OUTCOME, CheckStatus.PASS, reached, 1.0)
        return Verdict("scored", reached == 1, reached, checkpoints=(check,), state_hash=state)

    async def close(self):
        self.closed = True

    async def __aenter__(self):
        return self

    async def __aexit__(self, *failure):
        await self.close()


class CounterEnvironment:
    """Counts with ``add``, hands in with ``submit``; reaching `TARGET` is the task.

    Attributes:
        episodes: Every episode that was started, the last one last.
        forks: Every episode that was forked.
        prepared: What its episodes say that their setup left.
        closed: Whether it was closed.
    """

    opened: list[CounterEnvironment] = []
    episode_type = CounterEpisode

    def __init__(self, task, provider, *, max_steps=None, offline=False, user=""):
        self.task = task
        self.provider = provider
        self.max_steps = max_steps or task.manifest.max_steps
        self.tools = (ToolSpec("add", "Add to the number.", {}), ToolSpec("submit", "End.", {}))
        self.observation_limits = ObservationLimits(text_bytes=4_096, data_bytes=4_096)
        self.prepared, self.reaches_out = "", False
        self.episodes, self.forks = [], []
        self.closed = False
        CounterEnvironment.opened.append(self)

    async def start(self, seed, *, alone=False):
        raise_trouble(self.provider, "reset")
        self.episodes.append(self.episode_type(self, seed))
        return self.episodes[-1]

    async def close(self):
        self.closed = True

    async def __aenter__(self):
        return self

    async def __aexit__(self, *failure):
        await self.close()


class Counter:
    """Adds one until the observation says that the target is reached, then submits.

    Keeps what it was asked, so that tests see what an agent sees.
    """

    def __init__(self, by=1):
        self.by = by
        self.briefing = None
        self.histories = []
        self.closed = 0

    async def start(self, briefing):
        self.briefing = briefing

    async def act(self, observation, tools, history):
        self.histories.append([step.observation.text for step in history])
        done = observation.data.get("number", 0) >= TARGET
        action = Action("submit") if done else Action("add", {"n": self.by})
        return Decision(action, thought="so far so good", usage=TokenUsage(10, 2, 1), reply="…")

    async def close(self):
        self.closed += 1


class Unreachable(Counter):
    """Has a model behind a port at which nobody listens."""

    async def act(self, observation, tools, history):
        with socket.socket() as taken:  # bound and not listening
            taken.bind(("127.0.0.1", 0))
            await asyncio.open_connection("127.0.0.1", taken.getsockname()[1])
