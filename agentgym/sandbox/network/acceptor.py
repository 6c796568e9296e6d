"""Accepts the connections of a guest, at most so many at a time; the others wait in its kernel."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any, Final

from agentgym.sandbox.network.stream import is_scarce

_RETRY_S: Final = 0.1
_NO_LINGER: Final = struct.pack("ii", 0, 0)
_log = logging.getLogger(__name__)


class Acceptor:
    """Serves a listening socket from now until `close`; made on the loop that serves it.

    Args:
        listener: The non-blocking listening socket; the acceptor closes it.
        serve: Serves one non-blocking connection, which is closed afterwards.
        most: Largest number of connections at a time.
    """

    def __init__(
        self,
        listener: socket.socket,
        serve: Callable[[socket.socket], Coroutine[Any, Any, None]],
        most: int,
    ) -> None:
        self._listener, self._serve, self._most = listener, serve, most
        self._serving: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False
        self._resume()

    async def close(self) -> None:
        """Close every connection and the listener, and wait until that is done. Never raises."""
        self._closed = True
        self._pause()
        self._listener.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    def _resume(self) -> None:
        self._pause()
        if not self._closed and len(self._serving) < self._most:
            self._loop.add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        """Stop accepting; new connections wait in the guest's kernel."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)

    def _rest(self) -> None:
        self._pause()
        self._retry = self._loop.call_later(_RETRY_S, self._resume)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:
            self._rest()
            return
        if is_scarce(connection):
            connection.close()
            self._rest()
            return
        connection.setblocking(False)
        # A guest can set up its listening socket so that closing an accepted connection blocks.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        task = asyncio.create_task(self._serve(connection))
        self._serving.add(task)
        task.add_done_callback(lambda done: self._served(connection, done))
        if len(self._serving) >= self._most:
            self._pause()

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        # Done here, because a task that is cancelled before its first step never runs.
        connection.close()
        self._serving.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("the proxy of a sandbox failed over one connection: %r", fault)
        if self._retry is None:
            self._resume()
