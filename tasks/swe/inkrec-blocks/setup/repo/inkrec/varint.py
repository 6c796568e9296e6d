"""Varints: seven bits a byte, the lowest first."""

from typing import BinaryIO

MOST_BYTES = 5


class TornError(Exception):
    """The file ends within a value."""


def encode(value: int) -> bytes:
    if value < 0:
        raise ValueError(f"expected a value of at least 0, got {value}")
    made = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        made.append(low | (0x80 if value else 0))
        if not value:
            return bytes(made)


def read(file: BinaryIO) -> int | None:
    """Return the next value; None at the end of the file."""
    value = 0
    for count in range(MOST_BYTES):
        byte = file.read(1)
        if not byte:
            if count:
                raise TornError("a length is torn")
            return None
        value |= (byte[0] & 0x7F) << (7 * count)
        if not byte[0] & 0x80:
            return value
    raise TornError("a length that does not end")
