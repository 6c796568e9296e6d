"""Threads for calls that would block the event loop: files, daemons, databases, services.

Each kind of call has a few threads of its own, so that slow calls of one kind never wait for
those of another. The event loop's default executor is left to the program that owns the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_FILE_THREADS: Final = 32
"""Most of these calls wait for a disk or a daemon, not for the interpreter's lock."""


class Threads:
    """A bounded number of threads for one kind of call; the first call starts them.

    Args:
        count: Largest number of threads.
        name: Start of their names.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._executor: ThreadPoolExecutor | None = None
        _all.add(self)

    async def run(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Make a call on a thread and wait for it, as `asyncio.to_thread` does.

        A cancelled caller does not wait; the call goes on.
        """
        return await self._begun(functools.partial(call, *args, **named))

    async def finish(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Make a call on a thread and wait for it; a cancelled caller also waits for its end.

        No part of the call thus happens after what the caller does next.
        """
        running = self._begun(functools.partial(call, *args, **named))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait({running})
            raise

    def close(self) -> None:
        """Wait for the calls in progress and end the threads; a later call starts new ones."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()

    def _begun(self, call: Callable[[], T]) -> asyncio.Future[T]:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._count, thread_name_prefix=self._name)
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._executor, context.run, call)

    def _forget(self) -> None:
        self._executor = None


_all: weakref.WeakSet[Threads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in _all:
        threads._forget()


# A fork inherits the executors, but none of their threads.
os.register_at_fork(after_in_child=_forget_all)

FILES: Final = Threads(_FILE_THREADS, "agentgym-files")
"""For calls that wait for files, other processes or a daemon."""

COMPUTING: Final = Threads(4, "agentgym-computing")
"""For calls that compute in this process; more threads would only share the interpreter's lock."""

to_thread: Final = FILES.run
