"""A load for WebSocket servers that costs little: raw sockets, prepared frames (RFC 6455).

Each connection sends its next messages when the answers to the ones before have come.
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

    def receive(self) -> int:
        """Read what has come; return how many whole frames it had."""
        self._receive()
        frames = 0
        while self.take() is not None:
            frames += 1
        return frames

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


def steps_per_s(players: list[Player], frames: list[list[bytes]], lanes: int = 1) -> float:
    """Play prepared frames and return the answers of all connections a second.

    Args:
        players: The connections.
        frames: The frames of each.
        lanes: How many frames each connection sends at once. It sends the next ones when all of
            these are answered, as the client of a vector environment does.
    """
    selector = selectors.DefaultSelector()
    turns = []
    for player, own in zip(players, frames, strict=True):
        turn = _Turn(player, own, lanes)
        selector.register(player.socket, selectors.EVENT_READ, turn)
        turns.append(turn)
    left, started = sum(map(len, frames)), time.perf_counter()
    for turn in turns:
        turn.send()
    while left:
        for key, _ in selector.select(_SILENT_S):
            answers = key.data.player.receive()
            left -= answers
            key.data.unanswered -= answers
            if not key.data.unanswered:
                key.data.send()
    selector.close()
    return sum(map(len, frames)) / (time.perf_counter() - started)


@dataclass(eq=False, slots=True)
class _Turn:
    """The frames of one connection, and how many of them are sent and not answered."""

    player: Player
    frames: list[bytes]
    lanes: int
    sent: int = 0
    unanswered: int = 0

    def send(self) -> None:
        """Send the next frames, if there are more."""
        following = self.frames[self.sent : self.sent + self.lanes]
        self.sent += len(following)
        self.unanswered = len(following)
        if following:
            self.player.send(b"".join(following))
