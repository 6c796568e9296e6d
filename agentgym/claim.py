"""Ownership on this host: one folder per host process, flocked as long as the process lives.

If the lock of a folder in `<root>/live` is free, its owner has ended: the kernel releases a lock
however its holder ends. Unlike a process id, a lock means the same in every container. The folder
itself is locked as well, because systemd-tmpfiles(8) then leaves all that is in it alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_GET_FLAGS, _SET_FLAGS, _TOP = 0x80086601, 0x40086602, 0x00020000


class Claim:
    """A folder of this process. Attributes: `name`, unique on this host, and `path`.

    The lock file lists the lasting layers and images that the process uses.
    """

    def __init__(self, root: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self.path = root / "live" / self.name
        # Locked before it appears in live/, because another process would remove an unlocked one.
        draft = root / f".claim-{self.name}"
        draft.mkdir()
        _spread(draft)
        self._lock = _lock(draft / "lock")
        self._folder = os.open(draft, _FOLDER)
        # Some file systems lock no folders.
        with contextlib.suppress(OSError):
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(draft, self.path)
        self._notes: set[str] = set()

    def note(self, name: str) -> None:
        """Tell other processes that this one uses an object; a second call does nothing."""
        if self._lock is not None and name not in self._notes:
            self._notes.add(name)
            os.write(self._lock, f"{name}\n".encode())

    def close(self, remove: Callable[[Path], None]) -> None:
        """Remove the folder and release its lock; a second call does nothing."""
        if self._lock is not None:
            remove(self.path)
            os.close(self._lock)
            os.close(self._folder)
            self._lock = None


@contextlib.contextmanager
def locked(root: Path, name: str, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold a lock file of a store; any process on this host may want the same one."""
    with open(root / name, "wb") as lock:
        fcntl.flock(lock, kind)
        yield


def noted(root: Path) -> set[str]:
    """Return the names of all objects that live processes use."""
    found: set[str] = set()
    for lock in (root / "live").glob("*/lock"):
        # Its owner may be about to remove it.
        with contextlib.suppress(FileNotFoundError):
            found.update(lock.read_text().split())
    return found


def sweep(root: Path, remove: Callable[[Path], None]) -> list[str]:
    """Remove the folders of ended processes and return their names."""
    gone = []
    for folder in (root / "live").iterdir():
        try:
            # The lock file alone is not enough, because a cleaner may have removed it.
            lock = None if _is_locked(folder) else _lock(folder / "lock")
        except FileNotFoundError:
            # Another process has removed it in the meantime.
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
    """Tell the file system that the folders in this one are unrelated.

    ext4 then puts them into different block groups (ioctl_iflags(2), the flag T of chattr(1)). One
    group for all would be slow, because ext4 examines each recently removed file before it makes
    a new one.
    """
    folder_fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Other file systems lack this flag.
        with contextlib.suppress(OSError):
            fcntl.ioctl(folder_fd, _SET_FLAGS, struct.pack("l", _read_flags(folder_fd) | _TOP))
    finally:
        os.close(folder_fd)


def _read_flags(fd: int) -> int:
    (flags,) = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, bytes(struct.calcsize("l"))))
    return int(flags)


def _is_locked(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder itself."""
    folder_fd = os.open(folder, _FOLDER)
    try:
        fcntl.flock(folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(folder_fd)
    return False


def _lock(path: Path) -> int | None:
    """Take the lock of a live folder; return None if its owner still holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
