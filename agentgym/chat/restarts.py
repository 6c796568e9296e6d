"""Requests to a server that ended in the middle of one: they wait until it is back, and take turns.

A text can make a server of models end. It breaks off the requests of all episodes, and would break
them off again after each restart. Asked one at a time, it fails at this text alone.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

RESTART_S: Final = 60.0
"""Seconds for which a server that has been reached before is tried again."""

_AGAIN_S: Final = 0.5
_LOOK_S: Final = 0.05

# Judges ask on event loops of their own.
_turns: Final[defaultdict[str, threading.Lock]] = defaultdict(threading.Lock)


class Restart:
    """The end of a server, as the requests of one client have seen it since the last reply.

    Args:
        url: The address of the server.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._seen = False
        self._since_s: float | None = None

    async def wait(self) -> bool:
        """Wait a little because the server is gone; return False if it is gone for too long."""
        now_s = asyncio.get_running_loop().time()
        self._seen, self._since_s = True, self._since_s or now_s
        if now_s - self._since_s > RESTART_S:
            return False
        await asyncio.sleep(_AGAIN_S)
        return True

    def note(self, *, broke_off: bool) -> None:
        """Take down that the server was reached.

        Args:
            broke_off: Whether it gave no answer, so that it may have ended.
        """
        self._since_s = None
        self._seen |= broke_off

    def forget(self) -> None:
        """Take down that the server has replied."""
        self._seen, self._since_s = False, None

    @asynccontextmanager
    async def turn(self, deadline: asyncio.Timeout) -> AsyncIterator[None]:
        """Let a request that may have ended the server wait for others of this kind.

        Args:
            deadline: Deadline of the request; the wait does not count.
        """
        if not self._seen:
            yield
            return
        lock, time_s = _turns[self._url], asyncio.get_running_loop().time
        began_s, until_s = time_s(), deadline.when()
        deadline.reschedule(None)
        while not lock.acquire(blocking=False):
            await asyncio.sleep(_LOOK_S)
        try:
            if until_s is not None:
                deadline.reschedule(until_s + time_s() - began_s)
            yield
        finally:
            lock.release()
