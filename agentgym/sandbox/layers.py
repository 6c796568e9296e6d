"""Overlay layers as data: reading a stack, comparing, copying, squashing, removing.

A stack is a list of directories, topmost first, in the on-disk format of Linux overlayfs
(kernel docs, filesystems/overlayfs). A deleted name is a character device 0/0. A directory that
hides lower content carries an attribute "y": ``user.overlay.opaque`` if the mount has the option
`userxattr`, else ``trusted.overlay.opaque``. Each stack uses only one of the two, because a guest
may set the other one to any value.

Standard library only, because an unprivileged user runs this file inside a user namespace (see
`access.py`), where the guest's files may be read whatever their mode.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import filecmp
import json
import os
import runpy
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

# This module removes trees with at most this many levels; `rm` removes deeper ones.
_SHALLOW = 30
OPAQUE = "user.overlay.opaque"
TRUSTED_OPAQUE = "trusted.overlay.opaque"
MAX_LINKS = 40
# An empty file takes no block but one of the disk's inodes, so it counts like a file of one byte.
ENTRY_BYTES = 4096
MOST_CHANGES = 100_000
MOST_PATH_BYTES = 16 * 2**20
"""Limits of a comparison: the number of differing names, and the bytes of their paths."""
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
                directory of the host that it does not name.
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
        for name, info in scan(folder):
            names.setdefault(name, not is_whiteout(info))
    return sorted(name for name, there in names.items() if there)


def scan(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return the entries of a directory; empty if its path is too long for the kernel.

    A guest can nest directories deeper than a path can name. Such a directory is listed without
    its content.
    """
    return list(_entries(folder))


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name, entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise


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


def changes(
    before: list[str], after: list[str], binds: dict[str, str], opaque: str = OPAQUE
) -> list[tuple[str, str]]:
    """Return sorted (guest path, "added" | "modified" | "deleted") of one stack against another.

    The function reads only the layers that the two do not share. A file that overlayfs copied up
    and that did not change (same bytes, same mode) does not count.

    Raises:
        OSError: EOVERFLOW: the layers have more than `MOST_CHANGES` names, or their paths exceed
            `MOST_PATH_BYTES`. A name occupies no disk space that a limit could bound.
    """
    budget = _Budget()
    shared = len(os.path.commonprefix([before[::-1], after[::-1]]))
    own = [*before[: len(before) - shared], *after[: len(after) - shared]]
    old, new = Stack(before, binds, opaque), Stack(after, binds, opaque)
    found = {}
    todo = [("", own, before, after)]
    while todo:
        here, own, was_in, now_in = todo.pop()
        for name, hides in _own_names(own, opaque, here, budget).items():
            path = f"{here}/{name}"
            was, now = old.step(was_in, name, path), new.step(now_in, name, path)
            kind = compare(was, now)
            if kind:
                found[path] = kind
            folders = _folders(was), _folders(now)
            # Below a name that hides or shows a whole directory, everything may differ.
            below = [*folders[0], *folders[1]] if hides else [f"{folder}/{name}" for folder in own]
            if any(folders):
                todo.append((path, [b for b in below if _is_real_dir(b)], *folders))
    return sorted(found.items())


class _Budget:
    """The budget of one comparison: names and bytes of paths."""

    def __init__(self) -> None:
        self._names, self._bytes = MOST_CHANGES, MOST_PATH_BYTES

    def take(self, path_bytes: int) -> None:
        self._names -= 1
        self._bytes -= path_bytes
        if self._names < 0 or self._bytes < 0:
            said = (
                f"more than {MOST_CHANGES:,} names were changed, or their paths have more than "
                f"{MOST_PATH_BYTES >> 20} MiB"
            )
            raise OSError(errno.EOVERFLOW, said)


def _own_names(folders: list[str], opaque: str, here: str, budget: _Budget) -> dict[str, bool]:
    """Return the names in directories of single layers, and which of them hide lower content."""
    names: dict[str, bool] = {}
    for folder in folders:
        for name, info in _entries(folder):
            budget.take(len(here) + 1 + len(name))
            is_dir = stat.S_ISDIR(info.st_mode)
            hides = not is_dir or is_opaque(f"{folder}/{name}", opaque)
            names[name] = names.get(name, False) or hides
    return names


def _folders(found: tuple[list[str], os.stat_result] | None) -> list[str]:
    return found[0] if found is not None and stat.S_ISDIR(found[1].st_mode) else []


def compare(
    old: tuple[list[str], os.stat_result] | None, new: tuple[list[str], os.stat_result] | None
) -> str:
    """Return how one lookup differs from another, or an empty text if they are equal."""
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


def squash(layers: list[str], target: str, opaque: str = OPAQUE) -> None:
    """Merge layers (topmost first) into one new layer that is equivalent over any base."""
    os.mkdir(target, 0o755)
    for layer in reversed(layers):
        _apply(layer, target, opaque)
    shutil.copystat(layers[0], target)


def _apply(layer: str, onto: str, opaque: str) -> None:
    """Put one layer over another, in the other's folder."""
    todo = [(layer, onto)]
    finished: list[tuple[str, str, os.stat_result]] = []
    while todo:
        source, target = todo.pop()
        with os.scandir(source) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                to = f"{target}/{entry.name}"
                if stat.S_ISDIR(info.st_mode):
                    _apply_dir(entry.path, to, opaque)
                    todo.append((entry.path, to))
                    finished.append((entry.path, to, info))
                else:
                    _apply_file(entry.path, to, info)
    # Last and deepest first, because writing into a directory changes its times.
    for path, to, info in reversed(finished):
        _copy_metadata(path, to, info)


def _apply_dir(source: str, to: str, attribute: str) -> None:
    opaque = is_opaque(source, attribute)
    if opaque or not _is_real_dir(to):
        hid = opaque or os.path.lexists(to)
        remove(to)
        os.mkdir(to)
        if hid:
            os.setxattr(to, attribute, b"y")


def _apply_file(source: str, to: str, info: os.stat_result) -> None:
    remove(to)
    if stat.S_ISREG(info.st_mode):
        shutil.copyfile(source, to)
    elif stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(source), to)
    else:
        os.mknod(to, info.st_mode, info.st_rdev)
    _copy_metadata(source, to, info)


def _is_real_dir(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _copy_metadata(source: str, target: str, info: os.stat_result) -> None:
    os.chown(target, info.st_uid, info.st_gid, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode) or is_whiteout(info):
        return
    shutil.copystat(source, target, follow_symlinks=False)
    os.chmod(target, stat.S_IMODE(info.st_mode))


def remove(path: str) -> None:
    """Remove a tree of any modes and any depth; do nothing if the path is absent.

    Raises:
        OSError: A part of it could not be removed.
    """
    if not os.path.lexists(path):
        return
    if not _is_real_dir(path):
        os.unlink(path)
        return
    with contextlib.suppress(OSError):
        if _removed(path, _SHALLOW):
            return
    # rm walks by descriptors, because a guest can nest deeper than any path can name.
    done = subprocess.run(["rm", "-rf", "--", path], capture_output=True, check=False)
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
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_dir in found:
            if not is_dir:
                os.unlink(name, dir_fd=folder)
            elif not _removed(name, levels - 1, folder):
                return False
    finally:
        os.close(folder)
    os.rmdir(path, dir_fd=above)
    return True


# --- operations by name, for `access.py` -----------------------------------------------------


def op_stat(
    layers: list[str], binds: dict[str, str], path: str, follow: bool, opaque: str = OPAQUE
) -> object:
    """Return the description of a path (see `describe`), or None if it is absent."""
    stack = Stack(layers, binds, opaque)
    found = stack.lookup(path, follow)
    return describe(found[0][0], found[1], stack.first_id()) if found else None


def op_read(
    layers: list[str], binds: dict[str, str], path: str, max_bytes: int, opaque: str = OPAQUE
) -> bytes:
    """Return a regular file's bytes."""
    found = Stack(layers, binds, opaque).lookup(path)
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


def op_list(layers: list[str], binds: dict[str, str], path: str, opaque: str = OPAQUE) -> list[str]:
    """Return the sorted names in a directory."""
    return Stack(layers, binds, opaque).names(path)


def op_walk(
    layers: list[str], binds: dict[str, str], path: str, opaque: str = OPAQUE
) -> list[object]:
    """Return [path, stat] of every entry below a directory."""
    stack = Stack(layers, binds, opaque)
    first_id = stack.first_id()
    return [[child, describe(host, info, first_id)] for child, (host, info) in stack.walk(path)]


def describe(host: str, info: os.stat_result, first_id: int) -> list[object]:
    """Return [kind, mode, size, target, mtime_s, acl, default_acl]; ids are the guest's."""
    tests = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in tests if test(info.st_mode)), "other")
    target = os.readlink(host) if kind == "link" else ""
    acl = acl_text(host, "system.posix_acl_access", first_id) if kind in ("dir", "file") else ""
    default = acl_text(host, "system.posix_acl_default", first_id) if kind == "dir" else ""
    mode = stat.S_IMODE(info.st_mode)
    return [kind, mode, info.st_size, target, info.st_mtime, acl, default]


def acl_text(path: str, attribute: str, first_id: int) -> str:
    """Return an access control list in short form, ``u::rwx,g::r-x,o::---``; empty if absent.

    The attribute's layout is that of the kernel's ``posix_acl_xattr.h``, version 2.
    """
    try:
        value = os.getxattr(path, attribute, follow_symlinks=False)
    except OSError:  # the file has no list, or its file system does not support them
        return ""
    if value[:4] != struct.pack("<I", 2):
        return ""
    entries = struct.iter_unpack("<HHI", value[4 : 4 + (len(value) - 4) // 8 * 8])
    texts = []
    for tag, may, number in entries:
        # The ids of the host's own folders are not shifted.
        guest = number - first_id if number >= first_id else number
        name = guest if tag in _ACL_NAMED else ""
        texts.append(f"{_ACL_TAGS.get(tag, '?')}:{name}:{_rights(may)}")
    return ",".join(texts)


def _rights(may: int) -> str:
    return "".join(sign if may & bit else "-" for sign, bit in (("r", 4), ("w", 2), ("x", 1)))


_ACL_TAGS = {0x01: "u", 0x02: "u", 0x04: "g", 0x08: "g", 0x10: "m", 0x20: "o"}
_ACL_NAMED = (0x02, 0x08)

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
    """Answer one JSON request a line on standard input until it closes.

    Command line arguments name files with further operations.
    """
    for path in sys.argv[1:]:
        OPERATIONS.update(runpy.run_path(path)["OPERATIONS"])
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
