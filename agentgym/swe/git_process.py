"""Runs Git on a clone of a stranger, whose objects and special files may be made to exhaust it.

An object of a megabyte may unpack to gigabytes, and a tree may name billions of files. Git's
memory, its output and its time are therefore bounded.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

MOST_OUTPUT: Final = 512 << 20
"""Bytes that Git may print."""

MEMORY: Final = 4 << 30
"""Address space that Git may have; `WINDOWS` keep large packs within it."""

WINDOWS: Final = (
    *("-c", "core.packedGitWindowSize=32m", "-c", "core.packedGitLimit=1g"),
    *("-c", "core.bigFileThreshold=64m"),
)
"""Options with which Git maps packs in parts and streams large files."""

_PIECE: Final = 1 << 20
_SAID: Final = 4_000


class GitLimitError(Exception):
    """Git took too long, or printed too much; the message says which."""


def run_git(
    argv: Sequence[str], env: Mapping[str, str], stdin: bytes, timeout_s: float
) -> tuple[int, bytes, str]:
    """Run Git within bounds.

    Returns:
        Its exit code, its output, and the end of what it said on standard error.

    Raises:
        FileNotFoundError: Git is not installed.
        GitLimitError: It exceeded a bound, and was killed.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(stdin)
        given.seek(0)
        with subprocess.Popen(
            argv, stdin=given, stdout=subprocess.PIPE, stderr=said, env=dict(env)
        ) as process:
            try:
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_PIECE, _PIECE))
                assert process.stdout is not None
                output = _read(process.stdout, time.monotonic() + timeout_s)
                code = process.wait()
            except TimeoutError:
                raise GitLimitError(f"took {timeout_s:.0f} s") from None
            finally:
                process.kill()
        said.seek(0, os.SEEK_END)
        said.seek(max(said.tell() - _SAID, 0))
        return code, output, said.read().decode("utf-8", "replace")


def _read(output: IO[bytes], until_s: float) -> bytes:
    """Read until Git closes its output."""
    read = bytearray()
    descriptor = output.fileno()
    while True:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
            raise TimeoutError
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return bytes(read)
        read += piece
        if len(read) > MOST_OUTPUT:
            raise GitLimitError(f"printed more than {MOST_OUTPUT >> 20} MiB")
