"""Extended attributes of a guest's files, as far as they can be read and archived.

A guest chooses names and values. The kernel takes some that it does not give back, such as empty
capabilities. Standard library only: see `operations.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable


def attributes(path: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the attributes of a file itself that are wanted, but for those that cannot be read.

    Args:
        path: The file; links are not followed.
        wanted: Whether an attribute is wanted, by its name.
    """
    found: dict[str, bytes] = {}
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:  # more than the kernel lists at once, or a file system without attributes
        return found
    for name in filter(wanted, names):
        try:
            found[name] = os.getxattr(path, name, follow_symlinks=False)
        except OSError:
            continue
    return found


def is_keyword(name: str) -> bool:
    """Return whether a pax header can name an extended attribute; a guest chooses any bytes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "=" not in name
