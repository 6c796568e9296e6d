"""One record as bytes."""

import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from inkrec import varint

MOST_BYTES = 64 * 2**20
OWN_KINDS = 128


@dataclass(frozen=True)
class Record:
    """A record; `offset` is where it begins in its file."""

    offset: int
    kind: int
    data: bytes


def encode(kind: int, data: bytes) -> bytes:
    body = bytes([kind]) + data
    return varint.encode(len(data)) + body + struct.pack(">I", zlib.crc32(body))


def read(file: BinaryIO) -> tuple[int, bytes] | None:
    """Return kind and data of the next record, None at the end.

    Raises:
        varint.TornError: The record is torn, too long, or its checksum is wrong.
    """
    length = varint.read(file)
    if length is None:
        return None
    if length > MOST_BYTES:
        raise varint.TornError(f"a record of {length} bytes")
    body = file.read(length + 1)
    checksum = file.read(4)
    if len(body) < length + 1 or len(checksum) < 4:
        raise varint.TornError("a record is torn")
    if struct.unpack(">I", checksum)[0] != zlib.crc32(body):
        raise varint.TornError("a record has another checksum")
    return body[0], body[1:]
