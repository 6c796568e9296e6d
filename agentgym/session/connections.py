"""HTTP connections that a client cannot keep open for ever by doing nothing.

A client needs no token to open a connection, and every connection costs a descriptor, so their
number is bounded. A client that sends half a request or half a body, or takes no answer, loses its
connection. Otherwise such clients could take all places.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final, TypeAlias

from agentgym.installation import missing_extra

try:
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise missing_extra("uvicorn", "server") from error

SILENT_S: Final = 10.0
"""Seconds in which a client has to send a request, a part of its body, or take a part of the
answer."""

_Awaited: TypeAlias = tuple[str, object, int]


class HttpConnection(H11Protocol):
    """A connection that is closed if there are too many, or if its client keeps it waiting."""

    most: ClassVar[int] = 1_024
    """Largest number of connections, those upgraded to WebSocket included."""

    _received_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept or close it."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._watch_again()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        self._received_bytes += len(data)
        super().data_received(data)

    def _watch_again(self) -> None:
        self.loop.call_later(SILENT_S, self._close_if_kept_waiting, self._awaited())

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
