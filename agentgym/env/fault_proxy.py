"""Services with faults: a proxy that injects faults into calls of surfaces.

`Dynamics.call` injects faults into calls of the agent on their way to the surface. This proxy
counts the calls that a surface makes on its own, because a program or a script requests them, and
injects faults into them as into any call of the same tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agentgym.env.fault import InjectedFault
from agentgym.protocols import Picture, Services
from agentgym.records import Actor, Json, Reply


class FaultInjector(Protocol):
    """Decides which fault to inject into a call."""

    acting: str

    def next_fault(self, tool: str) -> InjectedFault | None:
        """Count one more call of a tool and return the fault to inject, if any."""
        ...

    def note_fault(self, injected: InjectedFault) -> str:
        """Record an injected fault, and return its message."""
        ...


class FaultProxy:
    """Services with injected faults.

    Args:
        services: The live services.
        world: Decides into which calls faults are injected.
    """

    def __init__(self, services: Services, world: FaultInjector) -> None:
        self._services, self._injector = services, world

    @property
    def waits(self) -> bool:
        """Whether the services wait for another process."""
        return self._services.waits

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC."""
        return self._services.now

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        return self._services.hash

    def picture(self, name: str) -> Picture | None:
        """Return the image of a name, None if the image does not exist."""
        return self._services.picture(name)

    def keep_picture(self, data: bytes, mime: str) -> str:
        """Keep an image for calls that name it, and return its name."""
        return self._services.keep_picture(data, mime)

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool, unless a fault is injected; only the agent's calls can have faults."""
        if actor != "agent" or tool == self._injector.acting:
            return self._services.call(tool, arguments, actor)
        injected = self._injector.next_fault(tool)
        if injected is None:
            return self._services.call(tool, arguments, actor)
        executed = injected.fault.is_executed
        true = self._services.call(tool, arguments, actor) if executed else None
        return injected.reply(true, self._injector.note_fault(injected))
