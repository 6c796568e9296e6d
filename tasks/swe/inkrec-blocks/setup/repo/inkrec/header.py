"""The first four bytes of a file."""

from typing import BinaryIO

from inkrec.errors import FormatError

MAGIC = b"INK"
VERSION = 1
SIZE = len(MAGIC) + 1


def make_header(version: int) -> bytes:
    return MAGIC + bytes([version])


def check_header(file: BinaryIO) -> int:
    """Return the version of a file and leave it behind the header."""
    header = file.read(SIZE)
    if header[: len(MAGIC)] != MAGIC or len(header) < SIZE:
        raise FormatError("not an inkrec file")
    if header[-1] != VERSION:
        raise FormatError(f"version {header[-1]} is not known; this is version {VERSION}")
    return header[-1]
