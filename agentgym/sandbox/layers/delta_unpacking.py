"""Unpacks the archive of an overlayfs layer on any host; see `delta_format`.

Standard library only: see `operations.py`.
"""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from collections.abc import Callable
from typing import Any

from agentgym.sandbox.build.tar_members import BoundedMember
from agentgym.sandbox.layers.delta_format import (
    CHUNK,
    KEPT_ATTRIBUTES,
    OPAQUE,
    XATTR,
    Budget,
    time_ns_of,
)

_APPARENT_BYTES = 1 << 40
_RECORD_BYTES = 128
# The largest id of a guest with a user namespace; the number that stands for no id in the kernel.
_NOBODY, _NO_ID = 2**16 - 2, 2**32 - 1


class _Member(BoundedMember):
    """An entry of such an archive; a global header would count for each entry after it."""

    header_bytes = 4 << 20
    refused = (*BoundedMember.refused, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)


def unpack(
    source: str,
    layer: str,
    opaque: str,
    first_id: int | None,
    max_bytes: int,
    max_entries: int,
) -> None:
    """Write the layer of an archive into a new directory.

    `first_id` is the host id of guest user and group 0, None if all files belong to the caller.

    The archive is untrusted: the function writes only below the directory, makes no device and
    follows no link.

    Raises:
        OSError: The archive is damaged, leads out of the directory or holds too much.
    """
    budget = Budget(max_bytes, max_entries)
    os.mkdir(layer, 0o755)
    folders = {".": layer}
    files: set[str] = set()
    later: list[Callable[[], None]] = []
    try:
        with tarfile.open(source, mode="r:", encoding="utf-8", tarinfo=_Member) as archive:
            for member in archive:
                budget.entry()
                budget.data(_RECORD_BYTES * len(member.pax_headers))
                later.append(_take(archive, member, layer, folders, files, opaque, first_id))
    except (tarfile.TarError, ValueError, EOFError, RecursionError) as error:
        raise OSError(errno.EINVAL, f"the archive is damaged: {error}") from error
    # Last and deepest first, because writing into a directory changes its times.
    try:
        for finish in reversed(later):
            finish()
    except OverflowError as error:
        raise OSError(errno.EINVAL, f"the archive is damaged: {error}") from error


def _take(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    layer: str,
    folders: dict[str, str],
    files: set[str],
    opaque: str,
    first_id: int | None,
) -> Callable[[], None]:
    """Write one entry; return a function that sets its owner, mode and times."""
    name = member.name
    parent, _, last = name.rpartition("/")
    if name != "." and (last in ("", ".", "..") or (parent or ".") not in folders):
        raise ValueError(f"{name[:200]!r} does not lie in a directory of the archive")
    path = layer if name == "." else f"{folders[parent or '.']}/{last}"
    if member.isdir():
        if name != ".":
            os.mkdir(path, 0o700)
            folders[name] = path
    elif member.issym():
        os.symlink(member.linkname, path)
    elif member.islnk():
        if member.linkname not in files:
            raise ValueError(
                f"{name[:200]!r} is a link to something that is not a file of the archive"
            )
        os.link(f"{layer}/{member.linkname}", path, follow_symlinks=False)
        return lambda: None
    elif member.isfifo():
        os.mkfifo(path, 0o600)
    elif member.ischr() and not member.devmajor and not member.devminor:
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
    elif member.isreg():
        _write_file(archive, member, path)
        files.add(name)
    else:
        raise ValueError(f"{name[:200]!r} is a device, which no guest can have made")
    return lambda: _finish(member, path, opaque, first_id)


def _sparse_map(member: tarfile.TarInfo) -> list[tuple[int, int]] | None:
    """Return (start, length) of the parts of a file with holes, or None for other files."""
    found: Any = member.sparse
    return found if found is None else [(int(start), int(size)) for start, size in found]


def _write_file(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    if not 0 <= member.size <= _APPARENT_BYTES:
        raise ValueError(f"{member.name[:200]!r} is said to have {member.size} bytes")
    assert archive.fileobj is not None
    source = archive.fileobj
    found = _sparse_map(member)
    parts = [(0, member.size)] if found is None else found
    with open(path, "xb") as target:
        source.seek(member.offset_data)
        for start, size in parts:
            if start < 0 or size < 0 or start + size > member.size:
                raise ValueError(f"{member.name[:200]!r} has a part outside of itself")
            target.seek(start)
            while size:
                data = source.read(min(size, CHUNK))
                if not data:
                    raise ValueError(f"{member.name[:200]!r} ends too early")
                size -= len(data)
                target.write(data)
        target.truncate(member.size)


def _finish(member: tarfile.TarInfo, path: str, opaque: str, first_id: int | None) -> None:
    if not (0 <= member.uid < _NO_ID and 0 <= member.gid < _NO_ID):
        raise OSError(errno.EINVAL, f"{member.name[:200]!r} belongs to user {member.uid}")
    if first_id is not None:
        owner, group = (_host_id(number, first_id) for number in (member.uid, member.gid))
        os.chown(path, owner, group, follow_symlinks=False)
    if member.issym() or member.ischr():
        return
    os.chmod(path, stat.S_IMODE(member.mode))
    for key, value in member.pax_headers.items():
        if key == OPAQUE and member.isdir():
            os.setxattr(path, opaque, b"y")
        elif key.startswith(XATTR) and key[len(XATTR) :].startswith(KEPT_ATTRIBUTES):
            _set_attribute(path, key[len(XATTR) :], value)
    time_ns = time_ns_of(member)
    os.utime(path, ns=(time_ns, time_ns))


def _host_id(number: int, first_id: int) -> int:
    """Return the id on this host: without a user namespace a guest can give files to any id."""
    return number if first_id == 0 else first_id + min(number, _NOBODY)


def _set_attribute(path: str, key: str, value: str) -> None:
    if key.startswith("user.overlay."):
        raise OSError(errno.EINVAL, f"an entry of the archive has the attribute {key[:80]!r}")
    os.setxattr(path, key, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
