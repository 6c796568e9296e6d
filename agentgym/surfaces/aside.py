"""Calls of services beside the event loop, on threads that nothing else waits for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

_THREADS: Final = 4
"""More would only share the interpreter's lock; sandboxes have the loop's own threads."""

_executor: ThreadPoolExecutor | None = None


def _forget() -> None:
    global _executor
    _executor = None


# A fork takes the executor along, and none of its threads.
os.register_at_fork(after_in_child=_forget)


async def aside(call: Callable[[], T]) -> T:
    """Make a call on another thread and wait for it; other episodes go on meanwhile.

    Whoever is cancelled waits all the same until the call has ended, which its budget bounds:
    nothing of it may happen after the step that it belongs to.
    """
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="agentgym-services")
    running = asyncio.get_running_loop().run_in_executor(_executor, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
