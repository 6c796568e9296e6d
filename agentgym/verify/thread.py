"""Separate threads for grading: for checks, and for a judge that may never answer.

The loop's default executor is not used. Its few threads could all wait for rooms, and a provider
may need that executor to start a room. A call that never ends would also keep the process alive.
Here a call never waits for another one: it gets an idle thread, or else a new one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

T = TypeVar("T")
_Inbox: TypeAlias = "SimpleQueue[Callable[[], None]]"

_MOST_IDLE = 32
_idle: deque[_Inbox] = deque()


def threaded(function: Callable[[], T]) -> concurrent.futures.Future[T]:
    """Run a function on a thread of its own."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    outcome.set_running_or_notify_cancel()
    # As asyncio.to_thread does: context variables of this grading apply to its checks too.
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            outcome.set_exception(error)

    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        thread = threading.Thread(target=_serve, args=(inbox,), name="agentgym-grading")
        thread.daemon = True
        thread.start()
    inbox.put(work)
    return outcome


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a thread of its own and await its result on the loop."""
    return asyncio.wrap_future(threaded(function))


def _serve(inbox: _Inbox) -> None:
    while True:
        inbox.get()()
        if len(_idle) >= _MOST_IDLE:
            return
        _idle.append(inbox)


# The idle threads do not exist in a fork of the host.
os.register_at_fork(after_in_child=_idle.clear)
