"""Limits how many gradings and looks at milestones run at a time, so that none runs out of time.

Their deadlines are wall times. If the 256 episodes of a process ended together and all gradings
began at once, sound checks would miss these deadlines. So a grading waits for its turn first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakKeyDictionary

AT_A_TIME: Final = 4 * (os.cpu_count() or 1)
"""More than processors, because clean rooms take time to start."""


class Turns:
    """Gives a limited number of turns at a time on each event loop."""

    def __init__(self, count: int = AT_A_TIME) -> None:
        self._count = count
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Callable[[], None]]:
        """Wait for a turn; yield a function that ends it early."""
        loop = asyncio.get_running_loop()
        free = self._free.setdefault(loop, asyncio.Semaphore(self._count))
        await free.acquire()
        held = [free]

        def end() -> None:
            if held:
                held.pop().release()

        try:
            yield end
        finally:
            end()


GRADINGS: Final = Turns()
LOOKS: Final = Turns()
"""Apart from gradings, which may take a minute."""
