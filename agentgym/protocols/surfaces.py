"""Protocols of surfaces, through which an agent acts, and of the services behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from socket import socket
from typing import Any, Protocol, TypeAlias, runtime_checkable

from agentgym.protocols.sandboxes import Sandbox
from agentgym.records import (
    Action,
    Actor,
    Audit,
    Json,
    Observation,
    ObservationLimits,
    Reply,
    SurfaceConfig,
    ToolSpec,
)

ASGIMessage: TypeAlias = MutableMapping[str, Any]
"""A scope or an event of ASGI 3, as https://asgi.readthedocs.io describes them."""

ASGIApplication: TypeAlias = Callable[
    [ASGIMessage, Callable[[], Awaitable[ASGIMessage]], Callable[[ASGIMessage], Awaitable[None]]],
    Awaitable[None],
]
"""A web application: ``await application(scope, receive, send)``."""


class Picture(Protocol):
    """An image file that a tool returned."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        ...

    @property
    def mime(self) -> str:
        """Media type of the file."""
        ...


class Services(Protocol):
    """The live services of an episode, for all callers."""

    @property
    def waits(self) -> bool:
        """Whether they wait for another process, so that calls belong in a thread."""
        ...

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC."""
        ...

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool; the reply and the audit hold its errors."""
        ...

    def picture(self, name: str) -> Picture | None:
        """Return the image of a name such as ``image:0123456789ab``; None if it does not exist."""
        ...

    def keep_picture(self, data: bytes, mime: str) -> str:
        """Keep an image file for calls that name it, and return its name.

        Raises:
            ServiceError: There is no room for it, or the services take no images.
        """
        ...

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        ...


@dataclass(frozen=True, slots=True)
class Sites:
    """The web sites of an episode, all of them one application on the host.

    Attributes:
        application: Answers the requests for every host; `Host` tells which site is meant.
        hosts: Names under which the sites are reached, without a port. Requests for other hosts
            never reach the application.
        start: URL of the page that a browser opens first.
        version: What tells their answers from those of other sites, if they are the same in every
            episode; empty if they depend on the episode.
        connect: Returns a socket to the program behind a host, for WebSockets; None for a host that
            is no program. It raises SandboxError if the program does not listen. It is None if no
            site is a program.
    """

    application: ASGIApplication
    hosts: frozenset[str]
    start: str
    version: str = ""
    connect: Callable[[str], Awaitable[socket | None]] | None = None


@dataclass(frozen=True, slots=True)
class SurfaceContext:
    """The computer, the services and the web sites of an episode, for its surfaces.

    Attributes:
        sandbox: The computer; without files and commands if the environment has no computer.
        services: The stateful services, None if the environment has no services.
        sites: The web sites, None if the environment has no sites.
        seed: Seed of the episode.
        alone: Whether a process that episodes usually share serves this one only, so that the
            episode is to blame if that process ends.
    """

    sandbox: Sandbox
    services: Services | None = None
    sites: Sites | None = None
    seed: int = 0
    alone: bool = False


class Surface(Protocol):
    """The tools and the view of one agent in one episode. Made by `SurfaceKind.attach`."""

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call. Failures of the guest are observations, not errors."""
        ...

    async def observe(self) -> Observation:
        """Return the present view without acting.

        It stands below the instruction in the first observation. A surface that has nothing to
        show before the agent acts returns an empty observation.
        """
        ...

    async def save(self) -> Mapping[str, Json]:
        """Return the surface's part of a fork.

        Raises:
            UnsupportedError: The surface cannot be forked; the message says why.
        """
        ...

    async def load(self, state: Mapping[str, Json]) -> None:
        """Take over what another surface of this kind has saved."""
        ...

    async def close(self) -> None:
        """Let go of what it attached to. Never raises; may be called twice."""
        ...


@runtime_checkable
class AuditedSurface(Protocol):
    """A surface that keeps an audit of its own, and may end the episode; both are optional."""

    @property
    def ended(self) -> bool:
        """Whether the world behind the surface has ended the episode, which is then judged."""
        ...

    def audit(self) -> Audit:
        """Return what was noted out of the agent's reach, also after `close`."""
        ...


@runtime_checkable
class FinishingSurface(Protocol):
    """A surface that has something to do between the agent's last action and the verdict."""

    async def finish(self) -> None:
        """Bring what programs hold in memory to where checks look; called once at most.

        What the agent's programs do meanwhile is the agent's doing, so an error is ignored.
        """
        ...


@runtime_checkable
class AnchoredSurface(Protocol):
    """A surface whose state has a hash, so that an episode can be forked by repeating its actions.

    A surface without state returns the same hash always.
    """

    async def anchor(self) -> str:
        """Return a hash of all that an agent can see; equal states have equal hashes."""
        ...


class SurfaceKind(Protocol):
    """A way to act, shared by all episodes of an environment.

    Offered by the entry points `agentgym.surfaces`, which make one from a `SurfaceConfig`. The
    kind holds what episodes share, such as a warm browser; what belongs to one episode is in the
    `Surface` that `attach` returns. A kind that shows web sites has an attribute `uses_sites` that
    is True; the sites of an environment are loaded only then. A kind whose calls may change what
    outlives an episode, such as a service on another machine, has an attribute `reaches_out`
    that is True; agentgym executes such calls again only if a user asks for it.

    Attributes:
        name: Under which it is offered.
        limits: Largest size of an observation of its surfaces.
    """

    name: str
    limits: ObservationLimits

    def tools(self) -> Sequence[ToolSpec]:
        """Return the tools in a stable order; known before `open`."""
        ...

    async def open(self) -> None:
        """Start what the episodes share; called once, before the first `attach`."""
        ...

    async def attach(self, context: SurfaceContext) -> Surface:
        """Return a new surface that acts in one episode."""
        ...

    async def close(self) -> None:
        """End what the episodes share; all surfaces are closed by then. Never raises."""
        ...


SurfaceFactory: TypeAlias = Callable[[SurfaceConfig], SurfaceKind]
"""The type of an entry point of `agentgym.surfaces`."""
