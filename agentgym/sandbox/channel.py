"""The host's end of the supervisor connection: framed requests, replies in any order.

`agentgym.sandbox.supervisor` describes the frame format. Every request has a deadline. When the
guest closes the connection, every request in flight fails with SandboxDiedError. The channel
reads the socket itself, because asyncio's transports drop the descriptors that come with data
(SCM_RIGHTS, unix(7)).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import marshal
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.errors import (
    GuestFileError,
    SandboxDiedError,
    SandboxError,
    SandboxLimitError,
    SandboxTimeoutError,
)

# The newest version of marshal that every guest Python understands.
_MARSHAL_VERSION = 2
_HEADER = struct.Struct(">II")
# A hostile supervisor must not make the host allocate without bound.
_MAX_FRAME = 256 * 2**20
MAX_BODY = _MAX_FRAME - 2**20
# Below the size from which the C library maps memory anew for every buffer.
_READ_BYTES = 64 * 2**10
# Requests wait while more bytes than this are on their way to the guest.
_HIGH_WATER = 64 * 2**10
_ONE_DESCRIPTOR = socket.CMSG_LEN(struct.calcsize("i"))
# One for the frame in the inbox and one for the next frame.
_MAX_ARRIVED = 2
_KINDS: dict[str, type[SandboxError]] = {"file": GuestFileError, "limit": SandboxLimitError}

Reply = tuple[dict[str, Any], bytes]


class Channel:
    """One connection to one supervisor."""

    def __init__(self, sock: socket.socket, name: str) -> None:
        self._sock, self._name = sock, name
        self._loop = asyncio.get_running_loop()
        self._inbox, self._outbox = bytearray(), bytearray()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        # Descriptors whose frame has not arrived, and those of requests that asked for one.
        self._arrived: deque[int] = deque()
        # The greeting (0) may bring a descriptor without a request.
        self._asked: dict[int, int | None] = {0: None}
        self._next = 1
        self._greeting: Reply | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        # Whether the loop calls `_flush` once the socket takes more.
        self._blocked = False
        self._closed = False
        self._on_close: Callable[[], None] | None = None

    @classmethod
    async def open(cls, sock: socket.socket, name: str) -> Channel:
        """Take over a connected socket."""
        sock.setblocking(False)
        channel = cls(sock, name)
        channel._loop.add_reader(sock, channel._receive)
        return channel

    def hello(self) -> asyncio.Future[Reply]:
        """Return the future of the supervisor's greeting (reply number 0)."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._greeting is not None:
            future.set_result(self._greeting)
        elif self._closed:
            future.set_exception(self._death())
        else:
            self._waiting[0] = future
        return future

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once, when the other end closes the connection."""
        self._on_close = callback

    def take_process(self) -> int | None:
        """Return the descriptor of the greeting, only once; the caller closes it."""
        return self._asked.pop(0, None)

    async def request(
        self, op: str, body: bytes = b"", *, timeout_s: float, **fields: object
    ) -> Reply:
        """Send one request and wait for its reply.

        Raises:
            SandboxDiedError: The supervisor closed the connection.
            SandboxTimeoutError: No reply within `timeout_s`.
            GuestFileError, SandboxLimitError, SandboxError: The supervisor refused.
        """
        return await self._exchange(self._number(), op, body, timeout_s, fields)

    async def request_socket(self, op: str, *, timeout_s: float, **fields: object) -> socket.socket:
        """Send one request and return the socket that comes with its reply.

        The caller must check the socket, because a guest can pass any descriptor.

        Raises:
            SandboxError: As `request`, or no socket came.
        """
        number = self._number()
        self._asked[number] = None
        try:
            await self._exchange(number, op, b"", timeout_s, fields)
            descriptor = self._asked[number]
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    passed = socket.socket(fileno=descriptor)
                    self._asked[number] = None
                    return passed
            raise SandboxError(f"sandbox {self._name} answered {op!r} without a socket")
        finally:
            _close(self._asked.pop(number))

    def close(self) -> None:
        """Close the connection; the supervisor ends the sandbox when it notices."""
        self._on_close = None
        self._end()

    # --- sending ---

    def _number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    async def _exchange(
        self, number: int, op: str, body: bytes, timeout_s: float, fields: Mapping[str, object]
    ) -> Reply:
        if self._closed:
            raise self._death()
        if len(body) > MAX_BODY:
            raise SandboxLimitError(
                f"{op!r} with {len(body)} bytes: at most {MAX_BODY} go in one request"
            )
        head = marshal.dumps({"id": number, "op": op, **fields}, _MARSHAL_VERSION)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(timeout_s):
                await self._writable.wait()
                self._write(_HEADER.pack(len(head), len(body)) + head + body)
                header, content = await future
        except TimeoutError:
            raise SandboxTimeoutError(
                f"sandbox {self._name} did not answer {op!r} within {timeout_s:g} s"
            ) from None
        finally:
            self._waiting.pop(number, None)
        if "error" in header:
            raise _KINDS.get(str(header.get("kind")), SandboxError)(str(header["error"]))
        return header, content

    def _write(self, data: bytes) -> None:
        if self._closed:
            return
        self._outbox += data
        if not self._blocked:
            self._flush()

    def _flush(self) -> None:
        try:
            # Send once, because the loop serves others too; the view avoids copies of a large rest.
            with memoryview(self._outbox) as view:
                done = self._sock.send(view)
            del self._outbox[:done]
        except BlockingIOError:
            pass
        except OSError:
            self._lose()
            return
        if self._blocked and not self._outbox:
            self._loop.remove_writer(self._sock)
        elif self._outbox and not self._blocked:
            self._loop.add_writer(self._sock, self._flush)
        self._blocked = bool(self._outbox)
        if len(self._outbox) <= _HIGH_WATER:
            self._writable.set()
        else:
            self._writable.clear()

    # --- receiving ---

    def _receive(self) -> None:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(
                _READ_BYTES, _ONE_DESCRIPTOR, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        # The kernel closes descriptors that do not fit.
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._arrived.extend(struct.unpack("i", content))
        if not data:
            self._lose()
            return
        if len(self._arrived) > _MAX_ARRIVED:
            self.close()
            return
        self._inbox += data
        self._take_frames()

    def _take_frames(self) -> None:
        while len(self._inbox) >= _HEADER.size:
            head, body = _HEADER.unpack_from(self._inbox)
            end = _HEADER.size + head + body
            if end > _MAX_FRAME:
                self.close()
                return
            if len(self._inbox) < end:
                return
            split = _HEADER.size + head
            raw, content = bytes(self._inbox[_HEADER.size : split]), bytes(self._inbox[split:end])
            del self._inbox[:end]
            self._deliver(raw, content)

    def _deliver(self, raw: bytes, content: bytes) -> None:
        header: Mapping[str, Any] | None = None
        with contextlib.suppress(ValueError, RecursionError):
            header = json.loads(raw)
        if not isinstance(header, dict) or not isinstance(header.get("id"), int):
            self.close()
            return
        number = header["id"]
        if number == 0:
            # The greeting may arrive before the first call of `hello`.
            self._greeting = (header, content)
        if header.get("descriptor") and self._arrived:
            descriptor = self._arrived.popleft()
            if self._asked.get(number, descriptor) is None:
                self._asked[number] = descriptor
            else:
                _close(descriptor)
        future = self._waiting.get(number)
        if future is not None and not future.done():
            future.set_result((header, content))

    # --- the end ---

    def _lose(self) -> None:
        """Record that the other end has closed the connection."""
        callback, self._on_close = self._on_close, None
        if callback is not None:
            callback()
        self._end()

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        while self._arrived:
            _close(self._arrived.popleft())
        _close(self.take_process())
        self._inbox.clear()
        self._writable.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._death())

    def _death(self) -> SandboxDiedError:
        return SandboxDiedError(
            f"sandbox {self._name} is gone: its supervisor closed the connection"
        )


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
