"""Protocols of surfaces, through which an agent acts, and of the services behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from agentgym.protocols.sandboxes import Sandbox
from agentgym.records import Action, Actor, Json, Observation, Reply, SurfaceConfig, ToolSpec


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

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """The sandbox and services of an episode, to which surfaces attach.

    Attributes:
        sandbox: The computer; without files and commands if the environment has no computer.
        services: The stateful services, None if the environment has no services.
    """

    sandbox: Sandbox
    services: Services | None = None


class Surface(Protocol):
    """A set of tools and observations. The entry points `agentgym.surfaces` offer implementations.

    Attributes:
        name: Name of its entry point.
        pictures: Whether its observations may have an image.
    """

    name: str
    pictures: bool

    async def open(self, site: Site) -> None:
        """Attach to the episode's site."""
        ...

    def tools(self) -> Sequence[ToolSpec]:
        """Return the tools in a stable order."""
        ...

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call. Failures of the guest are observations, not errors."""
        ...

    async def observe(self) -> Observation:
        """Return the present view without acting."""
        ...

    async def save(self) -> Mapping[str, Json]:
        """Return the surface's state for a fork."""
        ...

    async def load(self, state: Mapping[str, Json]) -> None:
        """Restore a saved state after `open`."""
        ...

    async def close(self) -> None:
        """Detach from the site. Never raises."""
        ...


SurfaceFactory: TypeAlias = Callable[[SurfaceConfig], Surface]
"""Creates a surface, whose tools are then known."""
