"""Read files that an agent had to leave at a path, and refuse symbolic links.

A link into a scratch folder reads the same today but leads nowhere once that folder is cleared.
"""

from __future__ import annotations

from agentgym.errors import GuestFileError
from agentgym.protocols import FileTree


def read_in_place(tree: FileTree, path: str, *, max_bytes: int) -> bytes:
    """Return the bytes of a regular file; no part of its path may be a symbolic link.

    Args:
        tree: The files of a guest.
        path: Absolute path of the file.
        max_bytes: Size limit.

    Raises:
        GuestFileError: A part of the path is a link, or there is no readable file.
    """
    parts = path.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        part = "/" + "/".join(parts[:count])
        stat = tree.stat(part, follow=False)
        if stat is not None and stat.kind == "link":
            raise GuestFileError(f"{path}: {part} is a link to {stat.target!r:.80}, not the thing")
    return tree.read(path, max_bytes=max_bytes)
