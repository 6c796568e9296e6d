"""Removes the trees that guests leave, whatever their modes and their depth.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from itertools import islice

from agentgym.sandbox.layers.stack import is_real_dir

# This module removes trees with at most this many levels; `rm` removes deeper ones.
_SHALLOW = 30
# A guest can put millions of names into one folder.
_AT_A_TIME = 10_000


def remove(path: str) -> None:
    """Remove a tree of any modes and any depth; do nothing if the path is absent.

    Raises:
        OSError: A part of it could not be removed.
    """
    if not os.path.lexists(path):
        return
    if not is_real_dir(path):
        os.unlink(path)
        return
    with contextlib.suppress(OSError):
        if _removed(path, _SHALLOW):
            return
    # rm walks by descriptors, because a guest can nest deeper than any path can name.
    # In a session of its own, so that a ctrl-c of the terminal does not end it half-way.
    done = subprocess.run(
        ["rm", "-rf", "--", path], capture_output=True, check=False, start_new_session=True
    )
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
        raise OSError(errno.ENOTEMPTY, f"cannot be removed: {lines[-1][:300]}", path)


def _removed(path: str, levels: int, above: int | None = None) -> bool:
    """Remove a folder of few levels without a child process; return False if it is deeper."""
    if not levels:
        return False
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(path, flags, dir_fd=above)
    try:
        while found := _some_of(folder):
            for name, is_dir in found:
                if not is_dir:
                    os.unlink(name, dir_fd=folder)
                elif not _removed(name, levels - 1, folder):
                    return False
    finally:
        os.close(folder)
    os.rmdir(path, dir_fd=above)
    return True


def _some_of(folder: int) -> list[tuple[str, bool]]:
    """Return some of the names in a folder, each with whether it is a folder."""
    with os.scandir(folder) as entries:
        return [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in islice(entries, _AT_A_TIME)
        ]
