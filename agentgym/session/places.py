"""The places of a server for connections; each has one from the moment it is accepted.

A connection with TLS takes 300 kB before its handshake, in which no protocol hears of it. Where all
places are taken, a new connection gets that of the one that has waited longest for a request, so
that strangers who do nothing keep no client out.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
from typing import Any, Final, Protocol

MOST_OPENING: Final = 128
"""Largest number of connections whose handshake is not over."""

_COLLECTED_AFTER: Final = 256
"""Ended handshakes after which their memory is freed: asyncio leaves each in a circle."""


class Waiting(Protocol):
    """A connection that waits for a request."""

    def give_place(self) -> None:
        """Close it at once."""
        ...


class Places:
    """The places of one server.

    Args:
        most: Number of places.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: list[socket.socket] = []
        self._uncollected = 0
        # Both in the order of their time, the oldest first.
        self._opening: dict[int, socket.socket] = {}
        self._waiting: dict[Waiting, None] = {}

    def listener(self, listening: socket.socket) -> socket.socket:
        """Return a socket that listens for another one, and accepts what gets a place."""
        return _Listener(self, os.dup(listening.fileno()))

    def take(self, connection: socket.socket) -> bool:
        """Give a new connection a place; return whether there is one."""
        self._taken = [one for one in self._taken if one.fileno() >= 0]
        if len(self._taken) >= self._most and not self._make_room():
            return False
        self._taken.append(connection)
        self._opening.pop(connection.fileno(), None)  # Its number was that of a closed one.
        self._opening[connection.fileno()] = connection
        if len(self._opening) > MOST_OPENING:
            self._end_oldest_opening()
        return True

    def opened(self, descriptor: int) -> None:
        """Take down that the handshake of a connection is over."""
        self._opening.pop(descriptor, None)

    def wait(self, connection: Waiting) -> None:
        """Take down that a connection waits for a request; it may do so already."""
        self._waiting.setdefault(connection)

    def work(self, connection: Waiting) -> None:
        """Take down that a connection does not wait for a request any more."""
        self._waiting.pop(connection, None)

    def _make_room(self) -> bool:
        if self._waiting:
            connection = next(iter(self._waiting))
            self.work(connection)
            connection.give_place()
            return True
        return self._end_oldest_opening()

    def _end_oldest_opening(self) -> bool:
        """End the connection that opens for the longest time; return whether there is one."""
        while self._opening:
            oldest = self._opening.pop(next(iter(self._opening)))
            if oldest.fileno() >= 0:
                # Its transport reads the end of the stream, and closes it.
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
                self._uncollected += 1
                if self._uncollected >= _COLLECTED_AFTER:
                    self._uncollected = 0
                    gc.collect()
                return True
        return False


class _Listener(socket.socket):
    """A listening socket that closes connections without a place."""

    def __init__(self, places: Places, descriptor: int) -> None:
        super().__init__(fileno=descriptor)
        self._places = places

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            BlockingIOError: No connection waits, or a new one had no place.
        """
        connection, address = super().accept()
        if not self._places.take(connection):
            connection.close()
            raise BlockingIOError("no place for a connection")
        return connection, address
