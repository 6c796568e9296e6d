"""The thread in which browsers are driven: one event loop for all callers of the process.

Playwright's objects belong to one event loop. Episodes live on loops of their own (a test's, a
notebook's, `agentgym.make`'s), and all of them share one Chromium: the engine has its own loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_END_S: Final = 10.0


class Engine:
    """An event loop in a daemon thread; `engine` returns the one of the process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="agentgym-browser", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine's loop; a cancelled caller cancels it."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine from the end of the process, within some seconds."""
        if not self._thread.is_alive() or self.pid != os.getpid():
            work.close()
            return
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            future.result(_END_S)
        except TimeoutError:
            future.cancel()


_engines: list[Engine] = []
_making = threading.Lock()


def engine() -> Engine:
    """Return the engine of this process, started at the first call."""
    with _making:
        if not _engines or _engines[-1].pid != os.getpid():
            _engines.append(Engine())
        return _engines[-1]


def at_exit(work: Any) -> None:
    """Have a function return the engine's last coroutine when the process ends."""
    atexit.register(lambda: engine().finish(work()))
