"""Reads files of folders that strangers may have written: regular files only, of bounded size.

A FIFO in the place of a file would block its reader, and a link to a device would fill the memory.
Links are followed: authors share files between tasks by links.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from pathlib import Path
from typing import Final

TEXT_BYTES: Final = 8 << 20
"""Largest manifest, instruction, script or other text."""

DATA_BYTES: Final = 1 << 30
"""Largest file that a task brings into its sandbox."""


def open_regular(path: Path, max_bytes: int | None = None) -> io.BufferedReader:
    """Open a regular file.

    A path can lead elsewhere a moment later, so what is open is looked at, and it does not wait for
    the other end of a FIFO. Who reads a file twice reads this one twice.

    Args:
        path: The file, or a link to it.
        max_bytes: Its largest size in bytes; None for any.

    Raises:
        OSError: The file cannot be opened, is not a regular file, or is larger.
    """
    # Without O_NONBLOCK, opening a FIFO waits for its other end.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "expected a regular file", str(path))
        if max_bytes is not None and info.st_size > max_bytes:
            raise _too_large(path, max_bytes)
    except OSError:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def read_regular(path: Path, max_bytes: int = TEXT_BYTES) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file, or a link to it.
        max_bytes: Its largest size in bytes.

    Raises:
        OSError: The file cannot be opened, is not a regular file, or is larger.
    """
    with open_regular(path, max_bytes) as file:
        data = file.read(max_bytes + 1) or b""
    if len(data) > max_bytes:  # it grew, or is a file of /proc, whose size is 0
        raise _too_large(path, max_bytes)
    return data


def digest_regular(path: Path, max_bytes: int = DATA_BYTES) -> str:
    """Return the SHA-256 digest of a regular file, as hexadecimal digits.

    Raises:
        OSError: As for `read_regular`.
    """
    with open_regular(path, max_bytes) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _too_large(path: Path, max_bytes: int) -> OSError:
    said = f"it has more than the {max_bytes >> 20} MiB that are read"
    return OSError(errno.EFBIG, said, str(path))
