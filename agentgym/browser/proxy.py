"""The only network of a browser: an HTTP proxy that answers by the episode's sites.

It listens on a socket of the network namespace of a browser context or of a desktop, runs on the
episode's event loop and calls the ASGI application in process. No request leaves the process,
except those to a program in the episode's sandbox. Tunnels lead to the same sites: by TLS for
https:, plain for WebSockets.
Formats: RFC 9112 (HTTP/1.1, by h11), RFC 9110 (CONNECT), RFC 6455 (WebSocket), ASGI 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final
from urllib.parse import SplitResult, urlsplit

import h11

from agentgym.browser.certificate import server_context
from agentgym.browser.exchange import Exchange, RequestBody
from agentgym.browser.requests import RequestLog
from agentgym.browser.websocket import is_upgrade, relay
from agentgym.errors import SandboxError
from agentgym.protocols import Sites
from agentgym.sandbox.network.acceptor import Acceptor

_HEAD_BYTES: Final = 65_536
_READ_BYTES: Final = 65_536
_LOOK_S: Final = 0.05
_TLS_S: Final = 10.0
_CONNECTIONS: Final = 256
"""Open connections; those beyond wait. A browser has some dozens."""
_PORTS: Final = {"http": 80, "https": 443}
BODY_BYTES: Final = 32 * 2**20
"""Bytes of one request's body."""


class SiteProxy:
    """Serves one browser context or desktop; start it with `open` on the loop of the episode.

    Args:
        sites: The sites of the episode; None if it has none, so that every request is refused.
        log: Where each request is noted.
        late_s: Seconds by which a request is refused late if it is one too many, so that a program
            that sends as many as it can does not keep the loop busy.
    """

    def __init__(self, sites: Sites | None, log: RequestLog, late_s: float = 0.0) -> None:
        self._sites, self.log, self._late_s = sites, log, late_s
        self._acceptor: Acceptor | None = None

    async def open(self, listening: socket.socket) -> None:
        """Serve a listening socket, which the proxy closes at its end."""
        self._acceptor = Acceptor(listening, self._serve, _CONNECTIONS)

    async def close(self) -> None:
        """End the connections and the server. Never raises."""
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            await acceptor.close()

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await _streams(connection)
        # The browser may close the connection at any time.
        try:
            with contextlib.suppress(OSError, h11.RemoteProtocolError, h11.LocalProtocolError):
                await self._connection(reader, writer)
        finally:
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection: requests for any site, or a tunnel to one of them."""
        tunnel = await self._requests(reader, writer, "")
        if tunnel is None:
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        if tunnel.port == 443:
            await writer.start_tls(server_context(), ssl_handshake_timeout=_TLS_S)
        scheme = "https" if tunnel.port == 443 else "http"
        await self._requests(reader, writer, f"{scheme}://{tunnel.hostname}")

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, origin: str
    ) -> SplitResult | None:
        """Answer requests until the connection ends.

        Args:
            reader: What the browser sends.
            writer: What it reads.
            origin: The site at the end of a tunnel; empty outside of tunnels.

        Returns:
            The site to which the browser wants a tunnel; None at the end of the connection.
        """
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
                return None
            url = _target(request, origin)
            if request.method == b"CONNECT" and not origin and not self._refusal(url):
                return url
            shown = url.geturl() if origin else request.target.decode("latin-1")
            socket_wanted = is_upgrade(request)
            with self.log.begin(request.method.decode(), shown) as entry:
                exchange = Exchange(request, url, RequestBody(event, BODY_BYTES), entry, send)
                refusal, program = self._refusal(url), None
                if refusal and self._late_s and self.log.excess():
                    await asyncio.sleep(self._late_s)
                if refusal:
                    await exchange.refuse(403, refusal)
                elif socket_wanted:
                    program = await self._open_socket(url, exchange)
                    if program is not None:
                        entry.begin_answer(101, [])
                else:
                    assert self._sites is not None
                    answering = asyncio.ensure_future(exchange.answer(self._sites.application))
                    await _unless_left(answering, reader)
            if program is not None:
                # No action waits for a WebSocket to end.
                target = (url.path or "/") + (f"?{url.query}" if url.query else "")
                sent = target.encode("latin-1")
                await relay(program, request, sent, url.scheme, reader, writer)
                return None
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return None
            connection.start_next_cycle()

    async def _open_socket(self, url: SplitResult, exchange: Exchange) -> socket.socket | None:
        """Return a connection to a site's program; None if the answer is an error instead."""
        assert self._sites is not None
        host, connect = url.hostname or "", self._sites.connect
        try:
            program = await connect(host) if connect else None
        except SandboxError as error:
            await exchange.fail(502, f"the site's program does not answer: {error}")
            return None
        if program is None:
            await exchange.refuse(404, f"{host} takes no WebSockets: it is no program of its own")
        return program

    def _refusal(self, url: SplitResult) -> str:
        if self._sites is None:
            return "this environment has no web sites"
        port = _PORTS.get(url.scheme)
        if port is None or (url.port or port) != port or not url.hostname:
            return f"expected http://HOST/… or https://HOST/…, got {url.geturl()[:200]}"
        if url.hostname not in self._sites.hosts:
            return f"{url.hostname} is not one of this environment's sites"
        return self.log.excess()


async def _streams(
    connection: socket.socket,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the streams of an accepted connection, which they close."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = loop.create_future()

    def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.set_result((reader, writer))

    # Its callback is what makes this the server's side of TLS.
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(), note)
    own = socket.socket(fileno=connection.detach())
    await loop.connect_accepted_socket(lambda: protocol, own)
    return await opened


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


def _target(request: h11.Request, origin: str) -> SplitResult:
    """Return what a request is for; that of CONNECT is a host with its port."""
    told = request.target.decode("latin-1")
    if request.method == b"CONNECT":
        told = f"{'https' if told.endswith(':443') else 'http'}://{told}"
    elif origin:
        told = origin + told
    with contextlib.suppress(ValueError):
        url = urlsplit(told)
        _ = url.port
        return url
    return SplitResult("", "", "", "", "")
