"""Separate threads for grading: for checks, and for a judge that may never answer.

A thread cannot be stopped. What it waits for can be: a coroutine that it runs with
`run_cancellable` is cancelled once the task that waits for the thread is.

The number of these threads has no bound, because a thread may wait for a room or a judge for
minutes while others could go on. They are reused, and none of them keeps the process alive.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

T = TypeVar("T")

_IDLE_S: Final = 30.0
"""Seconds after which a thread without work ends."""


class GradingThreads:
    """Daemon threads that are started on demand and reused; any thread may use them."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)

    def begin(self, function: Callable[[], T]) -> concurrent.futures.Future[T]:
        """Run a function on a thread that does nothing else meanwhile."""
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        outcome.set_running_or_notify_cancel()
        # As asyncio.to_thread does: context variables of this grading apply to its checks too.
        context = contextvars.copy_context()

        def work() -> None:
            try:
                outcome.set_result(context.run(function))
            except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                outcome.set_exception(error)

        self._work.put(work)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, name="agentgym-grading", daemon=True).start()
        return outcome

    def _serve(self) -> None:
        while True:
            try:
                self._work.get(timeout=_IDLE_S)()
            except queue.Empty:
                # Without a token, `begin` counts on this thread: its work comes at once.
                if self._idle.acquire(blocking=False):
                    return
            else:
                self._idle.release()


_threads = GradingThreads()
# A fork inherits the object, but none of its threads.
os.register_at_fork(after_in_child=_threads.__init__)  # type: ignore[misc]

threaded = _threads.begin


class Cancellation:
    """Tells what a thread waits for that its result is not wanted any more; safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._calls: list[Callable[[], object]] = []

    def cancel(self) -> None:
        """Make the calls that are registered, and each later one at once."""
        with self._lock:
            self._cancelled = True
            for call in self._calls:
                call()

    @contextmanager
    def calling(self, call: Callable[[], object]) -> Iterator[None]:
        """Register a call for the time of a block; the call must return at once."""
        with self._lock:
            if self._cancelled:
                call()
            self._calls.append(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)


_cancellation: ContextVar[Cancellation | None] = ContextVar("_cancellation", default=None)


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a grading thread and await its result on the loop.

    If the future is cancelled, the function goes on without a caller, and what it runs with
    `run_cancellable` is cancelled.
    """
    cancellation = Cancellation()
    token = _cancellation.set(cancellation)
    try:
        future = asyncio.wrap_future(threaded(function))
    finally:
        _cancellation.reset(token)
    future.add_done_callback(lambda done: cancellation.cancel() if done.cancelled() else None)
    return future


def run_cancellable(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a thread that `in_thread` or `threaded` started, and return its result.

    Raises:
        asyncio.CancelledError: The task that waits for the thread was cancelled.
    """
    cancellation = _cancellation.get()

    async def run() -> T:
        if cancellation is None:
            return await coroutine
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with cancellation.calling(lambda: loop.call_soon_threadsafe(task.cancel)):
            return await coroutine

    return asyncio.run(run())
