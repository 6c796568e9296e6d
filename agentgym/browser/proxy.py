"""The only network of a browser context: an HTTP proxy that answers by the episode's sites.

It listens on a socket of the browser's own network namespace, runs on the episode's event loop and
calls the ASGI application in process. No request leaves the process. Formats: RFC 9112 (HTTP/1.1,
by h11), ASGI 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final
from urllib.parse import SplitResult, urlsplit

import h11

from agentgym.browser.exchange import Exchange, RequestBody
from agentgym.browser.requests import RequestLog
from agentgym.protocols import Sites

_HEAD_BYTES: Final = 65_536
_READ_BYTES: Final = 65_536
_LOOK_S: Final = 0.05
BODY_BYTES: Final = 32 * 2**20
"""Bytes of one request's body."""


class SiteProxy:
    """Serves one browser context; start it with `open` on the loop of the episode.

    Args:
        sites: The sites of the episode; None if it has none, so that every request is refused.
        log: Where each request is noted.
    """

    def __init__(self, sites: Sites | None, log: RequestLog) -> None:
        self._sites, self.log = sites, log
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, listening: socket.socket) -> None:
        """Serve a listening socket, which the proxy closes at its end."""
        self._server = await asyncio.start_server(self._serve, sock=listening)

    async def close(self) -> None:
        """End the connections and the server. Never raises."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._connection(reader, writer)
        except (OSError, h11.RemoteProtocolError, h11.LocalProtocolError, asyncio.CancelledError):
            pass  # the browser has closed the connection, or the proxy ends
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)

        async def event() -> object:
            while (found := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(_READ_BYTES))
            return found

        async def send(answer: h11.Event) -> None:
            data = connection.send(answer)
            if data:
                writer.write(data)
                await writer.drain()

        while True:
            request = await event()
            if not isinstance(request, h11.Request):
                return
            with self.log.begin(request.method.decode(), request.target.decode("latin-1")) as entry:
                body = RequestBody(event, BODY_BYTES)
                url = _target(request)
                exchange = Exchange(request, url, body, entry, send)
                refusal = self._refusal(request, url)
                if refusal:
                    await exchange.refuse(403, refusal)
                else:
                    assert self._sites is not None
                    answering = asyncio.ensure_future(exchange.answer(self._sites.application))
                    await _unless_left(answering, reader)
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()

    def _refusal(self, request: h11.Request, url: SplitResult) -> str:
        if request.method == b"CONNECT":
            return f"sites are reached by http:// only, not {request.target.decode('latin-1')}"
        if self._sites is None:
            return "this environment has no web sites"
        if url.scheme != "http" or (url.port or 80) != 80 or not url.hostname:
            return f"expected http://HOST/…, got {url.geturl()[:200]}"
        if url.hostname not in self._sites.hosts:
            return f"{url.hostname} is not one of this environment's sites"
        return self.log.excess()


async def _unless_left(answering: asyncio.Future[None], reader: asyncio.StreamReader) -> None:
    """Wait for an answer, and cancel it where the browser has gone away.

    Raises:
        ConnectionError: The browser has closed the connection.
    """
    try:
        while not answering.done():
            await asyncio.wait({answering}, timeout=_LOOK_S)
            if not answering.done() and reader.at_eof():
                raise ConnectionError("the browser has closed the connection")
    finally:
        answering.cancel()
    await answering


def _target(request: h11.Request) -> SplitResult:
    with contextlib.suppress(ValueError):
        url = urlsplit(request.target.decode("latin-1"))
        _ = url.port
        return url
    return SplitResult("", "", "", "", "")
