"""Check pack `archives`: contents of archives, read in memory and never unpacked.

Channel: state (the final files, read from outside). Archives are zip (stored, deflate, bzip2), and
tar as it is or in gzip, bzip2 or xz. The first bytes decide the format, not the name. Any other
gzip, bzip2 or xz file has one member with an empty name. A leading "./" and a trailing "/" are not
part of a member's name. An archive of more than 16 MiB, 20,000 members, 128 MiB unpacked or ten
seconds of reading is a fail. A duplicate name is also a fail, since programs disagree on which one
counts.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import hashlib
import io
import lzma
import re
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.verify import path_matches
from agentgym.verify.values import brief, result

_ARCHIVE_BYTES = 16 * 2**20
_MOST_BYTES = 128 * 2**20
_MOST_MEMBERS = 20_000
_MOST_SECONDS = 10.0
_HEADER_BYTES = 16 * 2**10
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_PACKED: Mapping[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError,
    RuntimeError, ValueError, LookupError, OverflowError,
)  # fmt: skip


def members(evidence: Evidence, path: str, names: Sequence[str], exact: bool = True) -> CheckResult:
    """An archive holds these files and no others; folders are ignored.

    Channel: state.

    Example:
        use = "archives.members"
        with = { path = "/srv/release.tar.gz", names = ["app/main.py", "app/README"] }

    Args:
        evidence: Evidence of the episode.
        path: The archive.
        names: Members that are files or links, in any order.
        exact: Whether other files are forbidden.
    """
    wanted = set(_names("names", names))
    seen = {member.name for member in _read(evidence, path) if member.kind != "dir"}
    missing, extra = sorted(wanted - seen), sorted(seen - wanted) if exact else []
    faults = [f"lacks {len(missing)}, e.g. {brief(missing[0])}"] if missing else []
    faults += [f"has {len(extra)} too many, e.g. {brief(extra[0])}"] if extra else []
    return result(not faults, f"{path}: {'; '.join(faults) or f'{len(seen)} files as expected'}")


def lacks(evidence: Evidence, path: str, names: Sequence[str]) -> CheckResult:
    """No member of an archive matches one of these globs, and the archive can be read to its end.

    Channel: state. * stays within one name, ** crosses folders.

    Example:
        use = "archives.lacks"
        with = { path = "/srv/release.zip", names = ["**/.git/**", "**/*.key"] }
    """
    globs = [f"/{name}" for name in _names("names", names)]
    for member in _read(evidence, path):
        if path_matches(f"/{member.name}", globs):
            return result(False, f"{path}: holds {brief(member.name)}")
    return result(True, f"{path}: holds nothing of {list(names)[:4]}")


def holds(
    evidence: Evidence,
    path: str,
    member: str,
    text: str | None = None,
    gold: str | None = None,
    sha256: str | None = None,
) -> CheckResult:
    """A member of an archive is a file with this content.

    Channel: state. Exactly one of `text`, `gold` and `sha256` says what is expected.

    Example:
        use = "archives.holds"
        with = { path = "/srv/backup.tgz", member = "etc/app.conf", gold = "app.conf" }

    Args:
        evidence: Evidence of the episode.
        path: The archive.
        member: Name of the member; "" is the content of a gzip, bzip2 or xz file.
        text: The content, as UTF-8.
        gold: Name of a gold file with the content.
        sha256: Digest of the content in hexadecimal.
    """
    if sum(given is not None for given in (text, gold, sha256)) != 1:
        raise VerifierError("holds: expected exactly one of text, gold and sha256")
    if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256):
        raise VerifierError(f"sha256: expected 64 hexadecimal digits, got {sha256!r}")
    if text is not None:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
    elif gold is not None:
        sha256 = hashlib.sha256(evidence.gold(gold)).hexdigest()
    found: dict[str, str] = {}
    for one in _read(evidence, path):
        if one.name == member:
            is_file = one.kind == "file"
            found[member] = hashlib.sha256(one.read()).hexdigest() if is_file else one.kind
    if member not in found:
        return result(False, f"{path}: has no member {member!r}")
    same = found[member] == sha256
    return result(same, f"{path}: {member!r} is {'as' if same else 'not as'} expected")


def safe(evidence: Evidence, path: str) -> CheckResult:
    """Unpacking an archive writes below one folder only, and makes files, folders and links only.

    Channel: state. No name is absolute or climbs with "..", no link points out of the archive, no
    member is written through a link of the archive's own, and nothing is a device or a pipe.

    Example:
        use = "archives.safe"
        with = { path = "/srv/upload.tar" }
    """
    links: set[str] = set()
    for member in _read(evidence, path):
        parts = member.name.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts))}
        if member.name.startswith("/") or "\\" in member.name or ".." in parts:
            return result(False, f"{path}: {brief(member.name)} leads out")
        if member.kind == "other":
            return result(False, f"{path}: {brief(member.name)} is a device or a pipe")
        if above & links:
            return result(False, f"{path}: {brief(member.name)} is written through a link")
        if member.kind == "link":
            links.add(member.name)
            base = parts[:-1] if member.relative else []
            if member.target.startswith("/") or _climbs([*base, *member.target.split("/")]):
                return result(False, f"{path}: {brief(member.name)} links to {member.target!r}")
    return result(True, f"{path}: stays below one folder")


def backs_up(evidence: Evidence, path: str, folder: str, at: str = "") -> CheckResult:
    """An archive holds every file that was in a folder at the start of the episode, byte for byte.

    Channel: state (the files before and after). Other members of the archive are ignored.

    Example:
        use = "archives.backs_up"
        with = { path = "/srv/backup.tar.gz", folder = "/srv/data", at = "data" }

    Args:
        evidence: Evidence of the episode.
        path: The archive.
        folder: The folder to be saved, as it was before the agent started.
        at: Path of the folder in the archive; "" is the top.
    """
    _names("folder, at", [folder, at])
    prefix = f"{at.strip('/')}/" if at.strip("/") else ""
    base = folder.rstrip("/") + "/"
    wanted = {
        prefix + found.removeprefix(base): found
        for found, stat in evidence.before.walk(folder)
        if stat.kind == "file"
    }
    if not wanted:
        raise VerifierError(f"folder {folder!r} held no file when the episode began")
    missing = set(wanted)
    for member in _read(evidence, path):
        if member.name in wanted and member.kind == "file":
            if member.read() != evidence.before.read(wanted[member.name], max_bytes=_MOST_BYTES):
                return result(False, f"{path}: {brief(member.name)} has other bytes")
            missing.discard(member.name)
    if missing:
        return result(False, f"{path}: lacks {len(missing)} files, e.g. {brief(min(missing))}")
    return result(True, f"{path}: holds all {len(wanted)} files of {folder}")


@dataclass(frozen=True)
class _Member:
    """One member; `read` works until the next member is requested.

    Attributes:
        kind: "file", "dir", "link" (symbolic or hard) or "other".
        relative: Whether a link's target is relative to the folder it is in, not to the top.
    """

    name: str
    kind: str
    read: Callable[[], bytes]
    target: str = ""
    relative: bool = True


def _read(evidence: Evidence, path: str) -> Iterator[_Member]:
    """Yield the members of an archive. Raises GuestFileError if it is not one or too large."""
    data = evidence.after.read(path, max_bytes=_ARCHIVE_BYTES)
    seen: set[str] = set()
    until = time.monotonic() + _MOST_SECONDS
    try:
        for member in _members(data):
            if time.monotonic() > until or len(seen) >= _MOST_MEMBERS:
                raise GuestFileError(f"{path}: holds more than can be read")
            if member.name in seen and member.kind != "dir":
                raise GuestFileError(f"{path}: holds {brief(member.name)} twice")
            seen.add(member.name)
            yield replace(member, read=functools.partial(_content, member, path))
    except _BROKEN as error:
        raise GuestFileError(f"{path}: is no sound archive: {str(error)[:200]}") from None


def _content(member: _Member, path: str) -> bytes:
    try:
        return member.read()
    except _BROKEN as error:
        what = f"{path}: {brief(member.name)} cannot be read"
        raise GuestFileError(f"{what}: {str(error)[:200]}") from None


def _members(data: bytes) -> Iterator[_Member]:
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield from _zip(data)
        return
    unpack = next((unpack for magic, unpack in _PACKED.items() if data.startswith(magic)), None)
    source = unpack(io.BytesIO(data)) if unpack else io.BytesIO(data)
    # The magic of a tar header follows fields that may hold anything.
    head = source.read(tarfile.BLOCKSIZE)
    stream = _Bounded(head, source)
    empty = len(head) == tarfile.BLOCKSIZE and not head.strip(b"\0")
    if head[257:262] == b"ustar" or empty or unpack is None:
        yield from _tar(stream)
    else:
        yield _Member("", "file", lambda: stream.read(_MOST_BYTES + 1))


class _Bounded:
    """A stream that raises GuestFileError after more than `_MOST_BYTES`."""

    def __init__(self, head: bytes, source: IO[bytes]) -> None:
        self._head, self._source, self._left = head, source, _MOST_BYTES

    def read(self, size: int) -> bytes:
        head, self._head = self._head[:size], self._head[size:]
        data = head + self._source.read(size - len(head)) if len(head) < size else head
        self._left -= len(data)
        if self._left < 0:
            raise GuestFileError(f"an archive of more than {_MOST_BYTES >> 20} MiB unpacked")
        return data


class _Header(tarfile.TarInfo):
    """A header that refuses extended headers so long that parsing them takes quadratic time."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> Any:
        header = super().frombuf(buf, encoding, errors)
        if header.size < 0 or (header.size > _HEADER_BYTES and header.type in b"xgXLK"):
            raise GuestFileError(f"a header of {header.size} bytes in an archive")
        return header


def _tar(stream: _Bounded) -> Iterator[_Member]:
    options: dict[str, Any] = {"fileobj": stream, "mode": "r|", "tarinfo": _Header}
    with tarfile.open(**options) as archive:
        for info in archive:
            archive.members = []  # otherwise tarfile keeps all members
            kind = "file" if info.isreg() else "dir" if info.isdir() else "other"
            if info.issym() or info.islnk():
                kind = "link"
            name, relative = _tidy(info.name), info.issym()
            yield _Member(name, kind, _tar_reader(archive, info), info.linkname, relative)


def _tar_reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        if info.size > _MOST_BYTES:
            raise GuestFileError(f"a member of {info.size} bytes in an archive")
        file = archive.extractfile(info)
        return file.read() if file is not None else b""

    return read


def _zip(data: bytes) -> Iterator[_Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        if sum(info.file_size for info in infos) > _MOST_BYTES:
            raise GuestFileError(f"an archive of more than {_MOST_BYTES >> 20} MiB unpacked")
        for info in infos:
            if info.compress_type not in _ZIP_METHODS:
                raise GuestFileError(f"a member packed with method {info.compress_type}")
            kind, target = "dir" if info.is_dir() else "file", ""
            if info.external_attr >> 28 == 0o12:
                kind, target = "link", archive.read(info).decode("utf-8", "replace")[:4096]
            yield _Member(_tidy(info.filename), kind, lambda info=info: archive.read(info), target)


def _tidy(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name.rstrip("/") if name not in ("/", ".") else name


def _climbs(parts: Sequence[str]) -> bool:
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return False


def _names(what: str, names: object) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise VerifierError(f"{what}: expected a list of names, got {names!r}")
    if not all(isinstance(name, str) for name in names):
        raise VerifierError(f"{what}: expected text, got {names!r}")
    return list(names)
