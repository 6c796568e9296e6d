"""Binary parts of Git patches: zlib in base 85, as a literal or as a delta.

The formats are those of git-diff(1) with ``--binary`` and of deltas in gitformat-pack(5).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

from agentgym.swe.patch import FILE_BYTES, PatchError

_LINE_BYTES = 52
_LENGTHS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def write_literal(data: bytes) -> str:
    """Return content as a ``literal`` part."""
    packed = zlib.compress(data)
    lines = [f"literal {len(data)}"]
    for start in range(0, len(packed), _LINE_BYTES):
        piece = packed[start : start + _LINE_BYTES]
        lines.append(chr(_LENGTHS[len(piece) - 1]) + base64.b85encode(piece, pad=True).decode())
    return "\n".join(lines) + "\n"


def read_part(header: bytes, lines: Sequence[bytes], before: bytes) -> bytes:
    """Return the content that a ``literal`` or ``delta`` part makes of a file.

    Args:
        header: Its first line.
        lines: The lines below it, without line ends.
        before: The content that a delta refers to.

    Raises:
        PatchError: It is malformed or too large.
    """
    kind, _, size = header.partition(b" ")
    if kind not in (b"literal", b"delta") or not size.isdigit() or len(size) > 12:
        raise PatchError(f"binary patch: expected 'literal N' or 'delta N', got {header[:40]!r}")
    if int(size) > FILE_BYTES:
        raise PatchError(f"binary patch of {int(size)} bytes; at most {FILE_BYTES >> 20} MiB")
    data = _inflate(b"".join(map(_unpack_line, lines)), int(size))
    return data if kind == b"literal" else _apply_delta(data, before)


def _unpack_line(line: bytes) -> bytes:
    count = _LENGTHS.find(line[:1]) + 1
    try:
        data = base64.b85decode(line[1:])
    except ValueError:
        data = b""
    if not line or not count or not count <= len(data) < count + 4:
        raise PatchError(f"binary patch: {line[:20]!r} is not a line in base 85")
    return data[:count]


def _inflate(packed: bytes, size: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(packed, size + 1)
    except zlib.error as error:
        raise PatchError(f"binary patch: {error}") from None
    if len(data) != size or not reader.eof:
        raise PatchError(f"binary patch: expected {size} bytes of content")
    return data


def _apply_delta(delta: bytes, before: bytes) -> bytes:
    try:
        base_size, at = _varint(delta, 0)
        size, at = _varint(delta, at)
        if base_size != len(before):
            raise PatchError("binary patch: the base has another content")
        made = bytearray()
        while at < len(delta):
            order, at = delta[at], at + 1
            if order & 0x80:
                offset, at = _operand(delta, at, order, 4)
                count, at = _operand(delta, at, order >> 4, 3)
                piece = before[offset : offset + (count or 0x10000)]
            else:
                piece, at = delta[at : at + order], at + order
            made += piece
            if not piece or len(made) > min(size, FILE_BYTES):
                raise PatchError("binary patch: a delta that does not fit its base")
    except IndexError:
        raise PatchError("binary patch: a delta that ends too early") from None
    if len(made) != size:
        raise PatchError(f"binary patch: a delta makes {len(made)} bytes, expected {size}")
    return bytes(made)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > 35:
            raise PatchError("binary patch: a size that never ends")


def _operand(data: bytes, at: int, bits: int, count: int) -> tuple[int, int]:
    value = 0
    for index in range(count):
        if bits >> index & 1:
            value |= data[at] << 8 * index
            at += 1
    return value, at
