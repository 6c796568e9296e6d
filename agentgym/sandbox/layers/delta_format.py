"""The writes of a sandbox as one archive: its format, and its bounds.

The format is tar with POSIX (pax) headers, which GNU tar reads. A deleted name is a character
device 0/0, as on disk; a directory that hides what is below it carries ``AGENTGYM.opaque``.
Extended attributes are ``SCHILY.xattr.*``, files with holes ``GNU.sparse`` 1.0; user ids are those
of the guest.

Standard library only: see `operations.py`.
"""

from __future__ import annotations

import errno
import re
import tarfile
import time

BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20
XATTR, OPAQUE = "SCHILY.xattr.", "AGENTGYM.opaque"
KEPT_ATTRIBUTES = ("user.", "security.capability", "system.posix_acl_")
_DEADLINE_S = 20.0
_TIME = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]*))?")
_NS = 10**9


class Budget:
    """Bounds an archive: entries, bytes and time. Past a bound it raises OSError (EFBIG).

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
            raise too_much(f"it has more than {self.max_entries} entries")
        if time.monotonic() > self._until_s:
            raise too_much(f"it could not be read within {_DEADLINE_S:g} s")
        self.data(2 * BLOCK)

    def data(self, size: int) -> None:
        """Count more bytes."""
        self._bytes += size
        if self._bytes > self.max_bytes:
            raise too_much(f"it has more than {self.max_bytes} bytes")


def too_much(why: str) -> OSError:
    """Return the error of an archive beyond a bound."""
    return OSError(errno.EFBIG, why)


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


def time_ns_of(member: tarfile.TarInfo) -> int:
    """Return the time of an entry in nanoseconds since 1970."""
    found = _TIME.fullmatch(member.pax_headers.get("mtime", ""))
    if found is None:
        return int(member.mtime) * _NS
    sign, seconds, fraction = found.groups(default="")
    time_ns = int(seconds) * _NS + int(fraction[:9].ljust(9, "0"))
    return -time_ns if sign else time_ns
