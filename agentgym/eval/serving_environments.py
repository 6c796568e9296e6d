"""Serves environments over WebSocket and HTTP until a signal; every episode is recorded then."""

from __future__ import annotations

import asyncio
import functools
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentgym import catalogue
from agentgym.env.remote import wire
from agentgym.errors import ConfigError
from agentgym.eval.serving import Tell, find_target, open_environments
from agentgym.eval.settings import read_settings
from agentgym.record.store import RunStore
from agentgym.session.accounts import Accounts
from agentgym.session.app import EnvironmentApp
from agentgym.session.bounds import ServerBounds
from agentgym.session.config import SessionConfig
from agentgym.session.listening import Certificate, address_of, serve
from agentgym.session.server import SessionServer
from agentgym.session.step_writer import RECORD_AFTER_S


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The terms of the sessions of an environment server; see `SessionConfig`.

    Attributes:
        seed: Seed of every episode; None lets clients choose.
        may_fork: Whether clients may fork episodes.
        tells: ``"nothing"``, ``"score"`` or ``"verdict"``.
        idle_s: Seconds without a call after which a session ends.
        session_s: Wall time of a session in seconds, None without a limit.
        call_s: Seconds until a call is answered with ``late``, None without a limit.
        episodes: Live episodes of a session.
        live: Live episodes of all sessions.
        sessions: Sessions that are not over.
    """

    seed: int | None = None
    may_fork: bool = True
    tells: str = "verdict"
    idle_s: float = 600.0
    session_s: float | None = None
    call_s: float | None = None
    episodes: int = 64
    live: int = 64
    sessions: int = 1_000


@dataclass(frozen=True, slots=True)
class EnvironmentServing:
    """The terms under which environments are served.

    Attributes:
        listening: Socket that listens.
        accounts: Who may use the server.
        terms: The terms of sessions.
        bounds: The bounds of connections.
        certificate: Certificate for TLS, None for plain connections.
    """

    listening: socket.socket
    accounts: Accounts
    terms: SessionTerms = field(default_factory=SessionTerms)
    bounds: ServerBounds = field(default_factory=ServerBounds)
    certificate: Certificate | None = None


def find_targets(names: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks with some names, each once; a name may be a glob such as ``tools/*``.

    Raises:
        NotFoundError: No task or environment has one of the names.
    """
    found: dict[str, None] = {}
    for name in names:
        several = catalogue.path_of(name) is None and any(c in name for c in "*?[")
        found.update(dict.fromkeys(catalogue.match_tasks(name) if several else [find_target(name)]))
    return tuple(found)


async def serve_environments(store: RunStore, serving: EnvironmentServing, tell: Tell) -> None:
    """Serve until SIGINT or SIGTERM; episodes that are not over then are recorded as interrupted.

    Args:
        store: The run, as opened by `open_run`.
        serving: The terms under which they are served.
        tell: Called with build progress, and the address.

    Raises:
        AgentGymError: A task is broken, or its image cannot be built.
    """
    settings, terms = read_settings(store), serving.terms
    if terms.tells not in ("nothing", "score", "verdict"):
        raise ConfigError(f"--tell: expected nothing, score or verdict, got {terms.tells!r}")
    ending, hurry = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        (hurry if ending.is_set() else ending).set()

    async with open_environments(store, tell) as environments:
        config = SessionConfig(
            environments,
            store,
            seed=terms.seed,
            may_fork=terms.may_fork,
            tell=terms.tells != "nothing",
            tell_verdicts=terms.tells == "verdict",
            timeout_s=settings.timeout_s,
            idle_s=terms.idle_s,
            session_s=terms.session_s,
            call_s=terms.call_s,
            max_episodes=terms.episodes,
            max_live=terms.live,
            max_sessions=terms.sessions,
            record_after_s=RECORD_AFTER_S,
        )
        app = EnvironmentApp(SessionServer(config), serving.accounts, serving.bounds)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        url = address_of(serving.listening, tls=serving.certificate is not None)
        tell(f"serving {len(environments)} tasks at {url} (WebSocket at {wire.PATH})")
        shown = "" if serving.accounts.are_open else ', server_token="…"'
        tell(f'in Python: agentgym.make("{next(iter(environments))}", server="{url}"{shown})')
        working = functools.partial(serve, app, serving.listening, ending, serving.bounds)
        served = asyncio.create_task(working(serving.certificate))
        hurrying = asyncio.create_task(hurry.wait())
        await asyncio.wait({served, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        hurrying.cancel()
        if not served.done():
            await app.cut_short()
        await served
