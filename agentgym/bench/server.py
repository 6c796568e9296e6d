"""Measures an environment server: steps a second over WebSocket, and the memory of its process.

Sixteen environments are played as the client of a vector environment plays them, over one
connection, and as sixteen clients do, over one each. OpenEnv's protocol has one environment a
connection. Its server (``openenv-core``) is measured beside it, with an equal environment and the
same load, if the variable AGENTGYM_OPENENV names the Python of an environment in which it is
installed.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from agentgym.bench.load import Player, frame_of, steps_per_s
from agentgym.bench.series import Figure, Figures

VARIABLE: Final = "AGENTGYM_OPENENV"
"""Environment variable with the Python of an environment that has ``openenv-core``."""

_ENVIRONMENTS: Final = 16
_START_S: Final = 120.0

_OPENENV: Final = """
import socket, sys
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

class Add(Action):
    n: int

class Seen(Observation):
    text: str = ""

class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.total, self._state = 0, State()

    def reset(self, seed=None, episode_id=None, **options):
        self.total = 0
        return Seen(text="begin", reward=0.0, done=False)

    def step(self, action, timeout_s=None, **options):
        self.total += action.n
        return Seen(text=f"it is {self.total}", reward=0.0, done=False)

    async def step_async(self, action, timeout_s=None, **options):
        return self.step(action)  # Without a thread, so that it is as fast as it can be.

    @property
    def state(self):
        return self._state

listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen(64)
print("ws://127.0.0.1:%d" % listening.getsockname()[1], flush=True)
app = create_fastapi_app(Echo, Add, Seen, max_concurrent_envs=64)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
"""


def figures_of_servers() -> tuple[Figure, ...]:
    """Return what is measured; the figures of OpenEnv only if it is installed."""
    own = (
        Figure(
            "server.steps_per_s", f"agentgym serve, {_ENVIRONMENTS} environments of a client", "/s"
        ),
        Figure("server.apart.steps_per_s", f"  {_ENVIRONMENTS} clients with one each", "/s"),
        Figure("server.memory_mb", "  memory of its process", "MB"),
    )
    if not os.environ.get(VARIABLE):
        return own
    return (
        *own,
        Figure(
            "openenv.steps_per_s", f"OpenEnv's server, {_ENVIRONMENTS} clients with one each", "/s"
        ),
        Figure("openenv.memory_mb", "  memory of its process", "MB"),
        Figure("server.gain", "steps a second over OpenEnv's", "x", 1.5, at_least=True),
        Figure("server.apart.gain", f"  with {_ENVIRONMENTS} clients", "x"),
        Figure("server.memory_ratio", "memory over OpenEnv's", "x", 0.5),
    )


def measure_servers(figures: Figures, rounds: int, steps: int) -> None:
    """Measure the servers in turn.

    Args:
        figures: The figures of `figures_of_servers`.
        rounds: How often.
        steps: Steps of each session in a round.
    """
    with ExitStack() as stack:
        own = stack.enter_context(_served([sys.executable, "-P", "-m", "agentgym.bench.echo"]))
        plays = {"server": (own, _play_together), "server.apart": (own, _play_apart)}
        openenv = os.environ.get(VARIABLE)
        if openenv:
            served = stack.enter_context(_served([openenv, "-c", _OPENENV]))
            plays["openenv"] = served, _play_openenv
        for turn in range(rounds + 1):  # The first one is to warm up.
            for name, (server, play) in plays.items():
                rate = play(server.url, steps)
                if turn:
                    figures[f"{name}.steps_per_s"].samples.append(rate)
            for name in {"server", "openenv"} & plays.keys() if turn else ():
                figures[f"{name}.memory_mb"].samples.append(plays[name][0].memory_mb)
    if openenv:
        figures.ratio("server.gain", "server.steps_per_s", "openenv.steps_per_s")
        figures.ratio("server.apart.gain", "server.apart.steps_per_s", "openenv.steps_per_s")
        figures.ratio("server.memory_ratio", "server.memory_mb", "openenv.memory_mb")


class _Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.url, self._process = url, process

    @property
    def memory_mb(self) -> float:
        """Resident memory of its process."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE") / 1e6


@contextmanager
def _served(command: Sequence[str]) -> Iterator[_Server]:
    """Start a server that prints its address; it ends with the block."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"{command[0]} ended before it served: {process.wait(_START_S)}")
        yield _Server(process, url)
    finally:
        process.terminate()
        process.wait(_START_S)
        if process.stdout is not None:
            process.stdout.close()


def _play_together(url: str, steps: int) -> float:
    return _play_own(url, steps, clients=1, lanes=_ENVIRONMENTS)


def _play_apart(url: str, steps: int) -> float:
    return _play_own(url, steps, clients=_ENVIRONMENTS, lanes=1)


def _play_own(url: str, steps: int, clients: int, lanes: int) -> float:
    """Return the steps a second of some clients with as many environments each."""
    hello: dict[str, Any] = {"type": "hello", "version": 1, "name": "bench"}
    add = {"action": {"tool": "add", "arguments": {"n": 1}}}

    def begin(player: Player) -> list[bytes]:
        player.ask(hello)
        calls = itertools.count(1)
        resets = ({"type": "reset", "call": next(calls), "seed": lane} for lane in range(lanes))
        episodes = [player.ask(reset)["episode"] for reset in resets]
        return [
            frame_of({"type": "step", "episode": episode, "call": next(calls), **add})
            for _ in range(steps)
            for episode in episodes
        ]

    leave = {"type": "leave", "call": lanes * (steps + 1) + 1}
    return _play(f"{url}/v1/session", begin, clients, lanes, leave)


def _play_openenv(url: str, steps: int) -> float:
    def begin(player: Player) -> list[bytes]:
        player.ask({"type": "reset", "data": {"seed": 0}})
        return [frame_of({"type": "step", "data": {"n": 1}})] * steps

    return _play(f"{url}/ws", begin, _ENVIRONMENTS)


def _play(
    url: str,
    begin: Callable[[Player], list[bytes]],
    clients: int,
    lanes: int = 1,
    leave: dict[str, Any] | None = None,
) -> float:
    """Return the steps a second of all clients."""
    with ExitStack() as stack:
        players = []
        for _ in range(clients):
            players.append(Player(url))
            stack.callback(players[-1].close)
        frames = [begin(player) for player in players]
        rate = steps_per_s(players, frames, lanes)
        for player in players:
            if leave is not None:
                player.ask(leave)
        return rate
