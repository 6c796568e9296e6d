"""The process table of this machine, read from proc(5)."""

import os
from contextlib import suppress
from pathlib import Path


def processes() -> dict[int, tuple[int, str, int]]:
    """Every process: pid to (parent, state, start time)."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with (
            suppress(OSError),
            open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file,
        ):
            fields = file.read().rpartition(")")[2].split()
            found[int(name)] = (int(fields[1]), fields[0], int(fields[19]))
    return found


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
