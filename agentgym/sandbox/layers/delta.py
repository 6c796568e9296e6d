"""The writes of a sandbox as one archive: packs an overlayfs layer and unpacks it on any host.

The format is tar with POSIX (pax) headers, which GNU tar reads. A deleted name is a character
device 0/0, as on disk; a directory that hides what is below it carries ``AGENTGYM.opaque``.
Extended attributes are ``SCHILY.xattr.*``, files with holes ``GNU.sparse`` 1.0; user ids are those
of the guest.

Standard library only: see `operations.py`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tarfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from agentgym.sandbox.build.tar_members import HOLES, BoundedMember
from agentgym.sandbox.layers.attributes import attributes, is_keyword
from agentgym.sandbox.layers.holes import data_parts
from agentgym.sandbox.layers.stack import is_opaque

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_XATTR, _OPAQUE = "SCHILY.xattr.", "AGENTGYM.opaque"
_KEPT_ATTRIBUTES = ("user.", "security.capability", "system.posix_acl_")
_APPARENT_BYTES = 1 << 40
_DEADLINE_S = 20.0
_RECORD_BYTES = 128
_TIME = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]*))?")
_NS = 10**9
# The largest id of a guest with a user namespace; the number that stands for no id in the kernel.
_NOBODY, _NO_ID = 2**16 - 2, 2**32 - 1


def _too_much(why: str) -> OSError:
    return OSError(errno.EFBIG, why)


class _Budget:
    """Bounds an archive: entries, bytes and time.

    Args:
        max_bytes: Largest size of the archive, without holes.
        max_entries: Largest number of entries of any kind.
    """

    def __init__(self, max_bytes: int, max_entries: int) -> None:
        self.max_bytes, self.max_entries = max_bytes, max_entries
        self._bytes, self._entries = 0, 0
        self._until_s = time.monotonic() + _DEADLINE_S

    def entry(self) -> None:
        """Count one more entry, with its headers."""
        self._entries += 1
        if self._entries > self.max_entries:
            raise _too_much(f"it has more than {self.max_entries} entries")
        if time.monotonic() > self._until_s:
            raise _too_much(f"it could not be read within {_DEADLINE_S:g} s")
        self.data(2 * _BLOCK)

    def data(self, size: int) -> None:
        """Count more bytes."""
        self._bytes += size
        if self._bytes > self.max_bytes:
            raise _too_much(f"it has more than {self.max_bytes} bytes")


# --- from a layer to an archive --------------------------------------------------------------


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
    budget = _Budget(max_bytes, max_entries)
    with open(target, "xb") as file, _writer(file) as archive:
        linked: dict[tuple[int, int], str] = {}
        for path, name, info in _entries(layer, budget):
            _add(archive, path, name, info, opaque, first_id, linked, budget)
    return os.stat(target).st_size


def _writer(file: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT, encoding="utf-8")


def _entries(layer: str, budget: _Budget) -> Iterator[tuple[str, str, os.stat_result]]:
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
    budget: _Budget,
) -> None:
    member = tarfile.TarInfo(name)
    member.mode = stat.S_IMODE(info.st_mode)
    member.uid, member.gid = max(0, info.st_uid - first_id), max(0, info.st_gid - first_id)
    member.type = _kind(info.st_mode)
    if member.type != tarfile.SYMTYPE and not _is_whiteout(info):
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


def set_time(member: tarfile.TarInfo, time_ns: int) -> None:
    """Set the time of an entry, to the nanosecond.

    `tarfile` writes a float as Python shows it. For a file of the first moments of 1970 that is
    ``1e-09``, with which Docker refuses the whole layer, and which GNU tar reads as a second.
    """
    member.mtime, rest_ns = divmod(time_ns, _NS)
    if rest_ns:
        seconds, rest_ns = divmod(abs(time_ns), _NS)
        text = f"{'-' * (time_ns < 0)}{seconds}.{rest_ns:09d}"
        member.pax_headers = {**member.pax_headers, "mtime": text}


def _time_ns(member: tarfile.TarInfo) -> int:
    found = _TIME.fullmatch(member.pax_headers.get("mtime", ""))
    if found is None:
        return int(member.mtime) * _NS
    sign, seconds, fraction = found.groups(default="")
    time_ns = int(seconds) * _NS + int(fraction[:9].ljust(9, "0"))
    return -time_ns if sign else time_ns


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


def _is_whiteout(info: os.stat_result) -> bool:
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == 0


def _attributes(path: str, opaque: str, budget: _Budget) -> dict[str, str]:
    # Asked for by its name, because a guest can make the list too long to be read.
    found = {_OPAQUE: "y"} if is_opaque(path, opaque) else {}
    for key, value in attributes(path, _is_kept).items():
        budget.data(len(value))
        found[_XATTR + key] = value.decode("utf-8", "surrogateescape")
    return found


def _is_kept(name: str) -> bool:
    kept = name.startswith(_KEPT_ATTRIBUTES) and not name.startswith("user.overlay.")
    return kept and is_keyword(name)


def _add_file(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    path: str,
    info: os.stat_result,
    budget: _Budget,
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
        head = table.encode() + bytes(-len(table) % _BLOCK)
        member.size = len(head) + sum(size for _, size in parts)
        member.pax_headers = {
            **member.pax_headers,
            **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": member.name},
            "GNU.sparse.realsize": str(info.st_size),
        }
        archive.addfile(member, _Sparse(head, file, parts))


def _parts(file: int, size: int, budget: _Budget) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the data between the holes of a file, within a budget."""
    for number, (start, length) in enumerate(data_parts(file, size)):
        if number >= HOLES:
            raise _too_much(f"a file has more than {HOLES} parts between holes")
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
            while size and (data := file.read(min(size, _CHUNK))):
                size -= len(data)
                yield data

    def read(self, size: int = -1, /) -> bytes:
        """Return exactly `size` bytes, fewer at the end."""
        while len(self._rest) < size and (more := next(self._chunks, b"")):
            self._rest += more
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


# --- from an archive to a layer --------------------------------------------------------------


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
    budget = _Budget(max_bytes, max_entries)
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
                data = source.read(min(size, _CHUNK))
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
        if key == _OPAQUE and member.isdir():
            os.setxattr(path, opaque, b"y")
        elif key.startswith(_XATTR) and key[len(_XATTR) :].startswith(_KEPT_ATTRIBUTES):
            _set_attribute(path, key[len(_XATTR) :], value)
    time_ns = _time_ns(member)
    os.utime(path, ns=(time_ns, time_ns))


def _host_id(number: int, first_id: int) -> int:
    """Return the id on this host: without a user namespace a guest can give files to any id."""
    return number if first_id == 0 else first_id + min(number, _NOBODY)


def _set_attribute(path: str, key: str, value: str) -> None:
    if key.startswith("user.overlay."):
        raise OSError(errno.EINVAL, f"an entry of the archive has the attribute {key[:80]!r}")
    os.setxattr(path, key, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "pack": pack,
    "unpack": unpack,
}
