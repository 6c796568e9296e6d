"""Work on a sandbox that goes on to its end when its caller is cancelled.

A guest that is frozen meanwhile must continue even then, and a result that the caller does not
take must not stay on the host.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_WITHDRAWALS: Final[set[asyncio.Task[None]]] = set()
"""Withdrawals under way; the event loop itself holds tasks only weakly."""


async def carried_through(
    work: Coroutine[Any, Any, T], withdraw: Callable[[T], Awaitable[object]] | None = None
) -> T:
    """Return the result of work that a cancelled caller leaves to itself.

    Args:
        work: The work.
        withdraw: Undoes a result that the caller does not get, because it was cancelled.
    """
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        withdrawal = asyncio.ensure_future(_withdrawn(running, withdraw))
        _WITHDRAWALS.add(withdrawal)
        withdrawal.add_done_callback(_WITHDRAWALS.discard)
        raise


async def _withdrawn(
    running: asyncio.Future[T], withdraw: Callable[[T], Awaitable[object]] | None
) -> None:
    # The sandbox may be closed by now, and the caller is gone.
    with contextlib.suppress(Exception):
        result = await running
        if withdraw is not None:
            await withdraw(result)
