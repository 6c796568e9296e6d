"""The HTTP side of the proxy (RFC 9110 and 9112): CONNECT, and requests in absolute form.

h11 parses and writes every head, so a host never receives a head in the guest's own bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Callable
from http import HTTPStatus

import h11

from agentgym.sandbox.network.gate import Gate, RefusedError, UnreachableError
from agentgym.sandbox.network.heads import (
    RejectedError,
    check_framing,
    end_to_end,
    host_agrees,
    onward,
    read_authority,
    read_target,
)
from agentgym.sandbox.network.journal import Attempt
from agentgym.sandbox.network.stream import Stream, idle_clock, relay

MAX_HEAD = 32 * 2**10


class HttpConversation:
    """One connection of a guest: a sequence of requests, each checked by itself.

    Args:
        guest: The connection.
        gate: Makes the connections to hosts.
        head_s: Time limit for the arrival of a request's head, in seconds.
        idle_s: Longest time without traffic during a request, in seconds.
    """

    def __init__(self, guest: Stream, gate: Gate, *, head_s: float, idle_s: float) -> None:
        self._guest, self._gate = guest, gate
        self._head_s, self._idle_s = head_s, idle_s
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._method = b""

    async def serve(self) -> None:
        """Serve requests until the guest leaves, makes a mistake, or asks for a tunnel.

        Raises:
            OSError: The guest's connection broke.
        """
        try:
            while await self._serve_one():
                self._wire.start_next_cycle()
        except RejectedError as error:
            await self._reject(error.status, str(error))
        except h11.RemoteProtocolError as error:
            await self._reject(error.error_status_hint, f"not a proper request: {error}")
        await self._guest.finish()

    async def _serve_one(self) -> bool:
        """Serve one request; return whether another may follow."""
        try:
            async with asyncio.timeout(self._head_s):
                request = await self._next_event()
        except TimeoutError:
            if not self._wire.trailing_data[0]:
                # The guest kept the connection open but sends no further request.
                return False
            raise RejectedError(408, "the request did not come in time") from None
        if not isinstance(request, h11.Request):
            return False
        self._method = request.method
        check_framing(request)
        if request.method == b"CONNECT":
            await self._tunnel(request)
            return False
        await self._forward(request)
        states = (self._wire.our_state, self._wire.their_state)
        return states == (h11.DONE, h11.DONE)

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._wire.next_event()) is h11.NEED_DATA:
            self._wire.receive_data(await self._guest.receive())
        assert not isinstance(event, type) or event is h11.PAUSED
        return event

    async def _send(self, event: h11.Event) -> None:
        data = self._wire.send(event)
        if data:
            async with asyncio.timeout(self._idle_s):
                await self._guest.send(data)

    # --- CONNECT ---

    async def _tunnel(self, request: h11.Request) -> None:
        host, port = read_authority(request.target.decode("ascii"), None)
        await self._next_event()
        server, attempt = await self._connect(host, port, "connect")
        with contextlib.closing(server):
            await self._send(h11.Response(status_code=200, headers=[], reason=b"Connected"))
            self._guest.put_back(self._wire.trailing_data[0])
            await relay(self._guest, server, attempt, self._idle_s)

    async def _connect(self, host: str, port: int, via: str) -> tuple[Stream, Attempt]:
        try:
            return await self._gate.connect(host, port, via)
        except RefusedError as error:
            raise RejectedError(403, f"{host}:{port} is refused: {error}") from None
        except UnreachableError as error:
            status = 504 if error.code == errno.ETIMEDOUT else 502
            raise RejectedError(status, f"{host}:{port} cannot be reached: {error}") from None

    # --- requests in absolute form ---

    async def _forward(self, request: h11.Request) -> None:
        host, port, path = read_target(request)
        if not host_agrees(request, host, port):
            reason = "the Host header names another host than the request"
            self._gate.refuse(host, port, "http", reason)
            raise RejectedError(403, f"{host}:{port} is refused: {reason}")
        server, attempt = await self._connect(host, port, "http")
        failure: Exception | None = None
        with contextlib.closing(server):
            exchange = _Exchange(server, attempt)
            try:
                async with idle_clock(self._idle_s) as touch, asyncio.TaskGroup() as group:
                    await exchange.send(onward(request, host, port, path))
                    sending = group.create_task(self._send_body(exchange, touch))
                    await self._answer(exchange, touch)
                    # A host may answer before it has received the whole request.
                    sending.cancel()
            except* (OSError, h11.ProtocolError, RejectedError) as failures:
                failure = failures.exceptions[0]
        if failure is None:
            return
        if self._wire.our_state is not h11.SEND_RESPONSE:
            # A partial answer must not look complete.
            self._guest.reset()
            raise ConnectionAbortedError(str(failure))
        if isinstance(failure, RejectedError):
            raise failure
        reason = str(failure) or "nothing came"
        raise RejectedError(502, f"{host}:{port} gave no proper answer: {reason}")

    async def _send_body(self, exchange: _Exchange, touch: Callable[[], None]) -> None:
        while True:
            try:
                event = await self._next_event()
            except h11.RemoteProtocolError as error:
                raise RejectedError(400, f"not a proper request: {error}") from None
            touch()
            try:
                if isinstance(event, h11.EndOfMessage):
                    await exchange.send(h11.EndOfMessage())
                    return
                if isinstance(event, h11.Data):
                    await exchange.send(h11.Data(data=event.data))
            except OSError:
                # The host refuses the rest, and may have sent the reason.
                return

    async def _answer(self, exchange: _Exchange, touch: Callable[[], None]) -> None:
        while True:
            event = await exchange.next_event()
            touch()
            if isinstance(event, h11.Data):
                await self._send(h11.Data(data=event.data))
            elif isinstance(event, h11.EndOfMessage):
                await self._send(h11.EndOfMessage())
                return
            elif isinstance(event, h11.Response):
                await self._send(
                    h11.Response(
                        status_code=event.status_code,
                        reason=event.reason,
                        headers=end_to_end(event.headers.raw_items()),
                    )
                )
            elif isinstance(event, h11.InformationalResponse):
                if self._wire.their_http_version != b"1.0":
                    await self._send(
                        h11.InformationalResponse(
                            status_code=event.status_code,
                            headers=end_to_end(event.headers.raw_items()),
                        )
                    )
            else:
                raise ConnectionAbortedError("the connection was closed")

    async def _reject(self, status: int, text: str) -> None:
        """Answer a request for the proxy itself, and accept no other on this connection."""
        if self._wire.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = f"agentgym: {text}\n".encode("ascii", "backslashreplace")
        headers = [
            ("content-type", "text/plain"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        reason = HTTPStatus(status).phrase.encode("ascii")
        await self._send(h11.Response(status_code=status, headers=headers, reason=reason))
        if self._method != b"HEAD":
            await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())


class _Exchange:
    """The exchange of one request with a host."""

    def __init__(self, server: Stream, attempt: Attempt) -> None:
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._server, self._attempt = server, attempt

    async def send(self, event: h11.Event) -> None:
        data = self._wire.send(event)
        if data:
            await self._server.send(data)
            self._attempt.sent_bytes += len(data)

    async def next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._wire.next_event()) is h11.NEED_DATA:
            data = await self._server.receive()
            self._attempt.received_bytes += len(data)
            self._wire.receive_data(data)
        assert not isinstance(event, type) or event is h11.PAUSED
        return event
