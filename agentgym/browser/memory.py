"""The memory of all processes of a browser together, and the end of its largest page.

The launcher limits each process. A page can open others, and each of them may have a process of its
own, so that one episode could take many times that limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

MOST_MB: Final = 4_000
"""Memory of a browser; more than one process may take (`agentgym.browser.launcher`)."""
CONTEXT_MB: Final = 250
"""Memory that it may take for each context beside that; a usual page has less than half."""
_EVERY_S: Final = 0.5
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Browser(Protocol):
    """A browser that is watched.

    Attributes:
        live: Number of contexts it has.
    """

    live: int

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    def processes(self) -> list[int]:
        """Return the ids of its processes, the launcher first."""


def memory_mb(pids: Sequence[int]) -> float:
    """Return the proportional memory of processes, or what they do not share, in MiB."""
    return sum(map(_memory_kb, pids)) / 1024


async def watch_memory(browser: Browser) -> None:
    """End the largest process of a browser each time that all of them have too much memory.

    That is the process of a page, which its tab tells, or the browser ends with its episodes.
    """
    while browser.alive:
        await asyncio.sleep(_EVERY_S)
        most_mb = MOST_MB + CONTEXT_MB * browser.live
        await asyncio.to_thread(_end_excess, browser, most_mb)


def _end_excess(browser: Browser, most_mb: float) -> None:
    pids = browser.processes()
    # Reading the proportional memory takes long, and shared pages count for each process here.
    if sum(map(_resident_mb, pids)) <= most_mb or memory_mb(pids) <= most_mb:
        return
    with contextlib.suppress(OSError):
        os.kill(max(pids, key=_memory_kb), signal.SIGKILL)


def _resident_mb(pid: int) -> float:
    return _pages(pid)[0] * _PAGE_BYTES / 2**20


def _memory_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        # An ordinary user may not read that of a process of a page.
        resident, shared = _pages(pid)
        return (resident - shared) * _PAGE_BYTES // 1024
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _pages(pid: int) -> tuple[int, int]:
    """Return the resident pages of a process, and how many of them it shares."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0, 0
    return int(fields[1]), int(fields[2])
