"""The part that every surface over live services shares: it holds them and has no state."""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.errors import SurfaceError
from agentgym.protocols import Services
from agentgym.records import Json, Observation


class AttachedServices:
    """A surface's hold on the live services of one episode, which keep all state themselves.

    Args:
        name: Name of the surface.
        services: Services of the episode.
    """

    def __init__(self, name: str, services: Services) -> None:
        self._name = name
        self._services: Services | None = services

    async def observe(self) -> Observation:
        """Return an empty observation: services show something only after a call."""
        self._live()
        return Observation("")

    async def save(self) -> Mapping[str, Json]:
        """Return an empty mapping: the services hold all state."""
        return {}

    async def load(self, state: Mapping[str, Json]) -> None:
        """Do nothing: the services hold all state."""

    async def anchor(self) -> str:
        """Return the hash of the services' state."""
        return self._live().hash

    async def close(self) -> None:
        """Release the services."""
        self._services = None

    def _live(self) -> Services:
        if self._services is None:
            raise SurfaceError(f"the {self._name} surface is closed; attach another one")
        return self._services
