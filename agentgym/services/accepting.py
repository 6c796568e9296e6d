"""A uvicorn server that goes on when its process has no descriptor left for a connection.

asyncio accepts up to `backlog` connections at a time. Without a descriptor it logs each failure and
plans a retry for each, so that a large backlog multiplies the retries and fills the log.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from agentgym.installation import missing_extra

try:
    import uvicorn
except ImportError as error:
    raise missing_extra("uvicorn", "server") from error

ACCEPTED_AT_ONCE: Final = 1
"""The `backlog` of uvicorn's configuration."""

_QUEUED: Final = 128
"""Largest number of connections that wait in the kernel."""

_TOLD_S: Final = 60.0
"""Shortest time in seconds between two warnings."""

_log = logging.getLogger(__name__)


class AcceptingServer(uvicorn.Server):
    """A server that leaves signals to its caller, because running episodes are recorded first.

    Its configuration has the backlog `ACCEPTED_AT_ONCE`.
    """

    _told_s = -_TOLD_S

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: the caller handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_QUEUED)  # The backlog has set this number, too.
        asyncio.get_running_loop().set_exception_handler(self._tell)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections."""
        try:
            await super().shutdown(sockets)
        finally:
            asyncio.get_running_loop().set_exception_handler(None)

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif time.monotonic() - self._told_s >= _TOLD_S:
            self._told_s = time.monotonic()
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            _log.warning(
                "warning: %s; new connections wait until others end. This process may have %d "
                "open files: allow more with ulimit -n, or offer fewer sessions",
                *(error.strerror, limit),
            )
