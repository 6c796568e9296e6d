"""Limits that no kernel enforces for a sandbox as a whole: wall time and disk use."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from agentgym.records import Limits
from agentgym.sandbox.layers import ENTRY_BYTES

# One file may be as large as the limit, and has a folder to be in.
_SLACK_BYTES = 2**20
# How long a writer goes unseen. At one look for all sandboxes it costs next to nothing.
_LOOK_S = 0.05
# What others free may hide what a guest writes; after this long it is measured all the same,
# though measuring takes no more than this share of the time.
_MEASURE_S = 10.0
_MEASURE_SHARE = 0.05


class DiskWatch:
    """Looks at a disk for all the sandboxes on it, and measures whom it may be who filled it.

    Args:
        folder: Any folder on that disk.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Bytes by which the disk got fuller since the beginning, whatever was freed since.
        self._taken = 0
        self._due: dict[asyncio.Event, int] = {}
        self._looking: asyncio.Future[None] | None = None

    async def overrun(self, limit: int, written: Callable[[], int]) -> None:
        """Return as soon as somebody has written more than a limit.

        Args:
            limit: In bytes.
            written: Measures how much they wrote; may be slow.
        """
        loop, due = asyncio.get_running_loop(), asyncio.Event()
        # A sandbox begins with an empty folder to write to.
        size, pause_s = 0, _MEASURE_S
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        try:
            while size <= limit:
                # Half of what is left: part of what was written may have been hidden.
                self._due[due] = self._taken + max((limit - size) // 2, limit // 16)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await due.wait()
                due.clear()
                began_s = loop.time()
                size = await asyncio.to_thread(written)
                pause_s = max(_MEASURE_S, (loop.time() - began_s) / _MEASURE_SHARE)
        finally:
            self._due.pop(due, None)
            if not self._due and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        free = self._free()
        while True:
            await asyncio.sleep(_LOOK_S)
            before, free = free, self._free()
            self._taken += max(0, before - free)
            for event, threshold in self._due.items():
                if self._taken >= threshold:
                    event.set()

    def _free(self) -> int:
        room = os.statvfs(self._folder)
        return room.f_bfree * room.f_frsize + room.f_ffree * ENTRY_BYTES


class Watch:
    """The wall time and the disk use of one sandbox; the first counts once `begin` is called.

    Args:
        limits: Which ones.
        disk: The disk it writes to.
        written: Measures how much it wrote; may be slow.
        end: Called once, when a limit is over, with the reason in words.
    """

    def __init__(
        self,
        limits: Limits,
        disk: DiskWatch,
        written: Callable[[], int],
        end: Callable[[str], None],
    ) -> None:
        self._limits, self._end = limits, end
        self._timer: asyncio.TimerHandle | None = None
        self._disk: asyncio.Future[None] | None = None
        if limits.disk_mb is not None:
            self._disk = asyncio.ensure_future(self._watch_disk(limits.disk_mb, disk, written))

    def begin(self) -> None:
        """Count the wall time from now."""
        if self._timer is not None:
            self._timer.cancel()
        if self._limits.wall_s is not None:
            reason = f"its wall time of {self._limits.wall_s:g} s is over"
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._limits.wall_s, self._end, reason)

    def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._disk is not None:
            self._disk.cancel()

    async def _watch_disk(self, limit_mb: int, disk: DiskWatch, written: Callable[[], int]) -> None:
        await disk.overrun(limit_mb * 2**20 + _SLACK_BYTES, written)
        self._end(f"it wrote more than its disk limit of {limit_mb} MB")


async def ended(pid: int) -> None:
    """Wait until a process has ended; a process id of nobody has."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await descriptor_ended(process)
    finally:
        os.close(process)


async def descriptor_ended(process: int) -> None:
    """Wait until the process of a descriptor (pidfd_open(2)) has ended."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    loop.add_reader(process, done.set)
    try:
        await done.wait()
    finally:
        loop.remove_reader(process)
