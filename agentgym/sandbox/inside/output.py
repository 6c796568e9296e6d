"""Output of a program: read from its pipes without waiting, kept up to a number of bytes."""

from __future__ import annotations

import os

CHUNK = 65536
_ROUNDS = 64


class Capture:
    """Output with a byte limit: it keeps head and tail and counts the omitted middle."""

    def __init__(self, limit: int) -> None:
        self.head_room = limit - limit // 2
        self.tail_room = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.omitted = 0

    def add(self, data: bytes) -> None:
        room = self.head_room - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self.tail += data
            over = len(self.tail) - self.tail_room
            # Trimming in large bites keeps an endless writer from costing a copy per chunk.
            if over > self.tail_room + CHUNK:
                del self.tail[:over]
                self.omitted += over

    def take(self) -> tuple[bytes, int]:
        """Return (bytes, omitted) and reset the capture."""
        over = len(self.tail) - self.tail_room
        if over > 0:
            del self.tail[:over]
            self.omitted += over
        head, tail, omitted = bytes(self.head), bytes(self.tail), self.omitted
        self.head, self.tail, self.omitted = bytearray(), bytearray(), 0
        if omitted:
            note = f"\n[... {omitted} bytes omitted ...]\n".encode()
            return head + note + tail, omitted
        return head + tail, 0


def read_some(fd: int) -> bytes | None:
    """Return the available bytes, b"" at the end, None if no data is available yet."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def drain(fd: int | None, capture: Capture) -> None:
    """Move the content of a pipe into a capture; bounded, because a writer may never stop."""
    if fd is not None:
        for _ in range(_ROUNDS):
            data = read_some(fd)
            if not data:
                return
            capture.add(data)
