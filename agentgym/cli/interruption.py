"""Commands that a user may stop with ctrl-c or SIGTERM, and that close what they opened."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

T = TypeVar("T")


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that SIGINT and SIGTERM cancel.

    Raises:
        KeyboardInterrupt: SIGINT cancelled it.
        asyncio.CancelledError: SIGTERM cancelled it.
    """

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        # asyncio.run does the same for SIGINT.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    return asyncio.run(cancellable())


@contextmanager
def stoppable(on_stop: Callable[[], None]) -> Iterator[None]:
    """Turn an interruption of the body into the exit code of its signal.

    Args:
        on_stop: Tells the user how to go on.

    Raises:
        typer.Exit: The body was stopped; the exit code is 130 (SIGINT) or 143 (SIGTERM).
    """
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError) as end:
        on_stop()
        stopped_by = signal.SIGINT if isinstance(end, KeyboardInterrupt) else signal.SIGTERM
        raise typer.Exit(128 + stopped_by) from None


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise CancelledError in the body, which then removes what it has made.

    It is for commands without an event loop, and has no effect beside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise asyncio.CancelledError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
