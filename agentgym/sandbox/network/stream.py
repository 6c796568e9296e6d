"""One TCP connection of the proxy: plain socket calls of asyncio without implicit buffers.

A sender waits until the kernel has accepted everything, so a slow reader slows its writer down,
and a proxied connection holds one chunk in each direction.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from agentgym.sandbox.network.journal import Attempt

CHUNK = 64 * 2**10
_LINGER_S = 2.0
_LINGER_BYTES = 2**20
_RESET = struct.pack("ii", 1, 0)


class Stream:
    """A connected non-blocking socket, and the bytes put back to be read again."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._ahead = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def receive(self) -> bytes:
        """Return the next bytes, b"" at the end. Raises OSError."""
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        # Neither this nor a send yields while the kernel is ready, but other tasks need a turn.
        await asyncio.sleep(0)
        return await self._loop.sock_recv(self._sock, CHUNK)

    async def receive_exactly(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises EOFError if the stream ends earlier."""
        data = b""
        while len(data) < size:
            more = await self.receive()
            if not more:
                raise EOFError(f"{len(data)} of {size} bytes")
            data += more
        self.put_back(data[size:])
        return data[:size]

    def put_back(self, data: bytes) -> None:
        """Make the next `receive` return these bytes first."""
        self._ahead = data + self._ahead

    async def send(self, data: bytes) -> None:
        """Send everything. Raises OSError."""
        await self._loop.sock_sendall(self._sock, data)

    def end(self) -> None:
        """Say that nothing more will be sent."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    async def finish(self) -> None:
        """End the stream, and wait a moment until the other side ends too.

        If this side closed while the other still sends, the kernel would drop unread data.
        """
        self.end()
        taken = 0
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while taken < _LINGER_BYTES and (data := await self.receive()):
                    taken += len(data)

    def reset(self) -> None:
        """Make `close` reset the connection, so that the other side sees an abnormal end."""
        with contextlib.suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()


@asynccontextmanager
async def idle_clock(idle_s: float) -> AsyncIterator[Callable[[], None]]:
    """Raise TimeoutError after `idle_s` without activity; call the yielded function on activity."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(idle_s) as timeout:

        def touch() -> None:
            if not timeout.expired():
                timeout.reschedule(loop.time() + idle_s)

        yield touch


async def relay(guest: Stream, host: Stream, attempt: Attempt, idle_s: float) -> None:
    """Pass bytes both ways until both sides end, one fails, or the connection is idle too long."""

    async def upward() -> None:
        while data := await guest.receive():
            await host.send(data)
            attempt.sent_bytes += len(data)
            touch()
        host.end()

    async def downward() -> None:
        while data := await host.receive():
            await guest.send(data)
            attempt.received_bytes += len(data)
            touch()
        guest.end()

    whole = False
    try:
        async with idle_clock(idle_s) as touch, asyncio.TaskGroup() as group:
            group.create_task(upward())
            group.create_task(downward())
        whole = True
    except* OSError:
        pass
    finally:
        if not whole:
            # The other side must not take unfinished data for complete data.
            guest.reset()
            host.reset()


def is_scarce(sock: socket.socket) -> bool:
    """Return whether this process has few descriptors left after it opened a socket.

    The kernel assigns the lowest free number, so a high number means that most are in use. A
    guest that opens as many as it can must not keep the next sandbox from starting.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit != resource.RLIM_INFINITY and sock.fileno() > limit * 3 // 4
