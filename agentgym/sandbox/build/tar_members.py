"""Members of tar archives that strangers may have written: their sizes are bounded.

`tarfile` reads the extended headers of pax(1) and the long names of GNU tar into memory, whatever
size an archive states for them, and so the table of a file with holes; compressed zeros would then
fill the memory. Standard library only: builds read archives in a process without any package.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any, Final, cast

HOLES: Final = 500_000
"""Largest number of parts of one file with holes."""

_SPARE_BYTES: Final = 1 << 30
_HEADERS: Final = frozenset(
    (
        *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
        *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    )
)


class BoundedMember(tarfile.TarInfo):
    """A member for ``tarfile.open(…, tarinfo=BoundedMember)``.

    Attributes:
        header_bytes: Largest extended header or long name.
        refused: Kinds of members that such archives do not have.
    """

    header_bytes = 1 << 20
    # Its table has no length, it ends where a block says so; no writer of layers uses this form.
    refused: tuple[bytes, ...] = (tarfile.GNUTYPE_SPARSE,)

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in self.refused:
            raise ValueError(f"a member of the kind {self.type!r}")
        if self.type in _HEADERS and self.size > self.header_bytes:
            raise ValueError(f"a header of {self.size} bytes; expected at most {self.header_bytes}")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]

    def _proc_gnusparse_10(
        self, following: tarfile.TarInfo, headers: dict[str, str], archive: tarfile.TarFile
    ) -> None:
        """Read the table of a file with holes, which begins with the number of its parts."""
        assert archive.fileobj is not None
        blocks = _Blocks(archive.fileobj)
        count = int(blocks.first.partition(b"\n")[0])
        if count > HOLES:
            raise ValueError(f"a file of {count} parts; expected at most {HOLES}")
        archive.fileobj, file = cast(Any, blocks), archive.fileobj
        try:
            super()._proc_gnusparse_10(following, headers, archive)  # type: ignore[misc]
        finally:
            archive.fileobj = file


class _Blocks:
    """A stream, of which one block has been looked at."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.first: bytes = stream.read(tarfile.BLOCKSIZE)
        self._waiting: bytes | None = self.first

    def read(self, size: int) -> bytes:
        """Return the next block."""
        waiting, self._waiting = self._waiting, None
        found: bytes = self._stream.read(size) if waiting is None else waiting
        return found

    def tell(self) -> int:
        """Return the position in the stream."""
        place: int = self._stream.tell()
        return place


class Room:
    """Keeps 1 GiB of a disk free while an archive is unpacked, or a quarter of what was free.

    Args:
        folder: A folder of the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spare = min(_SPARE_BYTES, self._free() // 4)

    def check(self) -> None:
        """Raise ValueError if the disk is almost full."""
        if self._free() < self._spare:
            raise ValueError("its files would fill this disk")

    def _free(self) -> int:
        found = os.statvfs(self._folder)
        return found.f_bavail * found.f_frsize
