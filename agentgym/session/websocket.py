"""Sessions over WebSocket (RFC 6455): one connection at a time speaks for a session.

A connection that breaks leaves its session as it is, and the next one comes back to it with the
resume token. If none comes in time, the session ends and its episodes are judged as they stand.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from agentgym.env.remote import wire
from agentgym.records.bounds import weight_of
from agentgym.session.accounts import Account
from agentgym.session.bounds import ServerBounds
from agentgym.session.direct import DirectMessages
from agentgym.session.metrics import Metrics
from agentgym.session.requests import BAD_MESSAGE, Greeted, Requests
from agentgym.session.rich_messages import RichMessages, is_rich
from agentgym.session.session import Session

Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

REFUSED: Final = 4000
"""Close code: the hello was refused; the error before it says why."""

REPLACED: Final = 4001
"""Close code: another connection came back to the session."""

LEFT: Final = 1000
"""Close code: the client has left its session."""

STOPPED: Final = 1001
"""Close code: the server ends."""

SLOW: Final = 1008
"""Close code: the client was too slow to say hello."""


UNSENT_BYTES: Final = 32 * 2**20
"""Size of the answers that wait for their client before its connection is not read any more."""


class WebSocketSessions:
    """The WebSocket connections of one server.

    Args:
        requests: Answers the messages.
        bounds: The bounds of connections.
        metrics: Counts connections and bytes.
        rich: Spaces messages of very many values.
    """

    def __init__(
        self, requests: Requests, bounds: ServerBounds, metrics: Metrics, rich: RichMessages
    ) -> None:
        self._requests, self._bounds, self._metrics = requests, bounds, metrics
        self._rich = rich
        self._attached: dict[str, _Connection] = {}
        self._expiring: dict[str, asyncio.Task[None]] = {}

    async def serve(
        self,
        account: Account,
        receive: Receive,
        send: Send,
        direct: DirectMessages | None = None,
    ) -> None:
        """Serve one connection of an account until it ends.

        Args:
            account: The account.
            receive: Receives the next event of the connection.
            send: Sends an event.
            direct: Hands on and writes messages at once, if the connection can.
        """
        await receive()  # websocket.connect
        try:
            await send({"type": "websocket.accept"})
        except OSError:  # uvicorn's error for a client that is gone
            return
        self._metrics.connections += 1
        connection = _Connection(
            *(self._requests, self._bounds, self._metrics, self._rich, account, send, direct)
        )
        try:
            greeted = await self._greet(connection, receive)
            if greeted is not None:
                await self._play(connection, greeted, receive)
        except asyncio.CancelledError:
            if not connection.slow:
                raise
        finally:
            self._metrics.connections -= 1
            self._detach(connection)

    async def stop(self) -> None:
        """Close every connection because the server ends. Never raises."""
        for task in self._expiring.values():
            task.cancel()
        closing = [each.close(STOPPED, "the server ends") for each in self._attached.values()]
        await asyncio.gather(*closing, return_exceptions=True)

    async def _greet(self, connection: _Connection, receive: Receive) -> Greeted | None:
        """Answer the first message; None if it was no hello that is accepted."""
        try:
            async with asyncio.timeout(self._bounds.hello_s):
                event = await receive()
        except TimeoutError:
            await connection.close(SLOW, f"no hello came within {self._bounds.hello_s:g} s")
            return None
        if event["type"] != "websocket.receive":
            return None
        text = _content(event)
        await self._rich.wait(connection.account, len(text), weight_of(text))
        greeted, refusal = self._greeting(connection.account, text)
        if greeted is None:
            assert refusal is not None
            await connection.send(refusal, b"")
            await connection.close(REFUSED, str(refusal["code"]))
        return greeted

    def _greeting(
        self, account: Account, text: str | bytes
    ) -> tuple[Greeted, None] | tuple[None, dict[str, Any]]:
        request, refusal = self._requests.read(account, text)
        if request is None:
            assert refusal is not None
            return None, refusal
        if not isinstance(request, wire.Hello):
            told = f"the first message is hello, not {request.type}"
            return None, {"type": "error", "code": BAD_MESSAGE, "message": told}
        return self._requests.greet("ws", account, request)

    async def _play(self, connection: _Connection, greeted: Greeted, receive: Receive) -> None:
        """Answer messages until the connection ends."""
        token = greeted.session.token
        before = self._attached.get(token)
        connection.session, connection.pictures = greeted.session, greeted.pictures
        self._attached[token] = connection
        expiring = self._expiring.pop(token, None)
        if expiring is not None:
            expiring.cancel()
        self._metrics.resumed += before is not None or greeted.welcome["last_call"] > 0
        await connection.send(greeted.welcome, b"")
        if before is not None:
            # After the welcome: a client that takes nothing more delays the close of its own.
            await before.close(REPLACED, "another connection came back to the session")
        connection.take_directly()
        while not connection.closed:
            event = await receive()
            if event["type"] != "websocket.receive":
                return
            await connection.take(_content(event))

    def _detach(self, connection: _Connection) -> None:
        """Let a session wait for its next connection."""
        connection.closed = True
        session = connection.session
        if session is None or self._attached.get(session.token) is not connection:
            return
        del self._attached[session.token]
        if not session.over:
            self._expiring[session.token] = asyncio.create_task(self._expire(session))

    async def _expire(self, session: Session) -> None:
        """End a session to which no connection comes back."""
        await asyncio.sleep(self._bounds.resume_s)
        del self._expiring[session.token]
        why = f"the connection was lost and did not come back within {self._bounds.resume_s:g} s"
        await session.leave(why)


class _Connection:
    """One connection: its messages are answered in tasks of their own, their number is bounded."""

    def __init__(
        self,
        requests: Requests,
        bounds: ServerBounds,
        metrics: Metrics,
        rich: RichMessages,
        account: Account,
        send: Send,
        direct: DirectMessages | None = None,
    ) -> None:
        self._rich = rich
        self.account = account
        self.session: Session | None = None
        self.pictures: wire.Pictures = "png"
        self.closed = self.slow = False
        self._requests, self._bounds, self._metrics = requests, bounds, metrics
        self._send, self._serving = send, asyncio.current_task()
        self._most = requests.sessions.config.max_pending
        self._direct = direct
        # One at a time: each waits until the client has taken what was sent before.
        self._sending = asyncio.Lock()
        self._answering: dict[int, asyncio.Task[None]] = {}
        """The messages that are being answered, by their number in the connection."""
        self._taken = self._waiting = self._answering_bytes = self._unsent_bytes = 0

    def take_directly(self) -> None:
        """Take later messages within the read that brings them, if the connection can."""
        if self._direct is not None:
            self._direct.hand_to(self._take_now)

    async def take(self, text: str | bytes) -> None:
        """Begin to answer a message; waits while too many are being answered."""
        weight = weight_of(text)
        self._waiting += 1
        try:
            while self._is_full(weight):
                running = self._answering.values()
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            await self._rich.wait(self.account, len(text), weight)
        finally:
            self._waiting -= 1
        self._begin(text, weight)

    def _take_now(self, text: str | bytes) -> bool:
        """Begin to answer a message, unless it has to wait, or others wait; return whether."""
        if self.closed or self._waiting:
            return False
        weight = weight_of(text)
        if self._is_full(weight) or is_rich(len(text), weight):
            return False
        self._begin(text, weight)
        return True

    def _begin(self, text: str | bytes, weight: int) -> None:
        self._taken += 1
        self._answering_bytes += weight
        self.account.hold(weight)
        self._answering[self._taken] = asyncio.create_task(self._answer(self._taken, text, weight))

    def _is_full(self, more: int) -> bool:
        return bool(self._answering) and (
            len(self._answering) >= self._most
            or self._answering_bytes + more > 2 * self._bounds.message_bytes
            or self._unsent_bytes > UNSENT_BYTES
            or self.account.holds_too_much
        )

    async def _answer(self, number: int, text: str | bytes, weight: int) -> None:
        try:
            await self._answer_now(text)
        finally:
            self._answering_bytes -= weight
            self.account.hold(-weight)
            del self._answering[number]

    async def _answer_now(self, text: str | bytes) -> None:
        began_s = time.perf_counter()
        request, refusal = self._requests.read(self.account, text)
        self._metrics.received_bytes += len(text)
        if request is None:
            assert refusal is not None
            message, picture = refusal, b""
        else:
            assert self.session is not None
            message, picture = await self._requests.answer(self.session, request, self.pictures)
        await self.send(message, picture)
        self._metrics.count_seconds(time.perf_counter() - began_s)
        if isinstance(request, wire.Leave):
            await self.close(LEFT, "the session was left")

    async def send(self, message: dict[str, Any], picture: bytes) -> None:
        """Send a message; a client that does not take it in time is disconnected."""
        if self.closed:
            return
        frame = wire.pack(message, picture)
        self._metrics.sent_bytes += len(frame)
        direct = None if self._sending.locked() else self._direct
        if direct is not None and direct.write_now(frame):
            return
        key = "text" if isinstance(frame, str) else "bytes"
        self._unsent_bytes += len(frame)
        try:
            async with asyncio.timeout(self._bounds.send_s), self._sending:
                if not self.closed:  # It may have been closed while others were sent.
                    await self._send({"type": "websocket.send", key: frame})
        except TimeoutError:
            self.closed = self.slow = True
            if self._serving is not None:
                self._serving.cancel()
        except (OSError, RuntimeError):
            # It was closed meanwhile; the answer is kept for the connection that comes back.
            self.closed = True
        finally:
            self._unsent_bytes -= len(frame)

    async def close(self, code: int, reason: str) -> None:
        """Close the connection. Never raises."""
        if self.closed:
            return
        self.closed = True
        try:
            async with asyncio.timeout(self._bounds.send_s):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except (OSError, TimeoutError, RuntimeError):
            pass


def _content(event: Event) -> str | bytes:
    text = event.get("text")
    return text if text is not None else event.get("bytes") or b""
