"""Copies files between the host and a guest, by requests to the guest's supervisor."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Any

from agentgym.errors import GuestFileError, SandboxError
from agentgym.regular_file import DATA_BYTES, read_regular
from agentgym.sandbox.supervised_shell import REPLY_S
from agentgym.threads import to_thread

_CHUNK = 4 * 2**20
DOWNLOAD_BYTES = 2**30
DOWNLOAD_ENTRIES = 100_000
DOWNLOAD_DEPTH = 200


class FileTransfer:
    """The methods of a Sandbox that copy files; `Supervised` inherits them."""

    async def _ask(
        self, op: str, body: bytes = b"", *, timeout_s: float = REPLY_S, **fields: object
    ) -> tuple[dict[str, Any], bytes]:
        """Send one request to the supervisor."""
        raise NotImplementedError

    async def read_file(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes."""
        parts: list[bytes] = []
        position = 0
        while True:
            header, body = await self._ask(
                "read", path=path, offset=position, limit=min(_CHUNK, max_bytes + 1 - position)
            )
            if header["size"] > max_bytes:
                raise GuestFileError(
                    f"{path}: {header['size']} bytes, over the {max_bytes} allowed"
                )
            parts.append(body)
            position += len(body)
            # A file of /proc reports size 0; an empty read marks its end.
            if not body or position == header["size"]:
                return b"".join(parts)

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file, making its parents."""
        view = memoryview(data)
        position = 0
        while True:
            part = bytes(view[position : position + _CHUNK])
            last = position + len(part) >= len(data)
            await self._ask("write", part, path=path, offset=position, mode=mode if last else None)
            position += len(part)
            if last:
                return

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file or folder to the guest path `target`."""
        if source.is_symlink():
            await self._ask("make", path=target, kind="link", target=os.readlink(source))
        elif source.is_dir():
            mode = source.stat().st_mode & 0o7777
            await self._ask("make", path=target, kind="dir", mode=mode | 0o700)
            for child in await to_thread(_children, source):
                await self.upload(child, posixpath.join(target, child.name))
            await self._ask("make", path=target, kind="dir", mode=mode)
        else:
            try:
                data = await to_thread(read_regular, source, DATA_BYTES)
            except OSError as error:
                raise SandboxError(f"{source}: cannot be read: {error.strerror}") from error
            await self.write_file(target, data, mode=source.stat().st_mode & 0o7777)

    async def download(self, source: str, target: Path) -> None:
        """Copy a guest file or folder to the host path `target`.

        It copies only regular files and folders. Links are left out, because on the host they
        would point elsewhere.

        Raises:
            GuestFileError: The source cannot be read, or exceeds `DOWNLOAD_BYTES`,
                `DOWNLOAD_ENTRIES` or `DOWNLOAD_DEPTH`: holes in files and nested folders cost a
                guest nothing.
        """
        header, _ = await self._ask("stat", path=source, follow=True)
        if header["kind"] == "file":
            await to_thread(_write, target, await self.read_file(source))
            return
        if header["kind"] != "dir":
            raise GuestFileError(f"{source}: is neither a file nor a directory")
        left, entries = DOWNLOAD_BYTES, 0
        waiting = [(source, target, 0)]
        while waiting:
            folder, place, depth = waiting.pop()
            await to_thread(_make_folder, place, folder)
            listing, _ = await self._ask("list", path=folder)
            found = listing["entries"]
            entries += len(found)
            announced = sum(entry["size"] for entry in found.values() if entry["kind"] == "file")
            if announced > left or entries > DOWNLOAD_ENTRIES or depth > DOWNLOAD_DEPTH:
                raise GuestFileError(
                    f"{source}: more than the {DOWNLOAD_BYTES >> 20} MiB in {DOWNLOAD_ENTRIES} "
                    f"entries, {DOWNLOAD_DEPTH} folders deep, that can be downloaded at once"
                )
            for name, entry in found.items():
                # The names come from the guest; a name must not lead out of the target.
                if "/" in name or name in ("", ".", ".."):
                    raise SandboxError(f"{folder}: the guest reports the impossible name {name!r}")
                path = posixpath.join(folder, name)
                if entry["kind"] == "dir":
                    waiting.append((path, place / name, depth + 1))
                elif entry["kind"] == "file":
                    data = await self.read_file(path, max_bytes=min(left, 64 * 2**20))
                    left -= len(data)
                    await to_thread(_write, place / name, data)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _make_folder(place: Path, folder: str) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        # A guest can nest deeper than a path can name.
        raise GuestFileError(f"{folder}: cannot be kept at {place}: {error.strerror}") from None
