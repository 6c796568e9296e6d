"""The files that the pages of one browser context give, within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentgym.browser.requests import RequestLog
from agentgym.errors import GuestFileError
from agentgym.records import Json

if TYPE_CHECKING:
    from playwright.async_api import Download

_FILES: Final = 20
_FILE_S: Final = 10.0
MOST_BYTES: Final = 128 * 2**20
"""Bytes of all downloads of one context."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file that a page gave.

    Attributes:
        name: Its suggested name.
        path: Where it lies on the host; None if the download failed.
        size: Bytes.
        sha256: Digest of its content.
        error: Why it failed; empty if it did not.
    """

    name: str
    path: Path | None
    size: int
    sha256: str
    error: str = ""

    def as_json(self) -> dict[str, Json]:
        """Return what an observation shows."""
        if self.error:
            return {"name": self.name, "error": self.error}
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256}


class Downloads:
    """The downloads of one browser context; lives on the engine's loop.

    Args:
        log: The requests of the context, which know why one failed.
        note: Is told of a download that is refused.

    Attributes:
        files: Files that were downloaded, in the order of their ends.
        seen: Number of downloads that have begun.
    """

    def __init__(self, log: RequestLog, note: Callable[[str], None]) -> None:
        self.files: list[Downloaded] = []
        self.seen = 0
        self._log, self._note = log, note
        self._arriving: set[Download] = set()
        self._excessive: set[Download] = set()
        self._received: dict[str, float] = {}

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.size for file in self.files)

    def grow(self, event: dict[str, Any]) -> Sequence[Coroutine[Any, Any, None]]:
        """Note the progress of a download; return what ends those that have become too large."""
        self._received[event["guid"]] = event["receivedBytes"]
        if event["state"] != "inProgress":
            # One that is kept counts by its size.
            del self._received[event["guid"]]
            return ()
        if sum(self._received.values()) + self.size <= MOST_BYTES:
            return ()
        excessive = self._arriving - self._excessive
        self._excessive |= excessive
        return [download.cancel() for download in excessive]

    async def take(self, download: Download) -> None:
        """Wait for a download that has begun, and keep its file or the reason of its failure."""
        self.seen += 1
        name = Path(download.suggested_filename).name[:120] or "download"
        if self.seen > _FILES:
            self._note(f"a download was refused: there are {_FILES} already")
            await download.cancel()
            return
        self._arriving.add(download)
        error, path = "it took too long", None
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FILE_S):
                    error = await download.failure() or ""
                    path = None if error else Path(await download.path())
        finally:
            self._arriving.discard(download)
        if path is not None and _size(path) + self.size > MOST_BYTES:
            self._excessive.add(download)
        if download in self._excessive:
            if path is not None:
                path.unlink(missing_ok=True)
                path = None
            error = f"all downloads have more than {MOST_BYTES:,} bytes"
        elif error:
            await download.cancel()
            error = self._log.failure_of(download.url) or error
        data = b"" if path is None else await asyncio.to_thread(path.read_bytes)
        digest = hashlib.sha256(data).hexdigest()
        self.files.append(Downloaded(name, path, len(data), digest, error))

    def content(self, name: str) -> bytes:
        """Return the content of a file, the last one of its name.

        Raises:
            GuestFileError: No file of this name was downloaded.
        """
        for file in reversed(self.files):
            if file.name == name and file.path is not None:
                return file.path.read_bytes()
        names = ", ".join(file.name for file in self.files) or "none"
        raise GuestFileError(
            f"no file named {name!r} was downloaded (downloaded: {names}); give text or path"
        )

    def remove(self) -> None:
        """Remove the files from the host."""
        for file in self.files:
            if file.path is not None:
                file.path.unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
