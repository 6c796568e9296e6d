"""The `services` surface: the tools of an environment's stateful services, called in process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from agentgym.errors import ConfigError, SurfaceError
from agentgym.protocols import Services, SurfaceContext
from agentgym.records import (
    Action,
    Effect,
    Image,
    Observation,
    Reply,
    SurfaceConfig,
    ToolSpec,
)
from agentgym.surfaces.aside import aside
from agentgym.surfaces.attached_services import AttachedServices
from agentgym.surfaces.selection import selected_tools
from agentgym.surfaces.truncation import LIMITS, bounded, bounded_data, pixels, readable


class ServicesKind:
    """The SurfaceKind `services`; episodes share nothing.

    Args:
        config: The service tools; the option `tools` selects some of them by globs.

    Raises:
        ConfigError: The environment has no services, an option is unknown, or a glob fits nothing.
    """

    name = "services"
    limits = LIMITS

    def __init__(self, config: SurfaceConfig) -> None:
        self._tools = chosen_tools(config, self.name)

    def tools(self) -> Sequence[ToolSpec]:
        """Return the tools of the services, in their order."""
        return self._tools

    async def open(self) -> None:
        """Do nothing: episodes share nothing."""

    async def attach(self, context: SurfaceContext) -> ServicesSurface:
        """Return a surface over the services of an episode.

        Raises:
            SurfaceError: The episode has no services.
        """
        if context.services is None:
            raise SurfaceError("surface 'services': the environment has no services")
        return ServicesSurface(context.services)

    async def close(self) -> None:
        """Do nothing: episodes share nothing."""


class ServicesSurface(AttachedServices):
    """A Surface over live services.

    Args:
        services: Services of one episode.
    """

    def __init__(self, services: Services) -> None:
        super().__init__("services", services)

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call; a refusal of the service is an observation."""
        # A call may take as long as its budget allows, and other episodes share the loop.
        services = self._live()
        return await aside(services, lambda: _called(services, action))


def _called(services: Services, action: Action) -> Observation:
    before = services.hash
    reply = services.call(action.tool, action.arguments)
    return observation_of(reply, services, changed=services.hash != before)


def observation_of(reply: Reply, services: Services, *, changed: bool) -> Observation:
    """Return the agent's observation of a reply.

    Args:
        reply: Reply of a service.
        services: Source of its pictures; the first one that can be shown is the image.
        changed: Whether the call changed the state.
    """
    if reply.error is not None:
        error = reply.error
        text = f"error: {error.code}: {error}"
        return Observation(bounded(text), data=json.loads(reply.json), effect=Effect.ERROR)
    return Observation(
        bounded(readable(reply.result)),
        image=first_picture(reply.images, services),
        data=bounded_data("result", reply.result),
        effect=Effect.CHANGED if changed else Effect.NO_CHANGE,
    )


def first_picture(names: Iterable[str], services: Services) -> Image | None:
    """Return the first named picture that can be shown, None if no picture can."""
    pictures = (services.picture(name) for name in names)
    shown = (pixels(picture.data) for picture in pictures if picture is not None)
    return next((picture for picture in shown if picture is not None), None)


def chosen_tools(config: SurfaceConfig, surface: str) -> tuple[ToolSpec, ...]:
    """Return the service tools that a surface offers, as its option `tools` selects them.

    Args:
        config: The tools and the options.
        surface: Name of the surface.

    Raises:
        ConfigError: The environment has no services, an option is unknown, or a glob fits nothing.
    """
    if not config.service_tools:
        raise ConfigError(f"surface {surface!r} needs services: add services = '…' to env.toml")
    return selected_tools(surface, config.service_tools, config.options)
