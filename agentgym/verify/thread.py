"""Separate threads for grading: for checks, and for a judge that may never answer.

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
from collections.abc import Callable
from typing import Final, TypeVar

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


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a grading thread and await its result on the loop."""
    return asyncio.wrap_future(threaded(function))
