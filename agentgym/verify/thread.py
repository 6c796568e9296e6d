"""Threads of their own for what judges: checks' answers, and a judge that may never answer.

Not the loop's executor: its few threads would all wait for rooms, which a provider may need that
executor to start, and a call that never ends would keep the process from ending.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def threaded(function: Callable[[], T]) -> concurrent.futures.Future[T]:
    """Run a function on a thread of its own."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    outcome.set_running_or_notify_cancel()
    # As asyncio.to_thread does: whoever watches this grading watches its checks too.
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            outcome.set_exception(error)

    threading.Thread(target=work, name="agentgym-grading", daemon=True).start()
    return outcome


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a thread of its own, and wait for it on the loop."""
    return asyncio.wrap_future(threaded(function))
