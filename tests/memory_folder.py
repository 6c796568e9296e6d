"""Temporary folders in memory.

Sandboxes create and delete many small files. On some disks (ext4 without a journal, for example)
that takes three times as long as in memory.
"""

import contextlib
import os
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
# A session's files take 4 GB at their most, and its processes 6 GB.
FREE = 8 << 30
AVAILABLE = 14 << 30


def use_memory():
    """Make temporary folders of this process and its children lie in memory, if it has room.

    A user who set `TMPDIR` has chosen.
    """
    if "TMPDIR" in os.environ or not has_room():
        return
    # pytest numbers the sessions' folders in here, and keeps those of failed tests.
    folder = SHARED_MEMORY / f"agentgym-tests-{os.geteuid()}"
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return
    except OSError:
        return
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


def has_room(mounts="/proc/self/mounts"):
    """Return whether the folder of shared memory exists and is large enough."""
    try:
        lines = [line.split() for line in Path(mounts).read_text().splitlines()]
        mounted = {place: (kind, options.split(",")) for _, place, kind, options, *_ in lines}
        kind, options = mounted.get(str(SHARED_MEMORY), ("", []))
        disk = os.statvfs(SHARED_MEMORY)
        available = int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return False
    return (
        kind == "tmpfs"
        and "noexec" not in options  # as Docker mounts it
        and disk.f_bavail * disk.f_frsize >= FREE
        and available << 10 >= AVAILABLE
        and limit_of_cgroup() >= AVAILABLE
    )


def limit_of_cgroup():
    """Return how many bytes this process and the others of its control groups may use."""
    limits = [1 << 62]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        root = Path("/sys/fs/cgroup", "memory" if controllers else "")
        if controllers and "memory" not in controllers.split(","):
            continue
        for folder in (Path(group), *Path(group).parents):
            for name in ("memory.max", "memory.limit_in_bytes"):
                with contextlib.suppress(OSError, ValueError):  # "max", or another version
                    limits.append(int((root / str(folder).lstrip("/") / name).read_text()))
    return min(limits)
