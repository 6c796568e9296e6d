"""Packs an overlayfs layer, the writes of a sandbox, into an archive; see `delta_format`.

Standard library only: see `operations.py`.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from typing import IO

from agentgym.sandbox.build.tar_members import HOLES
from agentgym.sandbox.layers.attributes import attributes, is_keyword
from agentgym.sandbox.layers.delta_format import (
    BLOCK,
    CHUNK,
    KEPT_ATTRIBUTES,
    OPAQUE,
    XATTR,
    Budget,
    set_time,
    too_much,
)
from agentgym.sandbox.layers.holes import data_parts
from agentgym.sandbox.layers.stack import is_opaque, is_whiteout


def pack(
    layer: str, target: str, opaque: str, first_id: int, max_bytes: int, max_entries: int
) -> int:
    """Write the archive of a layer and return its size in bytes.

    Args:
        layer: The directory; no process may write to it during the call.
        target: Path of the archive; the file must not exist yet.
        opaque: The attribute of directories that hide lower content.
        first_id: Host id of guest user and group 0.
        max_bytes: Largest size of the archive.
        max_entries: Largest number of entries.

    Raises:
        OSError: The layer cannot be read, or exceeds a bound (EFBIG).
    """
    budget = Budget(max_bytes, max_entries)
    with open(target, "xb") as file, _writer(file) as archive:
        linked: dict[tuple[int, int], str] = {}
        for path, name, info in _entries(layer, budget):
            _add(archive, path, name, info, opaque, first_id, linked, budget)
    return os.stat(target).st_size


def _writer(file: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT, encoding="utf-8")


def _entries(layer: str, budget: Budget) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield host path, name in the archive and stat; the layer itself comes first, as ``.``."""
    yield layer, ".", os.lstat(layer)
    todo = [("", layer)]
    while todo:
        prefix, folder = todo.pop()
        with os.scandir(folder) as found:
            names = []
            for entry in found:
                budget.entry()
                names.append(entry.name)
        for name in sorted(names):
            path = f"{folder}/{name}"
            info = os.lstat(path)
            yield path, prefix + name, info
            if stat.S_ISDIR(info.st_mode):
                todo.append((f"{prefix}{name}/", path))


def _add(
    archive: tarfile.TarFile,
    path: str,
    name: str,
    info: os.stat_result,
    opaque: str,
    first_id: int,
    linked: dict[tuple[int, int], str],
    budget: Budget,
) -> None:
    member = tarfile.TarInfo(name)
    member.mode = stat.S_IMODE(info.st_mode)
    member.uid, member.gid = max(0, info.st_uid - first_id), max(0, info.st_gid - first_id)
    member.type = _kind(info.st_mode)
    if member.type != tarfile.SYMTYPE and not is_whiteout(info):
        member.pax_headers = _attributes(path, opaque, budget)
    set_time(member, info.st_mtime_ns)
    if member.type == tarfile.SYMTYPE:
        member.linkname = os.readlink(path)
        budget.data(len(member.linkname))
    elif stat.S_ISREG(info.st_mode):
        key = (info.st_dev, info.st_ino)
        if key in linked:
            member.type, member.linkname = tarfile.LNKTYPE, linked[key]
            archive.addfile(member)
            return
        if info.st_nlink > 1:
            linked[key] = name
        _add_file(archive, member, path, info, budget)
        return
    archive.addfile(member)


def _kind(mode: int) -> bytes:
    for test, kind in (
        (stat.S_ISDIR, tarfile.DIRTYPE),
        (stat.S_ISLNK, tarfile.SYMTYPE),
        (stat.S_ISFIFO, tarfile.FIFOTYPE),
        (stat.S_ISCHR, tarfile.CHRTYPE),
        (stat.S_ISBLK, tarfile.BLKTYPE),
    ):
        if test(mode):
            return kind
    # Tar has no type for a socket, and its listener has ended.
    return tarfile.FIFOTYPE if stat.S_ISSOCK(mode) else tarfile.REGTYPE


def _attributes(path: str, opaque: str, budget: Budget) -> dict[str, str]:
    # Asked for by its name, because a guest can make the list too long to be read.
    found = {OPAQUE: "y"} if is_opaque(path, opaque) else {}
    for key, value in attributes(path, _is_kept).items():
        budget.data(len(value))
        found[XATTR + key] = value.decode("utf-8", "surrogateescape")
    return found


def _is_kept(name: str) -> bool:
    kept = name.startswith(KEPT_ATTRIBUTES) and not name.startswith("user.overlay.")
    return kept and is_keyword(name)


def _add_file(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    path: str,
    info: os.stat_result,
    budget: Budget,
) -> None:
    """Add a regular file; of a file with holes, add only the data between them."""
    assert archive.fileobj is not None
    with open(path, "rb") as file:
        parts = list(_parts(file.fileno(), info.st_size, budget))
        if parts == [(0, info.st_size)] or not info.st_size:
            member.size = info.st_size
            archive.addfile(member, file)
            return
        table = f"{len(parts)}\n" + "".join(f"{start}\n{size}\n" for start, size in parts)
        head = table.encode() + bytes(-len(table) % BLOCK)
        member.size = len(head) + sum(size for _, size in parts)
        member.pax_headers = {
            **member.pax_headers,
            **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": member.name},
            "GNU.sparse.realsize": str(info.st_size),
        }
        archive.addfile(member, _Sparse(head, file, parts))


def _parts(file: int, size: int, budget: Budget) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the data between the holes of a file, within a budget."""
    for number, (start, length) in enumerate(data_parts(file, size)):
        if number >= HOLES:
            raise too_much(f"a file has more than {HOLES} parts between holes")
        budget.data(length + 32)
        yield start, length
    os.lseek(file, 0, os.SEEK_SET)


class _Sparse:
    """The archive form of a file with holes: a table, followed by the parts in order."""

    def __init__(self, head: bytes, file: IO[bytes], parts: list[tuple[int, int]]) -> None:
        self._chunks = self._all(head, file, parts)
        self._rest = b""

    @staticmethod
    def _all(head: bytes, file: IO[bytes], parts: list[tuple[int, int]]) -> Iterator[bytes]:
        yield head
        for start, size in parts:
            file.seek(start)
            while size and (data := file.read(min(size, CHUNK))):
                size -= len(data)
                yield data

    def read(self, size: int = -1, /) -> bytes:
        """Return exactly `size` bytes, fewer at the end."""
        while len(self._rest) < size and (more := next(self._chunks, b"")):
            self._rest += more
        data, self._rest = self._rest[:size], self._rest[size:]
        return data
