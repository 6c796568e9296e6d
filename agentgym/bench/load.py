"""A load for WebSocket servers that costs little: raw sockets, prepared frames (RFC 6455).

Each connection sends its next message when the answer to the one before has come.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

_KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
_SILENT_S: Final = 30.0


@dataclass(eq=False)
class Player:
    """One connection of a load.

    Args:
        url: Address of the server's WebSocket.

    Raises:
        OSError: The server cannot be reached, or accepts no WebSocket.
    """

    url: str
    socket: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        assert parts.hostname is not None and parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), _SILENT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self.socket.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {_KEY}"
            "\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._buffer:
            self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"{self.url} answered {head[:100]!r}")

    def send(self, frame: bytes) -> None:
        """Send a frame."""
        self.socket.sendall(frame)

    def ask(self, message: Mapping[str, Any]) -> Any:
        """Send a message and return its answer."""
        self.send(frame_of(message))
        while (answer := self.take()) is None:
            self._receive()
        return json.loads(answer)

    def take(self) -> bytes | None:
        """Return the content of the next frame that has come, None if it has not come wholly."""
        if len(self._buffer) < 2:
            return None
        size, start = self._buffer[1], 2
        if size == 126:
            start = 4
            if len(self._buffer) < start:
                return None
            (size,) = struct.unpack_from(">H", self._buffer, 2)
        if len(self._buffer) < start + size:
            return None
        content = self._buffer[start : start + size]
        self._buffer = self._buffer[start + size :]
        return content

    def receive(self) -> bytes | None:
        """Read what has come; return the content of the next frame."""
        self._receive()
        return self.take()

    def _receive(self) -> None:
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError(f"{self.url} closed the connection")
        self._buffer += data

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


def frame_of(message: Mapping[str, Any]) -> bytes:
    """Return the frame of a client's message; its mask of zeros leaves the text as it is."""
    text = json.dumps(message).encode()
    size = struct.pack(">BBH", 0x81, 0x80 | 126, len(text))
    short = bytes((0x81, 0x80 | len(text))) if len(text) < 126 else size
    return short + b"\0\0\0\0" + text


def steps_per_s(players: list[Player], frames: list[list[bytes]]) -> float:
    """Play prepared frames and return the answers of all connections a second.

    Args:
        players: The connections.
        frames: The frames of each.
    """
    selector = selectors.DefaultSelector()
    left = 0
    for player, own in zip(players, frames, strict=True):
        selector.register(player.socket, selectors.EVENT_READ, (player, iter(own[1:])))
        left += len(own)
    answers, started = left, time.perf_counter()
    for player, own in zip(players, frames, strict=True):
        player.send(own[0])
    while left:
        for key, _ in selector.select(_SILENT_S):
            player, following = key.data
            if player.receive() is None:
                continue
            left -= 1
            if (frame := next(following, None)) is not None:
                player.send(frame)
    selector.close()
    return answers / (time.perf_counter() - started)
