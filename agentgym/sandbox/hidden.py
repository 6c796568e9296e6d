"""Hides agentgym, its tasks and its cache from guests that see the host's /usr.

A task's folder holds its checks and its solution. If agentgym, a catalogue or the cache lies
below /usr, an empty folder is mounted over it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentgym.catalogue import private_folders

_SHOWN: Final = "/usr"
_OUT_OF_SIGHT: Final = "/usr/local"
"""A folder that the host does not share: guests have their own there."""


def hidden_folders() -> tuple[str, ...]:
    """Return the outermost folders below /usr that guests must not see."""
    return outermost(os.path.realpath(folder) for folder in private_folders())


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that guests would see, without folders inside another one.

    Example:
        >>> outermost(["/usr/lib/x/y", "/usr/lib/x", "/opt/z", "/usr/local/w"])
        ('/usr/lib/x',)
    """
    found: list[str] = []
    for folder in sorted(set(folders)):
        seen = _is_below(folder, _SHOWN) and not _is_below(folder, _OUT_OF_SIGHT)
        if seen and not any(_is_below(folder, other) for other in found) and Path(folder).is_dir():
            found.append(folder)
    return tuple(found)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/") or (path == folder and folder != _SHOWN)
