"""Temporary folders in memory.

Sandboxes create and delete many small files. On some disks (ext4 without a journal, for example)
that takes three times as long as in memory.
"""

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
        kinds = dict(line.split()[1:3] for line in Path(mounts).read_text().splitlines())
        disk = os.statvfs(SHARED_MEMORY)
        available = int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return False
    return (
        kinds.get(str(SHARED_MEMORY)) == "tmpfs"
        and disk.f_bavail * disk.f_frsize >= FREE
        and available << 10 >= AVAILABLE
        and limit_of_cgroup() >= AVAILABLE
    )


def limit_of_cgroup():
    """Return how many bytes the processes of this container may use."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return int(Path("/sys/fs/cgroup", name).read_text())
        except (OSError, ValueError):
            continue  # another version of control groups, or "max"
    return 1 << 62
