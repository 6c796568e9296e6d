"""Overlay directories as layers of Docker images, and back.

The image format is docker's own (moby, image spec v1.2): a layer is a tar archive in which
``.wh.<name>`` deletes a name and ``.wh..wh..opq`` hides what is below a directory; an image is
a JSON document that names its layers by digest. `docker commit` would make the same from a
container, without POSIX ACLs and with times cut to seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

from agentgym.errors import SandboxError
from agentgym.sandbox.docker.allowance import Allowance, Watched
from agentgym.sandbox.layers.attributes import attributes, is_keyword
from agentgym.sandbox.layers.changes import compare
from agentgym.sandbox.layers.delta_format import set_time
from agentgym.sandbox.layers.stack import (
    TRUSTED_OPAQUE,
    Stack,
    is_opaque,
    is_whiteout,
    scan,
)

# Docker's own layer between image and container covers these with empty files.
COVERED = ("/.dockerenv", "/etc/hosts", "/etc/mtab", "/etc/resolv.conf")
_WHITEOUT = ".wh."
_OPAQUE_ENTRY = ".wh..wh..opq"
_BLOCK = tarfile.BLOCKSIZE
_HOLE = 4096
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@contextlib.contextmanager
def reached() -> Iterator[None]:
    """Turn a failure at Docker's layer directories into a SandboxError."""
    try:
        yield
    except OSError as error:
        raise SandboxError(f"cannot use Docker's layers: {error}; see: agentgym doctor") from error


# --- from a directory to an image ------------------------------------------------------------


def pack(
    folder: str,
    archive: tarfile.TarFile,
    *,
    opaque: str = TRUSTED_OPAQUE,
    allowance: Allowance | None = None,
) -> None:
    """Add the content of a layer directory to an archive.

    Args:
        folder: The directory.
        archive: Written to.
        opaque: The attribute of directories that hide lower content.
        allowance: Limit for the size of the files; None: no limit.

    Raises:
        SandboxError: The caller has given up the layer.
    """
    # By level: the folder, its name in the archive, and the folders in it that are still to be
    # packed. A guest can make so many folders that a list of all their paths would fill the memory.
    levels: list[tuple[str, str, list[tuple[str, str]]]] = [("", "", [("", "")])]
    linked: dict[tuple[int, int], str] = vars(archive)["inodes"]
    while levels:
        place, prefix, names = levels[-1]
        if not names:
            levels.pop()
            continue
        name, member = names.pop()
        place, prefix = (f"{place}{name}/", f"{prefix}{member}/") if name else ("", "")
        folders = []
        for name, member, info in _named(scan(f"{folder}/{place}")):
            _pack(f"{folder}/{place}{name}", f"{prefix}{member}", info, archive, opaque, allowance)
            # The archive would keep every name, of which a guest can make gigabytes.
            archive.getmembers().clear()
            if info.st_nlink == 1:
                linked.pop((info.st_ino, info.st_dev), None)
            if stat.S_ISDIR(info.st_mode):
                folders.append((name, member))
        levels.append((place, prefix, folders))


def _named(
    found: list[tuple[str, os.stat_result]],
) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield the entries of a folder, sorted, each with its name in the archive.

    In the format a name with ``.wh.`` is a deletion. A guest's file with such a name gets another
    one, so that it cannot hide from the judge.
    """
    taken, number = {name for name, _ in found}, 0
    for name, info in sorted(found):
        member = name
        if name.startswith(_WHITEOUT):
            if is_whiteout(info):
                continue
            member = f"_{name[1:]}"
            while member in taken:
                number += 1
                member = f"_wh.{number}"
            taken.add(member)
        yield name, member, info


def _pack(
    path: str,
    name: str,
    info: os.stat_result,
    archive: tarfile.TarFile,
    opaque: str,
    allowance: Allowance | None = None,
) -> None:
    """Add one file, or the mark of its deletion, to an archive."""
    if is_whiteout(info):
        folder, slash, base = name.rpartition("/")
        archive.addfile(tarfile.TarInfo(f"{folder}{slash}{_WHITEOUT}{base}"))
        return
    # None for a socket, whose listener has ended.
    member = archive.gettarinfo(path, name)
    if member is None:
        return
    member.uname = member.gname = ""
    member.pax_headers = {
        f"SCHILY.xattr.{key}": value.decode("utf-8", "surrogateescape")
        for key, value in _attributes(path, opaque).items()
    }
    set_time(member, info.st_mtime_ns)
    if member.isreg() and allowance is not None and not allowance.take(name, member.size):
        member.size = 0
    if not member.isreg():
        archive.addfile(member)
    else:
        with open(path, "rb") as file:
            archive.addfile(member, Watched(file, allowance) if allowance else file)
    if member.isdir() and is_opaque(path, opaque):
        archive.addfile(tarfile.TarInfo(f"{name}/{_OPAQUE_ENTRY}"))


def _attributes(path: str, opaque: str) -> dict[str, bytes]:
    """Return the extended attributes of a file itself, without those of the overlay."""

    def is_kept(name: str) -> bool:
        return name != opaque and not name.startswith("trusted.") and is_keyword(name)

    return attributes(path, is_kept)


def write_image(
    file: IO[bytes],
    parents: Sequence[str],
    fillers: Iterable[Callable[[tarfile.TarFile], None]],
    *,
    labels: Mapping[str, str],
    created: datetime,
) -> str:
    """Write the archive of an image that adds layers, and return the image's id.

    It contains only the new layers; the daemon takes the others from its own store.

    Args:
        file: Empty, seekable; the position is at its start afterwards.
        parents: Digests of the layers below, lowest first.
        fillers: Functions that each fill a new layer, lowest first.
        labels: Labels of the image; they affect its id.
        created: Creation time of the image; it affects the id.
    """
    diff_ids, names = [*parents], ["in-the-store" for _ in parents]
    for fill in fillers:
        names.append(f"layer-{len(names)}.tar")
        diff_ids.append(_write_layer(file, names[-1], fill))
    config = json.dumps(
        {
            "architecture": _MACHINES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "created": created.isoformat(),
            "config": {"Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [{"created": created.isoformat()} for _ in diff_ids],
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": None, "Layers": names}]
    for name, data in (("config.json", config), ("manifest.json", json.dumps(manifest).encode())):
        file.write(_header(name, len(data)) + data + bytes(-len(data) % _BLOCK))
    file.write(bytes(2 * _BLOCK))
    file.seek(0)
    return f"sha256:{hashlib.sha256(config).hexdigest()}"


def _write_layer(file: IO[bytes], name: str, fill: Callable[[tarfile.TarFile], None]) -> str:
    """Add a layer to the archive of an image and return its digest."""
    start = file.tell()
    file.write(bytes(_BLOCK))
    digest = _Digest(file)
    with tarfile.open(
        fileobj=digest, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8"
    ) as layer:
        fill(layer)
    end = file.tell()
    file.seek(start)
    file.write(_header(name, end - start - _BLOCK))
    file.seek(end)
    return f"sha256:{digest.hexdigest()}"


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


class _Digest(io.RawIOBase):
    """A write-only file that computes the SHA-256 of its content."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._hash.update(data)
        if len(data) >= _HOLE and data.count(0) == len(data):
            # The archive stays on this disk until the daemon reads it, so keep holes as holes.
            self._file.seek(len(data), os.SEEK_CUR)
            return len(data)
        return self._file.write(data)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


# --- the upper directory of a container ------------------------------------------------------


def uncover(upper: str, image: Iterable[str]) -> None:
    """Restore the files that Docker covers, in the upper directory before a container's start."""
    stack = Stack(list(image), opaque=TRUSTED_OPAQUE)
    for path in COVERED:
        parent, name = os.path.split(path)
        folder = stack.lookup(parent, follow=False)
        if folder is None or not stat.S_ISDIR(folder[1].st_mode):
            continue
        above = f"{upper}{parent}".rstrip("/")
        if not os.path.exists(above):
            os.mkdir(above)
            _make_like(folder[0][0], above)
        found = stack.lookup(path, follow=False)
        if found is None:
            os.mknod(f"{above}/{name}", stat.S_IFCHR)
        elif stat.S_ISLNK(found[1].st_mode):
            os.symlink(os.readlink(found[0][0]), f"{above}/{name}")
        elif stat.S_ISREG(found[1].st_mode):
            shutil.copyfile(found[0][0], f"{above}/{name}")
            _make_like(found[0][0], f"{above}/{name}")


def _make_like(source: str, target: str) -> None:
    info = os.stat(source)
    os.chown(target, info.st_uid, info.st_gid)
    os.chmod(target, stat.S_IMODE(info.st_mode))
    for key, value in _attributes(source, TRUSTED_OPAQUE).items():
        os.setxattr(target, key, value)
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))


def is_untouched(upper: str, image: Iterable[str]) -> bool:
    """Return whether an upper directory holds only the files of `uncover`."""
    below = list(image)
    before, after = (
        Stack(below, opaque=TRUSTED_OPAQUE),
        Stack([upper, *below], opaque=TRUSTED_OPAQUE),
    )
    for folder, folders, files in os.walk(upper):
        for name in folders + files:
            path = f"{folder[len(upper) :]}/{name}"
            if path != "/etc" and path not in COVERED:
                return False
            if compare(before.lookup(path, follow=False), after.lookup(path, follow=False)):
                return False
    return True


def add_file(archive: tarfile.TarFile, path: Path, name: str, allowance: Allowance) -> None:
    """Add one file of the host to a layer archive under another name."""
    _pack(str(path), name, path.lstat(), archive, TRUSTED_OPAQUE, allowance)
