"""The disk space that a layer occupies.

Standard library only, because it also runs in a child inside a user namespace (see
`layer_operations.py`).
"""

from __future__ import annotations

import contextlib
import stat

from agentgym.sandbox.layer_stack import scan

# An empty file takes no block but one of the disk's inodes, so it counts like a file of one byte.
ENTRY_BYTES = 4096


def size(layer: str, apparent: bool = False) -> int:
    """Return the bytes that the files of one layer occupy on disk, each at least `ENTRY_BYTES`.

    Args:
        layer: Its folder.
        apparent: Whether to count holes as well, which occupy disk space once files are copied.
    """
    total, todo, linked = 0, [layer], set()
    while todo:
        folder = todo.pop()
        # A live layer changes meanwhile: a file that has vanished occupies nothing.
        with contextlib.suppress(OSError):
            for name, info in scan(folder):
                if stat.S_ISDIR(info.st_mode):
                    todo.append(f"{folder}/{name}")
                elif info.st_nlink > 1:
                    if (info.st_dev, info.st_ino) in linked:
                        continue
                    linked.add((info.st_dev, info.st_ino))
                holes = info.st_size if apparent and stat.S_ISREG(info.st_mode) else 0
                total += max(info.st_blocks * 512, holes, ENTRY_BYTES)
    return total
