"""The live services of an episode as their own parts see them: a service's methods, and dispatch.

`agentgym.services.backend.Backend` is what offers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from agentgym.records import Actor
from agentgym.services.audit import Audit
from agentgym.services.budget import Budget
from agentgym.services.functions import Function
from agentgym.services.image import Images
from agentgym.services.state import State


class FunctionSet(Protocol):
    """The tools of some services."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """The tools by name, ``<service>_<method>``."""
        ...


class LiveServices(Protocol):
    """State, clock, audit and lock of the services of one episode.

    Attributes:
        state: The database.
        audit: Every call so far.
        images: Image files that tools returned.
        budget: What a call may take.
        actor: Who makes the present call.
    """

    state: State
    audit: Audit
    images: Images
    budget: Budget
    actor: Actor

    @property
    def services(self) -> FunctionSet:
        """The services and their tools."""
        ...

    @property
    def instances(self) -> Mapping[str, Any]:
        """The service objects by name."""
        ...

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held during a call."""
        ...

    @property
    def now(self) -> str:
        """The logical time, ISO 8601 in UTC."""
        ...
