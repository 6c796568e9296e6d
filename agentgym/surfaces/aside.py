"""Calls services beside the event loop, on threads that nothing else waits for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

_THREADS: Final = 4
"""More threads would only share the interpreter's lock; sandboxes use the loop's own threads."""

_executor: ThreadPoolExecutor | None = None


def _forget() -> None:
    global _executor
    _executor = None


# A fork inherits the executor, but none of its threads.
os.register_at_fork(after_in_child=_forget)


async def aside(call: Callable[[], T]) -> T:
    """Make a call on another thread and wait for it; other episodes go on meanwhile.

    A cancelled caller still waits until the call has ended, so that no part of the call happens
    after the step that it belongs to. The budget of the call bounds this wait.
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
