"""Overlay layers merged into one view, as a mount would show them: paths, directories, walks.

A stack is a list of directories, topmost first, in the on-disk format of Linux overlayfs
(kernel docs, filesystems/overlayfs). A deleted name is a character device 0/0. A directory that
hides lower content carries an attribute "y": ``user.overlay.opaque`` if the mount has the option
`userxattr`, else ``trusted.overlay.opaque``. Each stack uses only one of the two, because a guest
may set the other one to any value.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

OPAQUE = "user.overlay.opaque"
TRUSTED_OPAQUE = "trusted.overlay.opaque"
NESTED = "folders are nested deeper than a path can name"
MAX_LINKS = 40
Found = tuple[str, os.stat_result]


class Stack:
    """A merged view of layers. Paths are absolute in the guest; links never lead out of it.

    Args:
        layers: Layer directories, topmost first.
        binds: Guest directory to host directory, visible below everything in the layers; guest
            file to host file, visible over everything.
        opaque: The attribute of directories that hide what is below.
    """

    def __init__(
        self, layers: list[str], binds: dict[str, str] | None = None, opaque: str = OPAQUE
    ) -> None:
        self.layers = layers
        self.binds = binds or {}
        self.opaque = opaque

    def first_id(self) -> int:
        """Return the host id of the guest's user 0, which owns the root of the lowest layer."""
        return os.lstat(self.layers[-1]).st_uid if self.layers else 0

    def lookup(self, path: str, follow: bool = True) -> tuple[list[str], os.stat_result] | None:
        """Return the place of a path: the directories that merge there, or the one other entry."""
        return self._resolve(path, follow)[1]

    def entry(self, path: str) -> tuple[list[str], os.stat_result] | None:
        """Return the entry of a path without following links, not even on the way."""
        found: tuple[list[str], os.stat_result] | None = self._root()
        here = ""
        for name in path.strip("/").split("/"):
            here += f"/{name}"
            if found is None or not stat.S_ISDIR(found[1].st_mode):
                return None
            found = self.step(found[0], name, here)
        return found

    def real(self, path: str) -> str:
        """Return a path with every link resolved inside the guest's root."""
        return self._resolve(path, follow=True)[0]

    def _resolve(
        self, path: str, follow: bool
    ) -> tuple[str, tuple[list[str], os.stat_result] | None]:
        todo = [part for part in reversed(path.split("/")) if part]
        links = 0
        # The directories on the way down: guest path and the merged directories.
        parents: list[tuple[str, list[str]]] = [("", self.layers)]
        found: tuple[list[str], os.stat_result] | None = self._root()
        while todo:
            name = todo.pop()
            if name == ".":
                continue
            if name == "..":
                if len(parents) > 1:
                    parents.pop()
                found = (parents[-1][1], os.lstat(parents[-1][1][0]))
                continue
            parent, folders = parents[-1]
            here = f"{parent}/{name}"
            found = self.step(folders, name, here)
            if found is None:
                return here, None
            if stat.S_ISLNK(found[1].st_mode) and (todo or follow):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = os.readlink(found[0][0])
                if target.startswith("/"):
                    del parents[1:]
                found = (parents[-1][1], os.lstat(parents[-1][1][0]))
                todo += [part for part in reversed(target.split("/")) if part]
                continue
            if not stat.S_ISDIR(found[1].st_mode):
                return here, (None if todo else found)
            parents.append((here, found[0]))
        return parents[-1][0] or "/", found

    def _root(self) -> tuple[list[str], os.stat_result]:
        return self.layers, os.lstat(self.layers[0])

    def step(
        self, parents: list[str], name: str, here: str
    ) -> tuple[list[str], os.stat_result] | None:
        """Merge one name over its parent directories, topmost first; `here` is its path."""
        merged: list[str] = []
        first: os.stat_result | None = None
        bind = self.binds.get(here)
        if bind is not None and os.path.isfile(bind):
            return [bind], os.lstat(bind)
        for candidate in [f"{parent}/{name}" for parent in parents] + ([bind] if bind else []):
            info = _lstat(candidate)
            if info is None:
                continue
            if is_whiteout(info):
                break
            if not stat.S_ISDIR(info.st_mode):
                return (merged, first) if first else ([candidate], info)
            merged.append(candidate)
            first = first or info
            if is_opaque(candidate, self.opaque):
                break
        return (merged, first) if first else None

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory. Raises OSError."""
        found = self.lookup(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not stat.S_ISDIR(found[1].st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return _merged_names(found[0])

    def walk(self, path: str) -> Iterator[tuple[str, Found]]:
        """Yield (guest path, (host path, stat)) below a directory, parents first.

        Raises:
            OSError: The path is not a directory (a link does not count), or leads into a bound
                directory of the host that it does not name. EOVERFLOW: folders are nested deeper
                than a path can name.
        """
        found = self.lookup(path, follow=False)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not stat.S_ISDIR(found[1].st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        base = self.real(path).rstrip("/")
        for bind in self.binds:
            if f"{base}/".startswith(f"{bind}/") and not f"{path}/".startswith(f"{bind}/"):
                raise OSError(errno.EXDEV, f"Leads into {bind}, which belongs to the host", path)
        todo = [(base, found[0])]
        while todo:
            here, folders = todo.pop()
            below = []
            for name in _merged_names(folders):
                child = f"{here}/{name}"
                entry = self.step(folders, name, child)
                if entry is None:
                    continue
                yield child, (entry[0][0], entry[1])
                if stat.S_ISDIR(entry[1].st_mode):
                    below.append((child, entry[0]))
            todo += reversed(below)


def _merged_names(folders: list[str]) -> list[str]:
    names: dict[str, bool] = {}
    for folder in folders:
        # A check that lists folders must not miss a file because of the depth of its folder.
        for name, info in entries(folder, whole=True):
            names.setdefault(name, not is_whiteout(info))
    return sorted(name for name, there in names.items() if there)


def scan(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return the entries of a directory; empty if its path is too long for the kernel.

    A guest can nest directories deeper than a path can name. Such a directory is listed without
    its content.
    """
    return list(entries(folder))


def entries(folder: str, *, whole: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the entries of a directory one by one, as `scan` returns them.

    Args:
        folder: The directory.
        whole: Refuse a directory some of whose entries no path can name.

    Raises:
        OSError: EOVERFLOW: there are such entries.
    """
    try:
        with os.scandir(folder) as found:
            for entry in found:
                yield entry.name, entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        if whole:
            raise OSError(errno.EOVERFLOW, NESTED) from error


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return None
        raise


def is_whiteout(info: os.stat_result) -> bool:
    """Return whether an entry of a layer marks a deletion."""
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == 0


def is_opaque(folder: str, attribute: str = OPAQUE) -> bool:
    """Return whether a directory of a layer hides the same directory in lower layers."""
    try:
        return os.getxattr(folder, attribute, follow_symlinks=False) == b"y"
    except OSError:
        return False


def is_real_dir(path: str) -> bool:
    """Return whether a path is a directory and no link to one."""
    return os.path.isdir(path) and not os.path.islink(path)
