"""A site that is a program of its own: it runs in the sandbox and is reached over `connect`.

Every request gets a connection of its own to a port of the sandbox's loopback. The program sees the
site's host and, for an address with https:, ``X-Forwarded-Proto``. Formats: RFC 9112 (HTTP/1.1, by
h11), ASGI 3.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Final

import h11

from agentgym.errors import SandboxDiedError, SandboxError
from agentgym.protocols import ASGIMessage, Sandbox

START_S: Final = 10.0
"""Seconds that a program may take until it listens for the first time."""
_POLL_S: Final = 0.05
_READ_BYTES: Final = 16_384
_AT_ONCE: Final = 50
"""Parts of an answer that are read before others have their turn."""
_INTERIM: Final = 20
"""Answers before the last one (100, 103) that a program may send."""
_FORWARDED: Final = b"x-forwarded-proto"
_HOP: Final = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"content-length"))


class ProgramSite:
    """An ASGI application that a program in the sandbox answers for.

    Args:
        sandbox: Where it runs.
        port: Port at which it listens.
    """

    def __init__(self, sandbox: Sandbox, port: int) -> None:
        self._sandbox, self._port = sandbox, port
        self._reached = False

    async def connect(self) -> socket.socket:
        """Return a socket to the program; the first call waits until it listens.

        Raises:
            SandboxError: It does not listen.
        """
        until = time.monotonic() + (0.0 if self._reached else START_S)
        while True:
            try:
                connected = await self._sandbox.connect(self._port)
            except SandboxDiedError:
                raise
            except SandboxError:
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(_POLL_S)
            else:
                self._reached = True
                connected.setblocking(False)
                return connected

    async def __call__(
        self,
        scope: ASGIMessage,
        receive: Callable[[], Awaitable[ASGIMessage]],
        send: Callable[[ASGIMessage], Awaitable[None]],
    ) -> None:
        """Answer one request by the program."""
        body = await _body(receive)
        try:
            reader, writer = await asyncio.open_connection(sock=await self.connect())
        except SandboxError as error:
            await _fail(send, f"the site's program does not answer: {error}")
            return
        try:
            connection = h11.Connection(h11.CLIENT)
            writer.write(_request(connection, scope, body))
            await writer.drain()
            await _relay(connection, reader, send)
        except (OSError, h11.ProtocolError) as error:
            raise ConnectionError(f"the site's program broke off: {error}") from None
        finally:
            writer.transport.abort()


def _request(connection: h11.Connection, scope: ASGIMessage, body: bytes) -> bytes:
    target = bytes(scope["raw_path"])
    if scope["query_string"]:
        target += b"?" + bytes(scope["query_string"])
    # What the page says of the way that its request took is not true.
    dropped = _HOP | {_FORWARDED}
    headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
    headers += [(b"connection", b"close"), (b"content-length", b"%d" % len(body))]
    headers.append((_FORWARDED, str(scope["scheme"]).encode()))
    request = h11.Request(method=scope["method"], target=target, headers=headers)
    sent = [connection.send(event) for event in (request, h11.Data(data=body), h11.EndOfMessage())]
    return b"".join(part for part in sent if part)


async def _relay(
    connection: h11.Connection,
    reader: asyncio.StreamReader,
    send: Callable[[ASGIMessage], Awaitable[None]],
) -> None:
    """Send the program's answer on.

    Raises:
        h11.RemoteProtocolError: It is not HTTP.
    """
    parts: list[bytes] = []
    interim = seen = 0

    async def send_parts() -> None:
        if parts:
            data = b"".join(parts)
            parts.clear()
            await send({"type": "http.response.body", "body": data, "more_body": True})

    while True:
        event = connection.next_event()
        seen += 1
        if event is h11.NEED_DATA or seen % _AT_ONCE == 0:
            # A program that sends small parts without end must not keep the event loop.
            await asyncio.sleep(0)
        if event is h11.NEED_DATA:
            await send_parts()
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.InformationalResponse):
            interim += 1
            if interim > _INTERIM:
                raise h11.RemoteProtocolError("it sent too many interim answers")
        elif isinstance(event, h11.Response):
            # The body is framed anew, so its length is told only if it is known.
            kept = [pair for pair in event.headers if pair[0] not in _HOP - {b"content-length"}]
            start = {"type": "http.response.start", "status": event.status_code, "headers": kept}
            await send(start)
        elif isinstance(event, h11.Data):
            parts.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            await send_parts()
            await send({"type": "http.response.body", "body": b""})
            return
        elif isinstance(event, h11.ConnectionClosed):
            raise h11.RemoteProtocolError("it closed the connection without an answer")


async def _body(receive: Callable[[], Awaitable[ASGIMessage]]) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the request was not sent to its end")
        parts.append(bytes(message["body"]))
        if not message["more_body"]:
            return b"".join(parts)


async def _fail(send: Callable[[ASGIMessage], Awaitable[None]], told: str) -> None:
    body = told.encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 502, "headers": headers})
    await send({"type": "http.response.body", "body": body})
