"""Runs the asynchronous engine for synchronous callers: one event loop per process.

The loop runs in a daemon thread, so it works inside notebooks and beside other loops. The first
call starts it: a process that has made no call yet can still fork safely.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  # ends after what is registered later
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

CLEAN_UP_S: Final = 10.0
_SIGNAL_S: Final = 1.0


class Portal:
    """Runs coroutines on one background event loop; `portal` returns the one of the process."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._started: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine to its end and return its result.

        Ctrl-C cancels the coroutine and lets it clean up before KeyboardInterrupt is raised here.

        Example:
            >>> portal().run(asyncio.sleep(0, "result"))
            'result'

        Args:
            work: The coroutine.
            timeout_s: Seconds after which it is cancelled; None for no limit.

        Raises:
            TimeoutError: The time limit passed, and the coroutine was cancelled.
            RuntimeError: The call would wait for itself, or comes from a forked process.
        """
        try:
            loop = self._ready()
        except RuntimeError:
            work.close()
            raise
        if timeout_s is not None:
            work = _within(work, timeout_s)
        tasks: list[asyncio.Task[T]] = []
        ended = threading.Event()

        def start() -> None:
            tasks.append(loop.create_task(work))
            tasks[0].add_done_callback(lambda _: ended.set())

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # the interruption came before the start
                work.close()
                ended.set()

        try:
            loop.call_soon_threadsafe(start)
            # A signal just before a wait begins is only seen when the wait ends.
            while not ended.wait(_SIGNAL_S):
                pass
        except BaseException:  # only an interruption of this thread can end the wait early
            loop.call_soon_threadsafe(cancel)
            ended.wait(CLEAN_UP_S)
            raise
        return tasks[0].result()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Schedule a coroutine if a loop is still running.

        This neither waits nor raises: the garbage collector may call it, in any thread.
        """

        def begin() -> None:
            task = asyncio.ensure_future(work())
            self._started.add(task)  # else the garbage collector could take the task
            task.add_done_callback(self._started.discard)

        if self._loop is not None and not self.closed:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(begin)

    @property
    def closed(self) -> bool:
        """Whether the portal no longer runs: the process is ending, or is a fork of the owner."""
        return self._pid != os.getpid() or self._stop.is_set()

    def at_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Register a function to call when the process ends; the last one registered runs first."""
        self._closers.append(close)

    def close(self) -> None:
        """Call the registered functions and end the loop; only needed at the end of a process."""
        if self._thread is not None and self._loop is not None and not self.closed:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(CLEAN_UP_S)

    def _ready(self) -> asyncio.AbstractEventLoop:
        """Return the loop, and start it if needed."""
        if self._pid != os.getpid():
            raise RuntimeError(
                f"this environment belongs to process {self._pid} and was used in its fork "
                f"{os.getpid()}: make an environment in the process that steps it"
            )
        if self._stop.is_set():
            raise RuntimeError("the process is ending: everything in its sandboxes is gone")
        if self._loop is not None and threading.current_thread() is not self._thread:
            return self._loop
        if self._thread is threading.current_thread():
            raise RuntimeError(
                "a synchronous environment was called from agentgym's own event loop, which "
                "would wait for itself: await an agentgym.Environment there"
            )
        with self._starting:
            if self._loop is None:
                started: Future[asyncio.AbstractEventLoop] = Future()
                self._thread = threading.Thread(
                    target=asyncio.run, args=[self._serve(started)], name="agentgym", daemon=True
                )
                self._thread.start()
                self._loop = started.result()
                # An atexit handler would run after thread pools are shut down, which closing may
                # need, and not at all in children of multiprocessing.
                threading._register_atexit(self.close)  # type: ignore[attr-defined]
        return self._loop

    async def _serve(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        async with AsyncExitStack() as stack:
            for close in self._closers:
                stack.push_async_callback(close)


async def _within(work: Coroutine[Any, Any, T], timeout_s: float) -> T:
    async with asyncio.timeout(timeout_s):
        return await work


_portal: Portal | None = None


def portal() -> Portal:
    """Return the portal of this process; a forked process gets its own."""
    global _portal
    if _portal is None:
        _portal = Portal()
    return _portal


def _forget() -> None:
    global _portal
    _portal = None


os.register_at_fork(after_in_child=_forget)
