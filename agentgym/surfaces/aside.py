"""Makes calls of services beside the event loop, so that other episodes go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from agentgym.protocols import Services
from agentgym.threads import COMPUTING, FILES

T = TypeVar("T")


async def aside(services: Services, call: Callable[[], T]) -> T:
    """Make a call on another thread and wait for it.

    Services that wait for another process have threads apart, so that a slow one holds up no
    services that compute in this process.

    A cancelled caller still waits until the call has ended, so that no part of the call happens
    after the step that it belongs to. The budget of the call bounds this wait.

    Args:
        services: The services that the call is about.
        call: Makes it.
    """
    threads = FILES if services.waits else COMPUTING
    return await threads.finish(call)
