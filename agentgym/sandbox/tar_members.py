"""Members of tar archives that strangers may have written: their headers have bounded sizes.

`tarfile` reads the extended headers of pax(1) and the long names of GNU tar into memory, whatever
size an archive states for them; compressed zeros would then fill the memory.
"""

from __future__ import annotations

import tarfile
from typing import Final

_HEADER_BYTES: Final = 1 << 20
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
