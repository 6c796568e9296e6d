"""HTTP connections that a client cannot keep open for ever by doing nothing.

A client needs no token to open a connection, and every connection costs a descriptor, so their
number is bounded (`Places`). A client that sends half a request or half a body, or takes no answer,
loses its connection. Otherwise such clients could take all places.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final, TypeAlias

from agentgym.installation import missing_extra
from agentgym.session.places import Places

try:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise missing_extra("uvicorn", "server") from error

SILENT_S: Final = 10.0
"""Seconds in which a client has to send a request, a part of its body, or take a part of the
answer."""

_Awaited: TypeAlias = tuple[str, object, int]


class HttpConnection(H11Protocol):
    """A connection that is closed if its client keeps it waiting, or if others need its place."""

    places: ClassVar[Places]

    _received_bytes = 0
    _watch: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.places.opened(transport.get_extra_info("socket").fileno())
        self._note_place()
        self._watch_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and be forgotten at once: with TLS a connection takes 300 kB."""
        super().connection_lost(exc)
        self._note_place()
        self._unset_keepalive_if_required()
        self._watch.cancel()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        self._received_bytes += len(data)
        super().data_received(data)
        self._note_place()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to its WebSocket."""
        self._watch.cancel()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there."""
        super().on_response_complete()
        self._note_place()

    def give_place(self) -> None:
        """Close it at once."""
        self.transport.abort()

    def _note_place(self) -> None:
        awaited = self._awaited() if self in self.connections else None
        if awaited is not None and awaited[0] == "request":
            self.places.wait(self)
        else:
            self.places.work(self)

    def _watch_again(self) -> None:
        awaited = self._awaited()
        self._watch = self.loop.call_later(SILENT_S, self._close_if_kept_waiting, awaited)

    def _close_if_kept_waiting(self, before: _Awaited | None) -> None:
        if self not in self.connections or self.transport.get_protocol() is not self:
            return  # It is lost, or a WebSocket now.
        if self.transport.is_closing() or (before is not None and before == self._awaited()):
            self.transport.abort()
        else:
            self._watch_again()

    def _awaited(self) -> _Awaited | None:
        """Return what the client has to do next; None while the server is at work."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            # A request has to be whole in time, so its bytes do not count.
            return "request", cycle, 0
        if self.flow.write_paused:
            return "answer", cycle, self.transport.get_write_buffer_size()
        return ("body", cycle, self._received_bytes) if cycle.more_body else None
