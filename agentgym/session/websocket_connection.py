"""The connection of a WebSocket client: uvicorn's, with bounds and a short way for messages."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, ClassVar, Final

from agentgym.installation import missing_extra
from agentgym.session.accounts import Account
from agentgym.session.direct import NAME, TOO_LARGE, Take
from agentgym.session.frames import BINARY, TEXT, begin_of, bytes_of, head, large_at, text_at

try:
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
    from websockets.frames import Frame
    from websockets.protocol import State
except ImportError as error:
    raise missing_extra("uvicorn or websockets", "server") from error

_WAITING: Final = 8
"""Messages of a connection that wait before its socket is not read any more."""

_TOGETHER_BYTES: Final = 2**16
"""Size of the messages of a connection that are written at once, and not together with others."""

_SKIPPED_BYTES: Final = 2**28
"""Size of the largest message that is skipped; a connection with a larger one is closed."""

_FRAME_BYTES: Final = 64
"""Memory that a part of a message takes beside its bytes."""

_TRY_LATER: Final = 1013
"""Close code: the account sends more than the server holds for it at a time."""

_END_OF_REQUEST: Final = b"\r\n\r\n"

_PARTING_S: Final = 2
"""Longest time in seconds that a connection stays open after its application has ended."""


class Outbox:
    """Writes the answers of many connections at the end of a turn of the event loop.

    To wake a process that waits for its answer takes longer than to write one. A client with many
    sessions is woken once, and a connection with many answers has one write.
    """

    def __init__(self) -> None:
        self._waiting: list[WebSocketConnection] = []

    def add(self, connection: WebSocketConnection) -> None:
        """Write a connection's messages at the end of the turn."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write)
        self._waiting.append(connection)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.write_together()


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A connection whose end does not wait for a client that takes nothing any more.

    It has `DirectMessages`. While the parser is between two frames, messages at the beginning of
    the data take the short way if each is a whole, masked text frame (RFC 6455, section 5.2) within
    the bounds. All other data, and whatever may be wrong, is left to the parser of the library.
    """

    outbox: ClassVar[Outbox]

    _take: Take | None = None
    _account: Account | None = None
    _tells_too_large = False
    _skipped_bytes = 0
    """Bytes still to come of a message that is too large."""
    _held_bytes = 0
    """Bytes that are counted for the account: not parsed, in `frames`, or in the queue."""
    _parts_bytes = _queued_bytes = 0
    _parsing_bytes = 0
    """Bytes that the parser was given, less those of the frames that it found; 0: it is between
    two frames. Minimal headers are assumed, so that after a longer one it is never 0 again."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._unwritten = bytearray()
        self._queued_sizes: deque[int] = deque()

    def belong_to(self, account: Account) -> None:
        """Count what the connection holds for its account; beyond its quota it is closed."""
        self._account = account
        self._count_held()

    def hand_to(self, take: Take) -> None:
        """Hand every later text to a function, unless earlier ones wait in the queue."""
        self._take = take

    def tell_too_large(self) -> None:
        """Put the beginning of a message that is too large into the queue, and go on after it."""
        self._tells_too_large = True

    def data_received(self, data: bytes) -> None:
        """Hand on the messages that came, and leave the rest to the parser."""
        if self._tells_too_large and not (data := self._skip(data)):
            return
        taken_bytes = self._hand_on(data)
        if taken_bytes == len(data):
            return
        data = data[taken_bytes:]
        if self.handshake_initiated:
            self._parsing_bytes += len(data)
        elif data.find(_END_OF_REQUEST) != len(data) - len(_END_OF_REQUEST):
            self._parsing_bytes = 1  # frames came with the request, which uvicorn does not do
        super().data_received(data)
        if not self.handshake_initiated:
            # uvicorn hands over a whole request, but websockets reads no line of more than 8 kB
            # and no more than 128 headers. Such a connection would wait for ever.
            self.transport.close()
        self._count_held()

    def _skip(self, data: bytes) -> bytes:
        """Return what was read without the message that is too large; tell that it came."""
        if not self._skipped_bytes:
            is_between = self._is_between_messages()
            found = large_at(data, self.config.ws_max_size) if is_between else None
            if found is None or found[1] > _SKIPPED_BYTES:
                return data
            self._queued_sizes.append(0)
            event = {"type": "websocket.receive", TOO_LARGE: begin_of(data)}
            self.queue.put_nowait(event)  # type: ignore[arg-type]
            self._skipped_bytes = sum(found)
        skipped = min(self._skipped_bytes, len(data))
        self._skipped_bytes -= skipped
        return data[skipped:]

    def _is_between_messages(self) -> bool:
        """Return whether nothing of a message was read that is not in the queue yet."""
        return (
            self._parsing_bytes == 0
            and not self.frames  # of a message that comes in parts
            and self.conn.state is State.OPEN
        )

    def _hand_on(self, data: bytes) -> int:
        """Hand on messages that need no parser; return the number of their bytes."""
        begin = 0
        if self._take is not None and self._is_between_messages() and self.queue.empty():
            most = self.config.ws_max_size
            while begin < len(data) and (found := text_at(data, begin, most)) is not None:
                text, end = found
                if not self._take(text):
                    break
                begin = end
        return begin

    def _count_held(self) -> None:
        """Count what the connection holds for its account; close it if that is too much."""
        if self._account is None or self.disconnected:
            return
        if not self.frames:
            self._parts_bytes = 0
        held = len(self.conn.reader.buffer) + self._parts_bytes + self._queued_bytes
        more, self._held_bytes = held - self._held_bytes, held
        if not self._account.hold(more) and self.conn.state is State.OPEN:
            self.conn.fail(_TRY_LATER, "the account has too many bytes of messages under way")
            self.handle_parser_exception()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count nothing of the connection any more."""
        if self._account is not None:
            self._account.hold(-self._held_bytes)
            self._held_bytes = 0
        super().connection_lost(exc)

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next event of the queue."""
        event = await super().receive()
        if event["type"] == "websocket.receive":
            self._queued_bytes -= self._queued_sizes.popleft()
            self._count_held()
        return event

    def handle_events(self) -> None:
        """Handle the frames that the parser found."""
        for event in self.conn.events:
            if isinstance(event, Frame):
                self._parsing_bytes -= bytes_of(event)
        super().handle_events()

    def write_now(self, frame: str | bytes) -> bool:
        """Write a text or binary message if the connection takes it at once; return whether."""
        if (
            self.disconnected
            or not self.writable.is_set()
            or self.conn.state is not State.OPEN
            or self.transport.is_closing()
        ):
            return False
        if isinstance(frame, str):
            first, content = TEXT, frame.encode()
        else:
            first, content = BINARY, frame
        if not self._unwritten:
            self.outbox.add(self)
        self._unwritten += head(first, len(content))
        self._unwritten += content
        if len(self._unwritten) > _TOGETHER_BYTES:
            self.write_together()
        return True

    def write_together(self) -> None:
        """Write the messages that `write_now` took."""
        unwritten, self._unwritten = self._unwritten, bytearray()
        # A connection that comes back gets the answers that this one could not take.
        if unwritten and self.conn.state is State.OPEN and not self.transport.is_closing():
            self.transport.write(unwritten)

    async def send(self, message: ASGISendEvent) -> None:
        """Send an event after the messages before it."""
        self.write_together()
        await super().send(message)

    def shutdown(self) -> None:
        """Close the connection because the server ends."""
        self.write_together()
        super().shutdown()

    def send_receive_event_to_app(self) -> None:
        """Hand a message on; only several that wait stop the reading of the socket.

        uvicorn stops it after each message, which takes two system calls.
        """
        goes_on = not self.read_paused and self.queue.qsize() < _WAITING
        size = sum(map(len, self.frames))
        self.read_paused |= goes_on
        waiting = self.queue.qsize()
        super().send_receive_event_to_app()
        if self.queue.qsize() > waiting:
            self._queued_bytes += size
            self._queued_sizes.append(size)
        self.read_paused &= not goes_on

    def handle_ping(self) -> None:
        """Answer a ping, unless the client takes nothing: its pongs would pile up in memory."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_cont(self, event: Frame) -> None:
        """Take a part of a message; empty ones would pile up without making it too large."""
        if event.data or event.fin:
            self._parts_bytes += len(event.data) + _FRAME_BYTES
            super().handle_cont(event)

    def handle_text(self, event: Frame) -> None:
        """Take a text, or the first part of one."""
        self._parts_bytes = len(event.data) + _FRAME_BYTES
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Take a binary message, or the first part of one."""
        self._parts_bytes = len(event.data) + _FRAME_BYTES
        super().handle_bytes(event)

    async def run_asgi(self) -> None:
        """Run the application, and end the connection when it has ended."""
        extensions: dict[str, object] = {**(self.scope["extensions"] or {}), NAME: self}
        self.scope["extensions"] = extensions  # type: ignore[typeddict-item]
        await super().run_asgi()
        self.loop.call_later(_PARTING_S, self.transport.abort)
