"""What a run can leave on this machine: processes, mounts, control groups, folders."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> set[tuple[int, int]]:
    """All processes below one, as (pid, start time): a pid alone may come again."""
    children: dict[int, list[tuple[int, int]]] = {}
    for child, (parent, _, started) in processes().items():
        children.setdefault(parent, []).append((child, started))
    found: set[tuple[int, int]] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += [child for child, _ in below]
    return found


def processes() -> dict[int, tuple[int, str, int]]:
    """Every process of this machine: pid to (parent, state, start time); see proc(5)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = (int(fields[1]), fields[0], int(fields[19]))
    return found


def survivors(family: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those that still run; one that only waits for its parent's attention does not."""
    now = processes()
    return {
        (pid, started)
        for pid, started in family
        if pid in now and now[pid][2] == started and now[pid][1] not in "ZX"
    }


def running(marker: str) -> list[int]:
    """Processes with the marker in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def wait_until(condition, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        os.sched_yield()
    return bool(met)


def ended_within(process: subprocess.Popen, seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    return process.returncode is not None


def control_groups(pids) -> list[Path]:
    """Control groups that host processes with these ids have made for their sandboxes."""
    return [
        folder
        for hierarchy in ("memory", "pids", "cpu", "")
        for pid in pids
        for folder in Path("/sys/fs/cgroup", hierarchy, "agentgym").glob(f"{pid}-*")
    ]


def assert_clean(cache: Path, pids) -> None:
    """Nothing of ended runs is left but what is kept on purpose."""
    assert str(cache) not in Path("/proc/self/mountinfo").read_text()
    assert control_groups(pids) == []
    store = cache / "sandbox"
    assert list((store / "live").iterdir()) == []
    assert list((store / "l").glob(".*")) == []
    assert list((cache / "gold").glob("*.new")) == []
