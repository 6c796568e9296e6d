"""Who owns what on this host: one folder per host process, flocked as long as it lives.

A folder of `<root>/live` whose lock can be taken belongs to nobody any more: the kernel lets go
of a lock however its holder ends, and unlike a process id it means the same in every container.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import struct
from collections.abc import Callable
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _TOP = 0x80086601, 0x40086602, 0x00020000


class Claim:
    """A folder of this process. Attributes: `name`, unique on this host, and `path`.

    The lock file lists what the process uses of that which outlives it.
    """

    def __init__(self, root: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self.path = root / "live" / self.name
        # Locked before it appears under live/, or another process would take it for an orphan.
        draft = root / f".claim-{self.name}"
        draft.mkdir()
        _spread(draft)
        self._lock = _lock(draft / "lock")
        os.rename(draft, self.path)
        self._notes: set[str] = set()

    def note(self, name: str) -> None:
        """Let every process know that this one uses something; a second time does nothing."""
        if self._lock is not None and name not in self._notes:
            self._notes.add(name)
            os.write(self._lock, f"{name}\n".encode())

    def close(self, remove: Callable[[Path], None]) -> None:
        """Have the folder removed and let go of it; a second call does nothing."""
        if self._lock is not None:
            remove(self.path)
            os.close(self._lock)
            self._lock = None


def noted(root: Path) -> set[str]:
    """Return what live processes use."""
    found: set[str] = set()
    for lock in (root / "live").glob("*/lock"):
        # Its owner may be about to remove it.
        with contextlib.suppress(FileNotFoundError):
            found.update(lock.read_text().split())
    return found


def sweep(root: Path, remove: Callable[[Path], None]) -> list[str]:
    """Have the folders removed of processes that are gone, and return their names."""
    gone = []
    for folder in (root / "live").iterdir():
        try:
            lock = _lock(folder / "lock")
        except FileNotFoundError:
            # Another process sweeps too, and was faster.
            continue
        if lock is None:
            continue
        try:
            remove(folder)
        finally:
            os.close(lock)
        gone.append(folder.name)
    for draft in root.glob(".claim-*"):
        if not Path("/proc", draft.name.split("-")[1]).exists():
            remove(draft)
    return gone


def _spread(folder: Path) -> None:
    """Tell the file system that the folders in this one have nothing to do with each other.

    ext4 then puts each into a place of its own (ioctl_iflags(2), the flag T of chattr(1)).
    Together they would be slow: it looks at each file that was removed lately before it makes one.
    """
    folder_fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Other file systems know no such flag.
        with contextlib.suppress(OSError):
            fcntl.ioctl(folder_fd, _SET_FLAGS, struct.pack("l", _read_flags(folder_fd) | _TOP))
    finally:
        os.close(folder_fd)


def _read_flags(fd: int) -> int:
    (flags,) = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, bytes(struct.calcsize("l"))))
    return int(flags)


def _lock(path: Path) -> int | None:
    """Take the lock of a live folder; None where its owner still has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
