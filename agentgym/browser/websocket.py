"""WebSockets: the handshake of a page passed on to a site's program, then bytes both ways."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

import h11

RELAYED_BYTES: Final = 64 * 2**20
"""Bytes of one WebSocket in one direction; it ends there."""
_READ_BYTES: Final = 65_536
_FORWARDED: Final = b"x-forwarded-proto"
_DROPPED: Final = frozenset((b"proxy-connection", _FORWARDED))


def is_upgrade(request: h11.Request) -> bool:
    """Whether a request asks for a WebSocket."""
    named = {name: value.lower() for name, value in request.headers}
    return named.get(b"upgrade") == b"websocket"


async def relay(
    program: socket.socket,
    request: h11.Request,
    target: bytes,
    scheme: str,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Pass a handshake and what follows on to the program of a site, until one side ends.

    Args:
        program: A connection to the program, which this closes at the end.
        request: The handshake.
        target: Its path and query.
        scheme: `http` or `https`, of the page's address for the WebSocket.
        reader: What the page sends after it.
        writer: Where the page reads.
    """
    there, back = await asyncio.open_connection(sock=program)
    try:
        lines = [b"%s %s HTTP/1.1" % (request.method, target)]
        lines += [b"%s: %s" % each for each in request.headers if each[0] not in _DROPPED]
        lines.append(b"%s: %s" % (_FORWARDED, scheme.encode()))
        back.write(b"\r\n".join([*lines, b"", b""]))
        ways = {
            asyncio.ensure_future(_copy(reader, back)),
            asyncio.ensure_future(_copy(there, writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
    finally:
        back.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    copied = 0
    while copied < RELAYED_BYTES and (data := await reader.read(_READ_BYTES)):
        copied += len(data)
        writer.write(data)
        await writer.drain()
