"""The event loop of a process that only serves: that of uvloop where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_serving(work: Coroutine[Any, Any, T]) -> T:
    """Run a server until it ends, as `asyncio.run` does, on the fastest loop that there is."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop: uvloop's, or that of asyncio on platforms without it."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
