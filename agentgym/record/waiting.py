"""The thread on which live episodes are recorded; it waits while the disk is full."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from agentgym.errors import DiskFullError
from agentgym.threads import Threads

T = TypeVar("T")
P = ParamSpec("P")

_FULL_S = 30.0
"""Time for which a full disk is waited for: an agent that fills it is ended within a second."""

_PAUSE_S = 0.1


class RecordThread(Threads):
    """One thread for the calls that record episodes.

    The run and the sandboxes often share a disk. An agent that fills it would else end the whole
    evaluation before the watch of the disk ends the agent's sandbox.
    """

    def __init__(self) -> None:
        super().__init__(1, "agentgym-record")
        # Time until which calls wait, from the first one that found the disk full.
        self._until_s: float | None = None

    async def finish(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Make a call as `Threads.finish` does, again and again while the disk is full.

        The calls of the thread share the time for this. A cancelled caller does not wait for space.

        Args:
            call: Leaves the record as it was if it raises a DiskFullError: it makes one
                transaction, or its repetition finds what it has done.
            args: Its arguments.
            named: Its named arguments.

        Raises:
            DiskFullError: The disk stays full.
        """
        left = threading.Event()

        def patiently() -> T:
            while True:
                try:
                    done = call(*args, **named)
                except DiskFullError:
                    if self._until_s is None:
                        self._until_s = time.monotonic() + _FULL_S
                    if time.monotonic() > self._until_s or left.wait(_PAUSE_S):
                        raise
                else:
                    self._until_s = None
                    return done

        running = self._begun(patiently)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            left.set()
            await asyncio.wait({running})
            if not running.cancelled():
                running.exception()  # the caller is gone, so it is read here
            raise
