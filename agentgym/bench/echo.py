"""An environment that costs nothing, served as ``agentgym serve`` serves: for the bench of servers.

Run as a program it prints its address and serves until SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from agentgym.env.environment import Environment
from agentgym.env.transition import Transition
from agentgym.record.store import RunStore
from agentgym.records import (
    Action,
    Audit,
    Decision,
    Observation,
    ObservationLimits,
    Step,
    StepEvent,
    ToolSpec,
    Verdict,
    bounds,
)
from agentgym.session.accounts import Accounts
from agentgym.session.app import EnvironmentApp
from agentgym.session.bounds import ServerBounds
from agentgym.session.config import SessionConfig
from agentgym.session.listening import address_of, listen, serve, spare_collections
from agentgym.session.server import SessionServer
from agentgym.session.step_writer import RECORD_AFTER_S

TASK: Final = "bench/echo-v1"


class EchoEpisode:
    """Adds numbers, and never ends by itself. Has what a session uses of an `Episode`."""

    def __init__(self, environment: EchoEnvironment, seed: int) -> None:
        self.environment, self.first = environment, Observation("begin")
        self.instance = SimpleNamespace(seed=seed, params={}, instruction="begin")
        self.steps: list[Step] = []
        self.audit = Audit()
        self.reset_s, self.began_s, self.waited_s, self.prepared = 0.0, time.time(), 0.0, ""
        self.on_end: Any = None
        self.recording: Any = None
        self._total = 0

    async def step(self, decision: object, *, recorded: Sequence[StepEvent] = ()) -> Transition:
        """Add a number."""
        taken = decision if isinstance(decision, Decision) else bounds.read_decision(decision)
        number = taken.action.arguments.get("n")
        self._total += number if isinstance(number, int) else 0
        seen = Observation(f"it is {self._total}")
        self.steps.append(Step(len(self.steps), taken, seen, 0.0))
        return Transition(seen)

    async def finish(self) -> Verdict:
        """Return a verdict."""
        return Verdict("scored", True, 1.0)

    async def close(self) -> None:
        """Release nothing."""


class EchoEnvironment:
    """Starts such episodes. Has what a session uses of an `Environment`."""

    def __init__(self) -> None:
        limits = SimpleNamespace(wall_s=None)
        replay = SimpleNamespace(volatile_text=(), volatile_paths=())
        manifest = SimpleNamespace(limits=limits, replay=replay, max_steps=2**31)
        self.task = SimpleNamespace(id=TASK, manifest=manifest, foreign=None)
        self.provider = SimpleNamespace(name="none")
        self.tools = (ToolSpec("add", "Add a number.", {"type": "object"}),)
        self.observation_limits = ObservationLimits(1_000, 1_000)
        self.max_steps = 2**31

    async def start(self, seed: int) -> EchoEpisode:
        """Begin an episode."""
        return EchoEpisode(self, seed)


def action(number: int) -> Action:
    """Return the action that adds a number."""
    return Action("add", {"n": number})


async def _serve() -> None:
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        store = RunStore.create(Path(folder, "run"), {}, [])
        environments = {TASK: cast(Environment, EchoEnvironment())}
        config, terms = (
            SessionConfig(environments, store, tell_verdicts=True, record_after_s=RECORD_AFTER_S),
            ServerBounds(),
        )
        app = EnvironmentApp(SessionServer(config), Accounts(()), terms)
        ending = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
        with listen("127.0.0.1", 0) as listening:
            print(address_of(listening, tls=False), flush=True)
            await serve(app, listening, ending, terms)
        store.close()


if __name__ == "__main__":
    spare_collections()
    asyncio.run(_serve())
