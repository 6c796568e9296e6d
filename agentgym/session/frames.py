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

_TWO_BYTES: Final = 126
_EIGHT_BYTES: Final = 127
"""Lengths that stand for one of 2 or 8 bytes, which follows."""


def text_of(data: bytes, max_bytes: int) -> str | None:
    """Return the text of data that is one whole masked text frame, else None.

    Args:
        data: What was read from a connection, between two frames.
        max_bytes: Size of the largest text.
    """
    size = len(data)
    if size < _SHORTEST or data[0] != TEXT:
        return None
    length, begin = data[1] - _MASKED, 6
    if length == _TWO_BYTES:
        if size < _SHORTEST + 2:
            return None
        length, begin = int.from_bytes(data[2:4], "big"), 8
        if length < _TWO_BYTES:
            return None
    elif length == _EIGHT_BYTES:
        return None
    if not 0 <= length <= max_bytes or size != begin + length:
        return None
    try:
        return apply_mask(data[begin:], data[begin - 4 : begin]).decode()
    except UnicodeDecodeError:
        return None


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
