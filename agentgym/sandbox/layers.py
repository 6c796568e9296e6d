"""Overlay layers as data: reading a stack, comparing, copying, squashing, removing.

A stack is a list of directories, topmost first, in the on-disk format of Linux overlayfs with
`userxattr` (kernel docs, filesystems/overlayfs): a deleted name is a character device 0/0, a
directory that hides what is below carries ``user.overlay.opaque = "y"``. Standard library
only, because an unprivileged user runs this file inside a user namespace (see `worker.py`),
where the guest's files may be read whatever their mode.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import filecmp
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

OPAQUE = "user.overlay.opaque"
MAX_LINKS = 40
Found = tuple[str, os.stat_result]


class Stack:
    """A merged view of layers. Paths are absolute in the guest; links never lead out of it.

    Args:
        layers: Layer directories, topmost first.
        binds: Guest directory to host directory, visible below everything in the layers.
    """

    def __init__(self, layers: list[str], binds: dict[str, str] | None = None) -> None:
        self.layers = layers
        self.binds = binds or {}

    def lookup(self, path: str, follow: bool = True) -> tuple[list[str], os.stat_result] | None:
        """Return where a path is: the directories that merge there, or the one other entry."""
        return self._resolve(path, follow)[1]

    def real(self, path: str) -> str:
        """Return a path with every link resolved inside the guest's root."""
        return self._resolve(path, follow=True)[0]

    def _resolve(
        self, path: str, follow: bool
    ) -> tuple[str, tuple[list[str], os.stat_result] | None]:
        todo = [part for part in path.split("/") if part]
        links = 0
        trail: list[tuple[str, list[str]]] = []
        current = self.layers
        found: tuple[list[str], os.stat_result] | None = self._root()
        while todo:
            name = todo.pop(0)
            if name == ".":
                continue
            if name == "..":
                if trail:
                    _, current = trail.pop()
                    found = (current, os.lstat(current[0]))
                continue
            here = "/".join(["", *(n for n, _ in trail), name])
            found = self._entry(current, name, here)
            if found is None:
                return here, None
            if stat.S_ISLNK(found[1].st_mode) and (todo or follow):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = os.readlink(found[0][0])
                if target.startswith("/"):
                    trail, current = [], self.layers
                found = (current, os.lstat(current[0]))
                todo = [part for part in target.split("/") if part] + todo
                continue
            if not stat.S_ISDIR(found[1].st_mode):
                return here, (None if todo else found)
            trail.append((name, current))
            current = found[0]
        return "/" + "/".join(n for n, _ in trail), found

    def _root(self) -> tuple[list[str], os.stat_result]:
        return self.layers, os.lstat(self.layers[0])

    def _entry(
        self, parents: list[str], name: str, here: str
    ) -> tuple[list[str], os.stat_result] | None:
        """Merge one name over the parent directories, topmost first."""
        merged: list[str] = []
        first: os.stat_result | None = None
        bind = self.binds.get(here)
        for candidate in [f"{parent}/{name}" for parent in parents] + ([bind] if bind else []):
            try:
                info = os.lstat(candidate)
            except (FileNotFoundError, NotADirectoryError):
                continue
            if is_whiteout(info):
                break
            if not stat.S_ISDIR(info.st_mode):
                return (merged, first) if first else ([candidate], info)
            merged.append(candidate)
            first = first or info
            if is_opaque(candidate):
                break
        return (merged, first) if first else None

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory. Raises OSError."""
        found = self.lookup(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not stat.S_ISDIR(found[1].st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return self._merged_names(found[0])

    @staticmethod
    def _merged_names(folders: list[str]) -> list[str]:
        names: dict[str, bool] = {}
        for folder in folders:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name not in names:
                        names[entry.name] = not is_whiteout(entry.stat(follow_symlinks=False))
        return sorted(name for name, there in names.items() if there)

    def walk(self, path: str) -> Iterator[tuple[str, Found]]:
        """Yield (guest path, (host path, stat)) below a directory, parents first."""
        base = self.real(path).rstrip("/")
        for name in self.names(path):
            child = f"{base}/{name}"
            found = self.lookup(child, follow=False)
            if found is None:
                continue
            yield child, (found[0][0], found[1])
            if stat.S_ISDIR(found[1].st_mode):
                yield from self.walk(child)


def is_whiteout(info: os.stat_result) -> bool:
    """Whether an entry of a layer says: deleted."""
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == 0


def is_opaque(folder: str) -> bool:
    """Whether a directory of a layer hides everything below it."""
    try:
        return os.getxattr(folder, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def changes(before: list[str], after: list[str], binds: dict[str, str]) -> list[tuple[str, str]]:
    """Return sorted (guest path, "added" | "modified" | "deleted") of one stack against another.

    Only the layers that the two do not share are looked through. A file that overlayfs copied
    up and nobody altered (same bytes, same mode) is no change.
    """
    shared = len(os.path.commonprefix([before[::-1], after[::-1]]))
    old, new = Stack(before, binds), Stack(after, binds)
    candidates: set[str] = set()
    for layer in (*before[: len(before) - shared], *after[: len(after) - shared]):
        for path, hides in _entries(layer):
            candidates.add(path)
            if hides:
                candidates.update(_below(old, path), _below(new, path))
    found = {}
    for path in candidates:
        kind = _compare(old.lookup(path, follow=False), new.lookup(path, follow=False))
        if kind:
            found[path] = kind
    return sorted(found.items())


def _entries(layer: str) -> Iterator[tuple[str, bool]]:
    """Yield what one layer holds: guest path, and whether it hides a directory further down."""
    for folder, folders, files in os.walk(layer):
        inside = folder[len(layer) :]
        for name in files:
            yield f"{inside}/{name}", True
        for name in folders:
            path = f"{folder}/{name}"
            yield f"{inside}/{name}", os.path.islink(path) or is_opaque(path)


def _below(stack: Stack, path: str) -> list[str]:
    found = stack.lookup(path, follow=False)
    if found is None or not stat.S_ISDIR(found[1].st_mode):
        return []
    return [child for child, _ in stack.walk(path)]


def _compare(
    old: tuple[list[str], os.stat_result] | None, new: tuple[list[str], os.stat_result] | None
) -> str:
    if old is None or new is None:
        return "" if old is new else ("added" if old is None else "deleted")
    (old_paths, a), (new_paths, b) = old, new
    if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode) or a.st_mode != b.st_mode:
        return "modified"
    if _acl(old_paths[0]) != _acl(new_paths[0]):
        return "modified"
    if stat.S_ISREG(a.st_mode):
        same = filecmp.cmp(old_paths[0], new_paths[0], shallow=False)
    elif stat.S_ISLNK(a.st_mode):
        same = os.readlink(old_paths[0]) == os.readlink(new_paths[0])
    else:
        same = True
    return "" if same else "modified"


def _acl(path: str) -> list[bytes]:
    values = []
    for name in ("system.posix_acl_access", "system.posix_acl_default"):
        try:
            values.append(os.getxattr(path, name, follow_symlinks=False))
        except OSError:
            values.append(b"")
    return values


def size(layer: str) -> int:
    """Return the bytes that the files of one layer occupy on disk."""
    total = 0
    for folder, _, files in os.walk(layer):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_blocks * 512
    return total


def squash(layers: list[str], target: str) -> None:
    """Merge layers (topmost first) into one new layer that means the same over any base."""
    os.mkdir(target, 0o755)
    for layer in reversed(layers):
        _apply(layer, target)
    shutil.copystat(layers[0], target)


def _apply(source: str, target: str) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            to = f"{target}/{entry.name}"
            if stat.S_ISDIR(info.st_mode):
                opaque = is_opaque(entry.path)
                if opaque or not _is_real_dir(to):
                    hid = opaque or os.path.lexists(to)
                    remove(to)
                    os.mkdir(to)
                    if hid:
                        os.setxattr(to, OPAQUE, b"y")
                _apply(entry.path, to)
            else:
                remove(to)
                if stat.S_ISREG(info.st_mode):
                    shutil.copyfile(entry.path, to)
                elif stat.S_ISLNK(info.st_mode):
                    os.symlink(os.readlink(entry.path), to)
                else:
                    os.mknod(to, info.st_mode, info.st_rdev)
            _copy_metadata(entry.path, to, info)


def _is_real_dir(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _copy_metadata(source: str, target: str, info: os.stat_result) -> None:
    os.chown(target, info.st_uid, info.st_gid, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode) or is_whiteout(info):
        return
    shutil.copystat(source, target, follow_symlinks=False)
    os.chmod(target, stat.S_IMODE(info.st_mode))


def remove(path: str) -> None:
    """Remove a tree whatever the modes inside; silent where nothing is."""
    try:
        os.unlink(path)
        return
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        pass
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
    with os.scandir(path) as entries:
        for entry in entries:
            remove(entry.path)
    os.rmdir(path)


# --- operations by name, for `access.py` -----------------------------------------------------


def op_stat(layers: list[str], binds: dict[str, str], path: str, follow: bool) -> object:
    """Return [kind, mode, size, target, mtime_s] of a path, or None."""
    found = Stack(layers, binds).lookup(path, follow)
    return describe(found[0][0], found[1]) if found else None


def op_read(layers: list[str], binds: dict[str, str], path: str, max_bytes: int) -> bytes:
    """Return a regular file's bytes."""
    found = Stack(layers, binds).lookup(path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if stat.S_ISDIR(found[1].st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found[1].st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
    if found[1].st_size > max_bytes:
        raise OSError(errno.EFBIG, f"{found[1].st_size} bytes, over the {max_bytes} allowed", path)
    with open(found[0][0], "rb") as file:
        return file.read(max_bytes + 1)


def op_list(layers: list[str], binds: dict[str, str], path: str) -> list[str]:
    """Return the sorted names in a directory."""
    return Stack(layers, binds).names(path)


def op_walk(layers: list[str], binds: dict[str, str], path: str) -> list[object]:
    """Return [path, stat] of everything below a directory."""
    return [[p, describe(host, info)] for p, (host, info) in Stack(layers, binds).walk(path)]


def describe(host: str, info: os.stat_result) -> list[object]:
    """Return [kind, mode, size, target, mtime_s]."""
    tests = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in tests if test(info.st_mode)), "other")
    target = os.readlink(host) if kind == "link" else ""
    return [kind, stat.S_IMODE(info.st_mode), info.st_size, target, info.st_mtime]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "stat": op_stat,
    "read": op_read,
    "list": op_list,
    "walk": op_walk,
    "changes": changes,
    "squash": squash,
    "size": size,
    "remove": remove,
}


def serve() -> None:
    """Answer one JSON request a line on standard input until it closes."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            value = OPERATIONS[request["op"]](*request["arguments"])
            if isinstance(value, bytes):
                value = {"base64": base64.b64encode(value).decode()}
            reply: dict[str, object] = {"value": value}
        except OSError as error:
            reply = {"errno": error.errno, "message": error.strerror, "path": error.filename}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    serve()
