"""Unlinked files that processes still hold: disk space that no walk of folders finds.

The host's /proc (proc(5)) shows them; a kernel without CONFIG_PROC_CHILDREN shows no children
there. The size of a file whose descriptor exists only in a message between two sockets is not
known, but such a message is found.
"""

from __future__ import annotations

import contextlib
import os
import stat


def unlinked_bytes(pid: int) -> int:
    """Return the bytes on disk of nameless files that a guest's processes hold open or mapped.

    Args:
        pid: Host process id of the sandbox's outermost process; the guest's root is that of
            its descendants.
    """
    sizes: dict[tuple[int, int], int] = {}
    for process in _descendants(pid):
        with contextlib.suppress(OSError):
            root = os.stat(f"/proc/{process}/root").st_dev
            for folder in ("fd", "map_files"):
                with contextlib.suppress(OSError):
                    sizes |= _nameless(f"/proc/{process}/{folder}", root)
    return sum(sizes.values())


def sends_descriptors(pid: int) -> bool:
    """Return whether descriptors wait in a socket of a guest's processes (Linux 5.10).

    Args:
        pid: As for `unlinked_bytes`.
    """
    for process in _descendants(pid):
        folder = f"/proc/{process}/fdinfo"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
                    for line in file:
                        key, _, value = line.partition(":")
                        if key == "scm_fds" and int(value):
                            return True
    return False


def _nameless(folder: str, device: int) -> dict[tuple[int, int], int]:
    found = {}
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            info = os.stat(f"{folder}/{name}")
            # Only files of the guest's root count; files in memory have their own limit.
            if stat.S_ISREG(info.st_mode) and not info.st_nlink and info.st_dev == device:
                found[info.st_dev, info.st_ino] = info.st_blocks * 512
    return found


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for process in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/children") as file:
                    found += map(int, file.read().split())
    return found
