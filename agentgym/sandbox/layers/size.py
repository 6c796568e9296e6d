"""The disk space that a layer occupies.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from agentgym.sandbox.layers.removal import remove

# An empty file takes no block but one of the disk's inodes, so it counts like a file of one byte.
ENTRY_BYTES = 4096

UNKNOWN_BYTES = 2**62
"""The size of folders nested so deep that they are not measured: more than any limit."""

MOST_NAMES = 300_000
MOST_NAME_BYTES = 64 * 2**20
"""Limits of a copied layer of a guest: its names, and the bytes of their paths."""

_LONGEST_PATH = 2**14
# Sizes of the files that are emptied first, second and so on, in bytes.
_LARGE = (2**26, 2**20, 2**16, 1)
# The kernel takes paths of 4,095 bytes, but a guest can nest deeper, one folder at a time.
_KERNELS_PATH = 4_000
_OPENING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def size(layer: str, apparent: bool = False) -> int:
    """Return the bytes that the files of one layer occupy on disk, each at least `ENTRY_BYTES`.

    Folders below a path of more than 16 KiB are not read, and count `UNKNOWN_BYTES`.

    Args:
        layer: Its folder.
        apparent: Whether to count holes as well, which occupy disk space once files are copied.
    """
    total = 0
    linked: set[tuple[int, int]] = set()
    for _, _, info in _files(layer):
        if info is None:
            return UNKNOWN_BYTES
        if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
            if (info.st_dev, info.st_ino) in linked:
                continue
            linked.add((info.st_dev, info.st_ino))
        holes = info.st_size if apparent and stat.S_ISREG(info.st_mode) else 0
        total += max(info.st_blocks * 512, holes, ENTRY_BYTES)
    return total


def check_copyable(layer: str) -> None:
    """Refuse a layer with so many names that copying it would take minutes and much memory.

    A name takes no disk space that a limit could bound: a file has up to 65,000 of them.

    Raises:
        OSError: EOVERFLOW: there are more than `MOST_NAMES`, or their paths exceed
            `MOST_NAME_BYTES`.
    """
    names, path_bytes = MOST_NAMES, MOST_NAME_BYTES
    root = os.path.realpath(layer)
    for folder, name, _ in _files(root):
        names -= 1
        path_bytes -= len(folder) - len(root) + 1 + len(name)
        if names < 0 or path_bytes < 0:
            said = (
                f"more than {MOST_NAMES:,} names were written, or their paths have more than "
                f"{MOST_NAME_BYTES >> 20} MiB"
            )
            raise OSError(errno.EOVERFLOW, said)


def empty_largest(layer: str, most: int) -> tuple[int, str]:
    """Empty the largest files of a layer that nothing uses, until all have `most` bytes of blocks.

    Folders that are nested too deep to be read are removed with all that is in them.

    Returns:
        The number of files and folders that lost something, and the path of the first one within
        the layer.
    """
    count, first, root = 0, "", os.path.realpath(layer)
    for folder, name, info in _files(root):
        if info is None:
            _remove_in(folder, name)
            count, first = count + 1, first or f"{folder[len(root) :]}/{name}"
    for least in _LARGE:
        left = sum(_blocks(info) for _, _, info in _files(root))
        for folder, name, info in _files(root):
            if left <= most:
                return count, first
            if _blocks(info) >= least and _empty(folder, name):
                left -= _blocks(info)
                count, first = count + 1, first or f"{folder[len(root) :]}/{name}"
    return count, first


def _blocks(info: os.stat_result | None) -> int:
    """Return the bytes that a regular file occupies; 0 for anything else."""
    return info.st_blocks * 512 if info is not None and stat.S_ISREG(info.st_mode) else 0


def _files(layer: str) -> Iterator[tuple[str, str, os.stat_result | None]]:
    """Yield folder, name and description of everything in a layer.

    Only the names of the folders on one path are kept in memory. A folder whose path is too long is
    yielded a second time, without a description, and not read.
    """
    layer = os.path.realpath(layer)
    # By level: names of the folder's path, and of folders in it that are still to be read.
    path: list[str] = []
    pending: list[list[str]] = [[""]]
    while pending:
        if not pending[-1]:
            pending.pop()
            del path[-1:]
            continue
        path.append(pending[-1].pop())
        folders: list[str] = []
        inner = "/".join(path)
        if len(inner) > _LONGEST_PATH:
            yield layer + "/".join(path[:-1]), path[-1], None
        else:
            # A live layer changes meanwhile: a file that has vanished occupies nothing.
            with contextlib.suppress(OSError):
                for name, info in _entries(layer + inner):
                    if stat.S_ISDIR(info.st_mode):
                        folders.append(name)
                    yield layer + inner, name, info
        pending.append(folders)


def _empty(folder: str, name: str) -> bool:
    """Empty a file; return whether that worked."""
    with contextlib.suppress(OSError), _opened(folder) as above:
        os.close(os.open(name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, dir_fd=above))
        return True
    return False


def _remove_in(folder: str, name: str) -> None:
    """Remove a folder with all that is in it, as far as possible."""
    with contextlib.suppress(OSError), _opened(folder) as above:
        remove(f"/proc/self/fd/{above}/{name}")


@contextlib.contextmanager
def _opened(folder: str) -> Iterator[int]:
    opened = _open(folder)
    try:
        yield opened
    finally:
        os.close(opened)


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the entries of a directory, whose path may be longer than the kernel takes."""
    with _opened(folder) as opened, os.scandir(opened) as found:
        for entry in found:
            yield entry.name, entry.stat(follow_symlinks=False)


def _open(folder: str) -> int:
    rest, above = folder, None
    while True:
        cut = len(rest)
        while len(os.fsencode(rest[:cut])) > _KERNELS_PATH:
            cut = rest.rindex("/", 0, min(cut, _KERNELS_PATH))
        try:
            opened = os.open(rest[:cut], _OPENING, dir_fd=above)
        finally:
            if above is not None:
                os.close(above)
        rest, above = rest[cut:].lstrip("/"), opened
        if not rest:
            return opened
