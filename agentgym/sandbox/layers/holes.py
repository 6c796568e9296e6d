"""Copies files without their holes: blocks that a file counts in its size and does not occupy.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator


def data_parts(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the data between the holes of a file."""
    at = 0
    while at < size:
        try:
            start = os.lseek(file, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        at = min(os.lseek(file, start, os.SEEK_HOLE), size)
        yield start, at - start


def copy_with_holes(source: str, target: str) -> None:
    """Copy the content of a regular file into a new file; its holes stay holes."""
    with open(source, "rb") as old, open(target, "xb") as new:
        size = os.fstat(old.fileno()).st_size
        os.truncate(new.fileno(), size)
        for start, length in data_parts(old.fileno(), size):
            os.lseek(new.fileno(), start, os.SEEK_SET)
            _copy(old.fileno(), new.fileno(), start, length)


def _copy(old: int, new: int, start: int, length: int) -> None:
    end = start + length
    while start < end:
        done = os.sendfile(new, old, start, end - start)
        if not done:
            raise OSError(errno.EIO, "a file became shorter while it was copied")
        start += done
