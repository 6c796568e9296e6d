"""Frames of WebSocket messages that need no parser: whole ones (RFC 6455, section 5.2)."""

from __future__ import annotations

import contextlib
import struct
from typing import Final

from agentgym.installation import missing_extra

try:
    from websockets.frames import Frame
    from websockets.utils import apply_mask
except ImportError as error:
    raise missing_extra("websockets", "server") from error
with contextlib.suppress(ImportError):  # a platform without the compiled module
    from websockets.speedups import apply_mask

TEXT: Final = 0x81
"""First byte of a text message in one frame."""

BINARY: Final = 0x82
"""First byte of a binary message in one frame."""

_MASKED: Final = 0x80
_SHORTEST: Final = 6
"""Bytes of the shortest masked frame."""

_LARGE_HEADER: Final = 14
"""Bytes of the header of a masked frame whose length takes 8 bytes."""

_BEGIN: Final = 64
"""Bytes of a message that is too large which are read."""

_TWO_BYTES: Final = 126
_EIGHT_BYTES: Final = 127
"""Lengths that stand for one of 2 or 8 bytes, which follows."""


def text_at(data: bytes, begin: int, max_bytes: int) -> tuple[str, int] | None:
    """Return the text of a whole masked text frame, and where the next frame begins.

    Args:
        data: What was read from a connection.
        begin: Where the frame begins.
        max_bytes: Size of the largest text.

    Returns:
        None if a frame of another kind begins there, or only a part of one.
    """
    size = len(data) - begin
    if size < _SHORTEST or data[begin] != TEXT:
        return None
    length, content = data[begin + 1] - _MASKED, begin + _SHORTEST
    if length == _TWO_BYTES:
        if size < _SHORTEST + 2:
            return None
        length, content = int.from_bytes(data[begin + 2 : begin + 4], "big"), content + 2
        if length < _TWO_BYTES:
            return None
    elif length == _EIGHT_BYTES:
        return None
    end = content + length
    if not 0 <= length <= max_bytes or end > len(data):
        return None
    try:
        return apply_mask(data[content:end], data[content - 4 : content]).decode(), end
    except UnicodeDecodeError:
        return None


def large_at(data: bytes, max_bytes: int) -> tuple[int, int] | None:
    """Return the sizes of the header and of the content of a whole message that is too large.

    Args:
        data: What was read from a connection, from the beginning of a frame.
        max_bytes: Size of the largest message.

    Returns:
        None if no masked message of more than `max_bytes` begins there, or only a part of its
        header.
    """
    if len(data) < _LARGE_HEADER or data[0] not in (TEXT, BINARY):
        return None
    if data[1] != _MASKED | _EIGHT_BYTES:
        return None
    length = int.from_bytes(data[2:10], "big")
    return (_LARGE_HEADER, length) if length > max_bytes else None


def begin_of(data: bytes) -> str:
    """Return how the message of a frame that `large_at` found begins, as far as it was read."""
    content = data[_LARGE_HEADER : _LARGE_HEADER + _BEGIN]
    return apply_mask(content, data[_LARGE_HEADER - 4 : _LARGE_HEADER]).decode("utf-8", "replace")


def head(first: int, length: int) -> bytes:
    """Return the header of a whole frame without a mask.

    Args:
        first: `TEXT` or `BINARY`.
        length: Bytes of its content.
    """
    if length < _TWO_BYTES:
        return bytes((first, length))
    if length < 2**16:
        return struct.pack(">BBH", first, _TWO_BYTES, length)
    return struct.pack(">BBQ", first, _EIGHT_BYTES, length)


def bytes_of(frame: Frame) -> int:
    """Return the size of a masked frame with its shortest header."""
    length = len(frame.data)
    return length + (6 if length < _TWO_BYTES else 8 if length < 2**16 else 14)
