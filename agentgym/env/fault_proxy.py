"""The services as surfaces reach them: what the world does to calls, it does to theirs too.

A call that an agent makes is struck by faults on its way to the surface (`Dynamics.call`). One
that a surface makes by itself, because a program or a script asks for it, is counted and struck
here, as a call of the same tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agentgym.env.fault import InjectedFault
from agentgym.protocols import Picture, Services
from agentgym.records import Actor, Json, Reply


class FaultInjector(Protocol):
    """Who knows what strikes a call."""

    acting: str

    def next_fault(self, tool: str) -> InjectedFault | None:
        """Count one more call of a tool and return what strikes it."""
        ...

    def note_fault(self, injected: InjectedFault) -> str:
        """Take down that a fault has struck, and return its message."""
        ...


class FaultProxy:
    """Services of a world with faults.

    Args:
        services: The live services.
        world: Decides which calls are struck.
    """

    def __init__(self, services: Services, world: FaultInjector) -> None:
        self._services, self._injector = services, world

    @property
    def waits(self) -> bool:
        """Whether they wait for another process."""
        return self._services.waits

    @property
    def now(self) -> str:
        """The logical time, ISO 8601 in UTC."""
        return self._services.now

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        return self._services.hash

    def picture(self, name: str) -> Picture | None:
        """Return the image of a name, None where there is none."""
        return self._services.picture(name)

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool, unless a fault strikes; only calls of the agent are struck."""
        if actor != "agent" or tool == self._injector.acting:
            return self._services.call(tool, arguments, actor)
        injected = self._injector.next_fault(tool)
        if injected is None:
            return self._services.call(tool, arguments, actor)
        executed = injected.fault.is_executed
        true = self._services.call(tool, arguments, actor) if executed else None
        return injected.reply(true, self._injector.note_fault(injected))
