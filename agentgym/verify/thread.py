"""Separate threads for grading: for checks, and for a judge that may never answer.

The loop's default executor is not used. Its few threads could all wait for rooms, and a provider
may need that executor to start a room. A call that never ends would also keep the process alive.
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
    """Run a function on a new thread."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    outcome.set_running_or_notify_cancel()
    # As asyncio.to_thread does: context variables of this grading apply to its checks too.
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            outcome.set_exception(error)

    threading.Thread(target=work, name="agentgym-grading", daemon=True).start()
    return outcome


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a new thread and await its result on the loop."""
    return asyncio.wrap_future(threaded(function))
