"""The host's end of the supervisor connection: framed requests, replies in any order.

The frame format is described in `agentgym.sandbox.supervisor`. Every request has a deadline;
when the guest closes the connection, every request in flight fails with SandboxDiedError.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import marshal
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.errors import (
    GuestFileError,
    SandboxDiedError,
    SandboxError,
    SandboxLimitError,
    SandboxTimeoutError,
)

# The newest that every guest Python understands.
_MARSHAL_VERSION = 2
_HEADER = struct.Struct(">II")
# A hostile supervisor must not make the host allocate without bound.
_MAX_FRAME = 256 * 2**20
MAX_BODY = _MAX_FRAME - 2**20
_KINDS: dict[str, type[SandboxError]] = {"file": GuestFileError, "limit": SandboxLimitError}

Reply = tuple[dict[str, Any], bytes]


class Channel(asyncio.Protocol):
    """One connection to one supervisor."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inbox = bytearray()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._next = 1
        self._greeting: Reply | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed = False
        self._on_close: Callable[[], None] | None = None

    @classmethod
    async def open(cls, sock: socket.socket, name: str) -> Channel:
        """Take over a connected socket."""
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_connection(lambda: cls(name), sock=sock)
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

    def write_line(self, line: bytes) -> None:
        """Send raw bytes before the supervisor is there (the launcher's go-ahead)."""
        assert self._transport is not None
        self._transport.write(line)

    async def request(
        self, op: str, body: bytes = b"", *, timeout_s: float, **fields: object
    ) -> Reply:
        """Send one request and wait for its reply.

        Raises:
            SandboxDiedError: The supervisor closed the connection.
            SandboxTimeoutError: No reply within `timeout_s`.
            GuestFileError, SandboxLimitError, SandboxError: The supervisor refused.
        """
        if self._closed or self._transport is None:
            raise self._death()
        if len(body) > MAX_BODY:
            raise SandboxLimitError(
                f"{op!r} with {len(body)} bytes: at most {MAX_BODY} go in one request"
            )
        number, self._next = self._next, self._next + 1
        head = marshal.dumps({"id": number, "op": op, **fields}, _MARSHAL_VERSION)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(timeout_s):
                await self._writable.wait()
                self._transport.write(_HEADER.pack(len(head), len(body)) + head + body)
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

    def close(self) -> None:
        """Close the connection; the supervisor ends the sandbox when it notices."""
        self._on_close = None
        self._fail()
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect frames and hand replies to whoever waits for them."""
        self._inbox += data
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
        with contextlib.suppress(ValueError):
            header = json.loads(raw)
        if not isinstance(header, dict):
            self.close()
            return
        if header.get("id") == 0:
            # It may be here before anybody asks for it.
            self._greeting = (header, content)
        future = self._waiting.get(header.get("id", -1))
        if future is not None and not future.done():
            future.set_result((header, content))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail everything that still waits."""
        callback, self._on_close = self._on_close, None
        if callback is not None:
            callback()
        self._fail()

    def pause_writing(self) -> None:
        """Hold requests while the socket buffer is full."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let requests go on."""
        self._writable.set()

    def _fail(self) -> None:
        self._closed = True
        self._writable.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._death())

    def _death(self) -> SandboxDiedError:
        return SandboxDiedError(
            f"sandbox {self._name} is gone: its supervisor closed the connection"
        )
