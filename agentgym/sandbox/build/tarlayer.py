"""Converts a layer between a directory of overlayfs and a tar of an OCI image.

In the tar a deleted name is a file ``.wh.<name>``, and a directory that hides lower content holds
``.wh..wh..opq`` (OCI image-spec, layer.md). `layers/stack.py` describes their form in a directory.
Standard library only: this runs in the namespace of a build, see `build_namespace.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator

from .tar_members import BoundedMember

OPAQUE = "user.overlay.opaque"
_OVERLAY = ("user.overlay.", "trusted.")
_WHITEOUT = ".wh."
_OPAQUE_ENTRY = ".wh..wh..opq"
_XATTR = "SCHILY.xattr."
TIME = 1_700_000_000
"""Time stamp of files that a build makes itself, so that equal content gives an equal tar."""


def pack(folder: str, file: str, *, began: float | None = None) -> None:
    """Write a layer directory as a tar: sorted, numeric owners, no device nodes or sockets.

    Args:
        folder: The upper directory of an overlay, or a whole tree.
        file: The tar to write.
        began: Files changed since then get the time stamp `TIME`.
    """
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT, encoding="utf-8") as archive:
        for path, name, info in _walk(folder, ""):
            member = _member(archive, path, name, info)
            if member is None:
                continue
            if began is not None and member.mtime >= int(began):
                member.mtime = TIME
            if member.size:
                with open(path, "rb") as content:
                    archive.addfile(member, content)
            else:
                archive.addfile(member)
            if member.isdir() and _is_opaque(path):
                archive.addfile(tarfile.TarInfo(f"{name}/{_OPAQUE_ENTRY}"))


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, str, os.stat_result]]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        # In the format such a name is a deletion, so a file with that name cannot be kept.
        if entry.name.startswith(_WHITEOUT):
            continue
        info = entry.stat(follow_symlinks=False)
        yield entry.path, f"{prefix}{entry.name}", info
        if stat.S_ISDIR(info.st_mode):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")


def _member(
    archive: tarfile.TarFile, path: str, name: str, info: os.stat_result
) -> tarfile.TarInfo | None:
    if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
        parent, _, base = name.rpartition("/")
        return tarfile.TarInfo(os.path.join(parent, _WHITEOUT + base))
    # A sandbox has its own /dev, and the listeners of these sockets have ended.
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)):
        return None
    member = archive.gettarinfo(path, name)
    member.uname = member.gname = ""
    # Whole seconds, because a fraction would add a header to every file.
    member.mtime = int(member.mtime)
    headers = {}
    for key in sorted(os.listxattr(path, follow_symlinks=False)):
        # The kernel takes some values that it does not give back, such as empty capabilities.
        with contextlib.suppress(OSError):
            if not key.startswith(_OVERLAY):
                value = os.getxattr(path, key, follow_symlinks=False)
                headers[_XATTR + key] = value.decode("utf-8", "surrogateescape")
    member.pax_headers = headers
    return member


def _is_opaque(folder: str) -> bool:
    try:
        return os.getxattr(folder, OPAQUE) == b"y"
    except OSError:
        return False


def unpack(file: str, folder: str) -> None:
    """Unpack a tar, gzipped or not, into a layer directory.

    Changes the root of this process to the folder for good. No name or link in the tar can
    therefore cause a write outside the folder.

    Raises:
        tarfile.TarError: The file is not a tar, or is damaged.
    """
    os.mkdir(folder, 0o755)
    with tarfile.open(file, "r:*", encoding="utf-8", tarinfo=BoundedMember) as archive:
        # Set as an attribute, which Pythons without filters (before 3.11.4) ignore.
        archive.extraction_filter = lambda member, _: member
        os.chroot(folder)
        os.chdir("/")
        folders = []
        for member in archive:
            parent, base = os.path.split(os.path.normpath(f"/{member.name}"))
            parent = os.path.realpath(parent)
            os.makedirs(parent, 0o755, exist_ok=True)
            path = os.path.join(parent, base)
            if base.startswith(_WHITEOUT):
                _hide(path)
            elif member.isdir():
                _make_folder(path)
                folders.append((path, member))
            elif member.isreg() or member.issym() or member.islnk():
                _clear(path)
                member.name = path.lstrip("/")
                archive.extract(member, "/", numeric_owner=True)
                if member.issym():
                    os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
                _set_attributes(path, member)
        # Last and deepest first, because writing into a folder changes its times.
        for path, member in reversed(folders):
            os.chown(path, member.uid, member.gid)
            os.chmod(path, member.mode)
            _set_attributes(path, member)
            os.utime(path, (member.mtime, member.mtime))


def _hide(path: str) -> None:
    parent, base = os.path.split(path)
    if base == _OPAQUE_ENTRY:
        os.setxattr(parent, OPAQUE, b"y")
        return
    hidden = os.path.join(parent, base[len(_WHITEOUT) :])
    # A file that this layer puts in place of a deleted one stays, in either order of entries.
    if not os.path.lexists(hidden):
        os.mknod(hidden, stat.S_IFCHR)
    elif os.path.isdir(hidden) and not os.path.islink(hidden):
        os.setxattr(hidden, OPAQUE, b"y")


def _make_folder(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        return
    replaces = os.path.lexists(path)
    _clear(path)
    os.mkdir(path)
    if replaces:
        os.setxattr(path, OPAQUE, b"y")


def _clear(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _set_attributes(path: str, member: tarfile.TarInfo) -> None:
    for key, value in member.pax_headers.items():
        name = key.removeprefix(_XATTR)
        if name != key and not name.startswith(_OVERLAY):
            os.setxattr(path, name, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
