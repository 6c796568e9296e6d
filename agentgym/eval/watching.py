"""A run of one episode that a page shows as it is played, and in which a person may act."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from agentgym.agents import registry
from agentgym.eval.evaluate import evaluate
from agentgym.eval.plan import start_run
from agentgym.eval.report import write_report
from agentgym.eval.requirements import build_images
from agentgym.eval.results import build_results, write_results
from agentgym.eval.settings import read_settings
from agentgym.protocols import Agent
from agentgym.record.store import EpisodeRow
from agentgym.records import Step, Verdict
from agentgym.session.accounts import new_token
from agentgym.session.bounds import ServerBounds
from agentgym.session.listening import address_of, serve
from agentgym.session.watch.app import WatchApp
from agentgym.session.watch.live import Live
from agentgym.session.watch.shared_control import SharedControl
from agentgym.threads import to_thread

PERSON: Final = "person"
"""Spec of the agent that stands for a person who acts alone."""

_PARTING_S: Final = 2.0
"""Time that pages have to learn how the episode ended, in seconds."""


class WatchedRun:
    """A new run with one episode; `close` closes its record.

    Args:
        folder: Folder of the run.
        task: Id of the task.
        agent: Spec of the agent that acts until a person takes over, or `PERSON`.
        asked: Further values of `Settings`.

    Raises:
        ConfigError: The run cannot start; the message names every problem.
    """

    def __init__(self, folder: Path, task: str, agent: str, asked: Mapping[str, Any]) -> None:
        given = {**asked, "patterns": (task,), "agents": (agent,), "jobs": 1, "pool": 0}
        self.live = Live()
        self._store = start_run(folder, given, self._create)

    def _create(self, spec: str) -> Agent:
        agent = None if spec == PERSON else registry.create(spec)
        return SharedControl(agent, self.live, spec)

    async def play(self, listening: socket.socket, tell: Callable[[str], None]) -> None:
        """Serve the page, play the episode, and write results and report.

        Args:
            listening: Socket that listens; its owner closes it.
            tell: Called with the address of the page and with what is built.
        """
        settings, token, ending = read_settings(self._store), new_token(), asyncio.Event()
        address = address_of(listening, tls=False).replace("ws://", "http://")
        name = socket.gethostname().lower()
        if ipaddress.ip_address(listening.getsockname()[0]).is_unspecified:
            address = f"http://{name}:{listening.getsockname()[1]}"
        app = WatchApp(self.live, token, frozenset(("localhost", name)))
        unrunnable = await to_thread(build_images, settings.tasks, tell)
        serving = asyncio.create_task(serve(app, listening, ending, ServerBounds()))
        tell(f"open {address}/#{token}")
        try:
            await evaluate(
                self._store,
                settings,
                progress=_Shown(self.live),
                unrunnable=unrunnable,
                create=self._create,
            )
            await asyncio.sleep(_PARTING_S)
        finally:
            ending.set()
            await asyncio.gather(serving, return_exceptions=True)
        write_results(build_results(self._store), self._store.folder / "results.json")
        write_report(self._store, self._store.folder / "report.html")

    def close(self) -> None:
        """Close the record."""
        self._store.close()


class _Shown:
    """A Progress that pages show."""

    def __init__(self, live: Live) -> None:
        self._live, self._steps = live, 0

    def __enter__(self) -> _Shown:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def plan(self, episodes: Sequence[EpisodeRow]) -> None:
        """Do nothing: there is one episode."""

    def begin(self, episode: EpisodeRow) -> None:
        """Count its steps from one."""
        self._steps = 0

    def step(self, episode: EpisodeRow, step: Step) -> None:
        """Show a step."""
        self._steps += 1
        self._live.step(self._steps, step)

    def end(self, episode: EpisodeRow, verdict: Verdict, error: str) -> None:
        """Show the verdict."""
        self._live.end(verdict, error)
