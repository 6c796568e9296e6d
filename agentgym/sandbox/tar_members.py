"""Members of tar archives that strangers may have written: their sizes are bounded.

`tarfile` reads the extended headers of pax(1) and the long names of GNU tar into memory, whatever
size an archive states for them; compressed zeros would then fill the memory.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Final

_HEADER_BYTES: Final = 1 << 20
_SPARE_BYTES: Final = 1 << 30
_HEADERS: Final = frozenset(
    (
        *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
        *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    )
)


class BoundedMember(tarfile.TarInfo):
    """A member for ``tarfile.open(…, tarinfo=BoundedMember)``."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _HEADER_BYTES:
            raise ValueError(f"a header of {self.size} bytes; expected at most {_HEADER_BYTES}")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


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
