"""What an agent acts through, and the services and the place that it acts on."""

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
        """Its media type."""
        ...


class Services(Protocol):
    """The live services of an episode, whoever calls them."""

    @property
    def waits(self) -> bool:
        """Whether they wait for another process, so that calls belong in a thread."""
        ...

    @property
    def now(self) -> str:
        """The logical time, ISO 8601 in UTC."""
        ...

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool; what goes wrong is in the reply and in the audit."""
        ...

    def picture(self, name: str) -> Picture | None:
        """Return the image of a name such as ``image:0123456789ab``, None where there is none."""
        ...

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """Where an episode happens: what surfaces attach to.

    Attributes:
        sandbox: The computer; one without files and commands where the environment has none.
        services: The stateful services, None where the environment has none.
    """

    sandbox: Sandbox
    services: Services | None = None


class Surface(Protocol):
    """What an agent can do and see. Offered by the entry points `agentgym.surfaces`.

    Attributes:
        name: Under which it is offered.
        pictures: Whether its observations may have an image.
    """

    name: str
    pictures: bool

    async def open(self, site: Site) -> None:
        """Attach to where the episode happens."""
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
        """Return the surface's part of a fork."""
        ...

    async def load(self, state: Mapping[str, Json]) -> None:
        """Take over a saved part after `open`."""
        ...

    async def close(self) -> None:
        """Let go of the site. Never raises."""
        ...


SurfaceFactory: TypeAlias = Callable[[SurfaceConfig], Surface]
"""Makes a surface, whose tools are then known."""
