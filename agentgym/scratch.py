"""Temporary folders of this process. What a killed process left is removed by the next one.

<folder for temporary files>/agentgym-<user id>/live/<owner>/   one per process (see `claim.py`)
<purpose>-<random>/
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from agentgym.claim import Claim, sweep

_TRIES = 5
_PASSABLE = 0o711
"""A process that has given up its rights gets into its folder, and sees no others."""

_claims: dict[tuple[int, str], Claim] = {}
_lock = threading.Lock()


def scratch_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """Return a new temporary folder that only this user can enter; a context manager.

    What cannot be removed at its end, such as a folder in which something is mounted, is left to
    the end of the process.

    Args:
        purpose: The first word of its name.

    Raises:
        OSError: There is no folder for temporary files, or no room in it.
    """
    return tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=_own(), ignore_cleanup_errors=True)


def make_scratch_folder(purpose: str) -> Path:
    """Make a temporary folder that the caller removes; see `scratch_folder`."""
    return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_own()))


@contextlib.contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """Yield an address of a Unix socket at a path, which may be longer than the 107 bytes of one.

    A process whose working directory is the folder can use the name of the socket instead.

    Raises:
        OSError: Its folder cannot be opened.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _own() -> Path:
    """Return the folder of this process, made at the first use."""
    place = tempfile.gettempdir()
    with _lock:
        claim = _claims.get((os.getpid(), place))
        # A cleaner of temporary files may have removed what was not used for days.
        if claim is None or not claim.path.is_dir():
            claim = _claims[os.getpid(), place] = _claimed(Path(place))
        return claim.path


def _claimed(place: Path) -> Claim:
    for _ in range(_TRIES):
        # Another process that ends may remove the empty folder in between.
        with contextlib.suppress(FileNotFoundError):
            root = _root(place)
            (root / "live").mkdir(exist_ok=True)
            _sweep(root)
            claim = Claim(root)
            for folder in (root, root / "live", claim.path):
                folder.chmod(_PASSABLE)
            atexit.register(_release, os.getpid(), claim)
            return claim
    raise FileNotFoundError(f"{place}: no folder for temporary files could be made in it")


def _sweep(root: Path) -> None:
    """Remove what killed processes left; an event loop does not wait for it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        sweep(root, _remove)
    else:
        threading.Thread(target=sweep, args=(root, _remove)).start()


def _root(place: Path) -> Path:
    """Return the folder of this user, or another one if somebody else has taken its name."""
    root = place / f"agentgym-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=_PASSABLE)
    found = root.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
        return root
    return Path(tempfile.mkdtemp(prefix=f"agentgym-{os.getuid()}-", dir=place))


def _release(owner: int, claim: Claim) -> None:
    if os.getpid() == owner:  # a forked process has not made it
        claim.close(_remove)
        with contextlib.suppress(OSError):  # other processes have theirs
            claim.path.parent.rmdir()
            claim.path.parent.parent.rmdir()


_remove = partial(shutil.rmtree, ignore_errors=True)


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it
    _claims.clear()


os.register_at_fork(after_in_child=_forked)
