"""Processor time and memory of this process and its descendants, and how late its event loop is.

The kernel tells a process the time of its children only after they have ended, and the fork
servers of sandboxes and workers outlive their episodes. So the time of all live descendants is
read from /proc (proc_pid_stat(5)).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_S: Final = 0.01


def family_s(proc: Path = Path("/proc"), own: int | None = None) -> float:
    """Return the processor time of a process and its descendants, those that ended included.

    Args:
        proc: Where the kernel shows processes.
        own: Id of the process; None: this one.
    """
    stats = _stats(proc)
    family = _families(stats, [os.getpid() if own is None else own])
    # utime, stime, and those of children that it has waited for
    ticks = sum(sum(map(int, stats[pid][11:15])) for pid in family if pid in stats)
    return ticks / _TICKS


def family_mb(roots: Iterable[int] | None = None) -> float:
    """Return the proportional set size of processes and their descendants, in MB.

    Args:
        roots: Ids of the processes; None: this one.
    """
    proc, total_kb = Path("/proc"), 0
    for pid in _families(_stats(proc), [os.getpid()] if roots is None else roots):
        try:
            rollup = (proc / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.M)
        total_kb += int(found.group(1)) if found else 0
    return total_kb / 1024


def _stats(proc: Path) -> dict[int, list[str]]:
    """Return the fields behind the name in the `stat` of each process, by its id."""
    stats: dict[int, list[str]] = {}
    for path in proc.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    return stats


def _families(stats: Mapping[int, Sequence[str]], roots: Iterable[int]) -> Iterator[int]:
    """Yield the ids of processes and of their descendants."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for pid, fields in stats.items():
        children[int(fields[1])].append(pid)
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        yield pid


def machine_ticks(stat: Path = Path("/proc/stat")) -> tuple[int, int]:
    """Return the busy and all ticks of this machine's processors since its start (proc_stat(5))."""
    ticks = list(map(int, stat.read_text().split(maxsplit=9)[1:9]))
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


class LoopWatch:
    """Measures how busy the running event loop is; made and stopped on its own thread.

    Attributes:
        late_s: Seconds by which each of its timers was late.
        share: Share of the time in which the loop's thread used a processor; set by `stop`.
        machine_share: Share of the time in which this machine's processors were busy; likewise.
    """

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self.share = self.machine_share = 0.0
        self._ticks = machine_ticks()
        self._loop = asyncio.get_running_loop()
        self._busy_s, self._began_s = time.thread_time(), time.perf_counter()
        self._due_s = self._loop.time() + _SAMPLE_S
        self._timer = self._loop.call_at(self._due_s, self._sample)

    def _sample(self) -> None:
        now = self._loop.time()
        self.late_s.append(now - self._due_s)
        self._due_s = now + _SAMPLE_S
        self._timer = self._loop.call_at(self._due_s, self._sample)

    def stop(self) -> None:
        """Stop and set the shares."""
        self._timer.cancel()
        busy_s = time.thread_time() - self._busy_s
        self.share = busy_s / (time.perf_counter() - self._began_s)
        busy, every = (now - then for now, then in zip(machine_ticks(), self._ticks, strict=True))
        self.machine_share = busy / max(1, every)

    def late_ms(self, share: float) -> float:
        """Return the lateness that a share of the timers did not exceed, in milliseconds."""
        if not self.late_s:
            return 0.0
        return 1000 * sorted(self.late_s)[min(len(self.late_s) - 1, int(share * len(self.late_s)))]
