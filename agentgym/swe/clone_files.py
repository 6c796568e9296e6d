"""Refuses a clone in which Git would open something else than a file or a folder.

Git opens what lies in its folder without a look at its kind, and waits for ever at a FIFO.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentgym.errors import TaskError
from agentgym.manifest import show_path
from agentgym.regular_file import read_regular

_MOST: Final = 2_000_000
_MOST_FOLDERS: Final = 20
_MOST_TEXT: Final = 1 << 16
_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def refuse_special_files(path: Path) -> None:
    """Look at every name in the Git folders of a clone.

    Args:
        path: The clone: a working tree, or a bare one.

    Raises:
        TaskError: Something is neither a file nor a folder, or there are too many names.
    """
    dot_git = path / ".git"
    waiting = [dot_git if os.path.lexists(dot_git) else path]
    seen: set[Path] = set()
    count = 0
    while waiting and len(seen) < _MOST_FOLDERS:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        _refuse(folder)
        if folder.is_file():  # A working tree elsewhere: gitdir: FOLDER
            waiting += _named(folder, folder.parent, "gitdir:")
            continue
        for entry in _entries(folder):
            count += 1
            _refuse(Path(entry.path))
            if entry.is_symlink() and Path(entry.path).is_dir():
                waiting.append(Path(entry.path))
            if count > _MOST:
                raise TaskError(f"{show_path(path)}: more than {_MOST} files in its Git folder")
        waiting += _named(folder / "commondir", folder)
        waiting += _named(folder / "objects" / "info" / "alternates", folder / "objects")


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what lies below a folder; links are not followed, and no depth is too large."""
    waiting = [str(folder)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # of a path that is too long for Git as well
            continue
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _refuse(path: Path) -> None:
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return  # A broken link, or one in a circle: Git finds nothing there either.
    if kind in _KINDS:
        told = f"{show_path(path)} is {_KINDS[kind]}; expected only files and folders in a clone"
        raise TaskError(told)


def _named(file: Path, base: Path, prefix: str = "") -> list[Path]:
    """Return the folders that a file of Git's names, one a line."""
    try:
        text = read_regular(file, _MOST_TEXT).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return []
    lines = (line.removeprefix(prefix).strip() for line in text.splitlines())
    return [base / line for line in lines if line and not line.startswith("#")]
