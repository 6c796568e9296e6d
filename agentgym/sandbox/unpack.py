"""One layer of an OCI image as a layer directory of overlayfs.

OCI image-spec 1.1, layer.md: ``.wh.<name>`` deletes a name, ``.wh..wh..opq`` hides the lower
content of a directory. For all providers, this module drops what a sandbox must not contain:
set-id bits, devices and security attributes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import stat
import struct
import tarfile
from pathlib import Path
from typing import IO, cast

from agentgym.errors import SandboxError
from agentgym.sandbox.build.tar_members import BoundedMember, Room
from agentgym.sandbox.images import Layer
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.stack import OPAQUE, is_whiteout

# Every guest has the ids 0 to 65535, which are mapped for it (see `launch.py`).
IDS = 65_536
_NOBODY = 65_534
_WHITEOUT, _OPAQUE_ENTRY = ".wh.", ".wh..wh..opq"
_CHUNK = 2**16
_LAYER_BYTES = 64 << 30
_CHECK_BYTES = 64 << 20
_ACLS = ("system.posix_acl_access", "system.posix_acl_default")
_ACL_ENTRY = struct.Struct("<HHI")
# Entries of an ACL that name a user or a group (linux/posix_acl.h).
_ACL_NAMED = (0x02, 0x08)


def unpack(layer: Layer, target: Path, first_id: int | None) -> None:
    """Unpack a layer into a new directory.

    Args:
        layer: The layer to read.
        target: A path that does not exist yet; a failure leaves it incomplete.
        first_id: Host id of guest user and group 0, or None if every file is to belong to the
            calling user.

    Raises:
        SandboxError: The blob is damaged, or an entry leads out of the root.
    """
    with contextlib.ExitStack() as stack:
        blob: IO[bytes] = stack.enter_context(open(layer.path, "rb"))
        if layer.compressed:
            blob = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=blob)))
        source = _Hashed(blob)
        try:
            stream = cast("IO[bytes]", source)
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=BoundedMember) as archive:
                _Unpacking(archive, target, first_id).run()
            while source.read(_CHUNK):
                pass
        except (OSError, EOFError, ValueError, RecursionError, tarfile.TarError) as error:
            raise SandboxError(f"layer {layer.path} cannot be unpacked: {error}") from error
        if f"sha256:{source.digest.hexdigest()}" != layer.diff_id:
            raise SandboxError(f"layer {layer.path} is damaged: it is not {layer.diff_id}")


class _Hashed:
    """A stream that computes the SHA-256 of the bytes read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.digest = stream, hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.digest.update(data)
        return data


class _Unpacking:
    """The unpacking of one archive."""

    def __init__(self, archive: tarfile.TarFile, target: Path, first_id: int | None) -> None:
        self._archive, self._root, self._first_id = archive, str(target), first_id
        self._room = Room(target.parent)
        self._deleted: set[str] = set()
        # Directories get modes and times last, because writing into them needs a mode and changes
        # the times.
        self._folders: dict[str, tarfile.TarInfo] = {}

    def run(self) -> None:
        os.mkdir(self._root, 0o755)
        self._give(self._root, 0, 0)
        size = 0
        for member in self._archive:
            size += member.size
            if size > _LAYER_BYTES:
                raise ValueError(f"its files have more than {_LAYER_BYTES >> 30} GiB")
            path = self._inside(member.name)
            if path != self._root:
                self._make_parents(path, member.name)
                self._place(path, member)
        for path in sorted(self._folders, reverse=True):
            # A later entry may have replaced it.
            if os.path.isdir(path) and not os.path.islink(path):
                self._finish(path, self._folders[path])

    def _inside(self, name: str) -> str:
        """Return the path of an entry; a leading slash means the guest's root."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise ValueError(f"the entry {name!r} leads out of the root")
        return "/".join((self._root, *parts))

    def _make_parents(self, path: str, name: str) -> None:
        parent = self._root
        for part in path[len(self._root) + 1 :].split("/")[:-1]:
            parent = f"{parent}/{part}"
            found = _lstat(parent)
            if found is None or is_whiteout(found):
                self._make_dir(parent)
            elif not stat.S_ISDIR(found.st_mode):
                raise ValueError(f"the entry {name!r} leads through {part!r}, no directory")

    def _make_dir(self, path: str) -> None:
        remove(path)
        os.mkdir(path, 0o755)
        # Fixed values until the archive describes it, independent of user and time.
        self._folders[path] = tarfile.TarInfo()
        self._folders[path].mode = 0o755
        if path in self._deleted:
            os.setxattr(path, OPAQUE, b"y")

    def _place(self, path: str, member: tarfile.TarInfo) -> None:
        folder, _, name = path.rpartition("/")
        found = _lstat(path)
        if name == _OPAQUE_ENTRY:
            os.setxattr(folder, OPAQUE, b"y")
        elif name.startswith(_WHITEOUT):
            deleted = name.removeprefix(_WHITEOUT)
            if deleted in ("", ".", ".."):
                raise ValueError(f"the entry {member.name!r} names no file to delete")
            self._delete(f"{folder}/{deleted}")
        elif member.isdir():
            if found is None or not stat.S_ISDIR(found.st_mode):
                self._make_dir(path)
            self._folders[path] = member
        elif member.islnk():
            target = self._inside(member.linkname)
            self._make_parents(target, member.linkname)
            remove(path)
            os.link(target, path, follow_symlinks=False)
        elif member.isreg() or member.issym() or member.isfifo():
            remove(path)
            self._make_file(path, member)
            self._finish(path, member)

    def _delete(self, path: str) -> None:
        """Hide the content of lower layers at a path; that of this layer stays."""
        self._deleted.add(path)
        found = _lstat(path)
        if found is None:
            os.mknod(path, stat.S_IFCHR)
        elif stat.S_ISDIR(found.st_mode):
            os.setxattr(path, OPAQUE, b"y")

    def _make_file(self, path: str, member: tarfile.TarInfo) -> None:
        if member.issym():
            os.symlink(member.linkname, path)
        elif member.isfifo():
            os.mkfifo(path, 0o600)
        else:
            content = self._archive.extractfile(member)
            assert content is not None
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                while data := content.read(_CHUNK):
                    if file.tell() % _CHECK_BYTES == 0:
                        self._room.check()
                    # A block of zeros becomes a hole.
                    if data.count(0) == len(data):
                        file.seek(len(data), os.SEEK_CUR)
                    else:
                        file.write(data)
                file.truncate()

    def _finish(self, path: str, member: tarfile.TarInfo) -> None:
        """Set owner, attributes, mode and time."""
        self._give(path, member.uid, member.gid)
        if not member.issym():
            for key, text in member.pax_headers.items():
                name = key.removeprefix("SCHILY.xattr.")
                value = self._attribute(name, text.encode("utf-8", "surrogateescape"))
                if name != key and value is not None:
                    os.setxattr(path, name, value)
            dropped = 0 if member.isdir() else stat.S_ISUID | stat.S_ISGID
            os.chmod(path, member.mode & 0o7777 & ~dropped)
        time_ns = round(member.mtime * 1e9)
        os.utime(path, ns=(time_ns, time_ns), follow_symlinks=False)

    def _give(self, path: str, uid: int, gid: int) -> None:
        if self._first_id is not None:
            owner, group = (self._first_id + min(number, _NOBODY) for number in (uid, gid))
            os.chown(path, owner, group, follow_symlinks=False)

    def _attribute(self, name: str, value: bytes) -> bytes | None:
        """Return the stored value of an extended attribute, or None if it is left out."""
        if name in _ACLS:
            return self._acl(value)
        return value if name.startswith("user.") and not name.startswith("user.overlay.") else None

    def _acl(self, value: bytes) -> bytes | None:
        """Return an access control list with ids of the host, or None if an id is not mapped."""
        entries = []
        for tag, rights, number in _ACL_ENTRY.iter_unpack(value[4:]):
            if tag in _ACL_NAMED:
                if self._first_id is None or number >= IDS:
                    return None
                number += self._first_id
            entries.append(_ACL_ENTRY.pack(tag, rights, number))
        return value[:4] + b"".join(entries)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
