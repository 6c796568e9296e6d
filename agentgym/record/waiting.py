"""The thread on which live episodes are recorded; it waits while the disk is full."""

from __future__ import annotations

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

    async def finish(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Make a call as `Threads.finish` does, again and again while the disk is full.

        Args:
            call: Changes nothing if it raises a DiskFullError.
            args: Its arguments.
            named: Its named arguments.

        Raises:
            DiskFullError: The disk stays full.
        """

        def patiently() -> T:
            until_s = time.monotonic() + _FULL_S
            while True:
                try:
                    return call(*args, **named)
                except DiskFullError:
                    if time.monotonic() > until_s:
                        raise
                time.sleep(_PAUSE_S)

        return await super().finish(patiently)
