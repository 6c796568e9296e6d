"""Content-addressed blobs: ``blobs/ab/cd/<sha256>``, zlib-compressed, immutable once written.

A blob is written under a temporary name and renamed, so it is whole or absent whenever the process
dies. The name is the SHA-256 of the content before compression; reading checks it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import zlib
from pathlib import Path

from agentgym.errors import DiskFullError, RecordError
from agentgym.record.folder import RunFolder

BLOB_BYTES = 64 << 20
"""Largest size of a blob in bytes: several times the largest recorded picture or reply."""

_NAME = re.compile("[0-9a-f]{64}")


class BlobStore:
    """The blobs of one run.

    Args:
        folder: Folder of the blobs in the run folder; created for the first blob.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = RunFolder(folder.parent)
        self._swept = False

    def put(self, data: bytes, *, compress: bool = True) -> str:
        """Keep bytes and return their name; existing content is not written again.

        Args:
            data: The content.
            compress: False for content that is already compressed (a PNG).

        Raises:
            DiskFullError: The disk is full.
            RecordError: The folder cannot be written.
        """
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        try:
            if self._files.find(path) is not None:
                return name
            self._sweep()
            with self._files.replacing(path, drafts=self.folder.name) as file:
                file.write(zlib.compress(data, level=6 if compress else 0))
        except OSError as error:
            kind = DiskFullError if error.errno == errno.ENOSPC else RecordError
            raise kind(
                f"{self._files.path / path}: a blob of {len(data)} bytes cannot be written: "
                f"{error.strerror}"
            ) from error
        return name

    def _sweep(self) -> None:
        """Remove drafts of a writer that was killed: there is one writer at a time."""
        if self._swept:
            return
        with contextlib.suppress(FileNotFoundError):
            for draft in self._files.hidden(self.folder.name):
                self._files.remove(draft)
        self._swept = True

    def names(self) -> list[str]:
        """Return the names of all blobs."""
        return sorted(
            path.name for path in self.folder.glob("??/??/*") if _NAME.fullmatch(path.name)
        )

    def get(self, name: str) -> bytes:
        """Return the bytes kept under a name.

        Raises:
            RecordError: The blob is missing or damaged.
        """
        if not _NAME.fullmatch(name):
            raise RecordError(f"{self.folder}: {name[:80]!r} is not the name of a blob")
        path = self._files.path / self._path(name)
        try:
            packed = self._files.read(self._path(name), BLOB_BYTES + (1 << 20))
            data = _inflated(packed, path)
        except OSError as error:
            raise RecordError(f"{path}: the blob cannot be read: {error.strerror}") from error
        except zlib.error as error:
            raise RecordError(f"{path}: the blob is damaged: {error}") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise RecordError(f"{path}: the blob is damaged: its content does not match its name")
        return data

    def _path(self, name: str) -> str:
        """Return the path of a blob in the run folder."""
        return f"{self.folder.name}/{name[:2]}/{name[2:4]}/{name}"


def _inflated(packed: bytes, path: Path) -> bytes:
    """Decompress a blob, which may be crafted to fill the memory."""
    stream = zlib.decompressobj()
    data = stream.decompress(packed, BLOB_BYTES + 1)
    if len(data) > BLOB_BYTES:
        raise RecordError(f"{path}: the blob is damaged: it holds more than {BLOB_BYTES} bytes")
    if not stream.eof:
        raise zlib.error("it ends too early")
    return data
