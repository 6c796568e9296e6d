"""Watches limits that no kernel enforces for a whole sandbox: wall time and disk use."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from agentgym.records import Limits
from agentgym.sandbox.layer_size import ENTRY_BYTES
from agentgym.threads import to_thread

# One file may be as large as the limit, and its folder also takes space.
_SLACK_BYTES = 2**20
# Time between checks, in seconds. One check serves all sandboxes and costs almost nothing.
_LOOK_S = 0.05
# Space that others free may hide the writes of a guest. The guest is therefore measured after
# this time in any case, but measuring takes at most this share of the time.
_MEASURE_S = 10.0
_MEASURE_SHARE = 0.05


class DiskWatch:
    """Watches a disk for all its sandboxes, and measures those that may have filled it.

    Args:
        folder: Any folder on that disk.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Bytes added to the disk since the beginning, without subtracting freed ones.
        self._taken = 0
        self._due: dict[asyncio.Event, int] = {}
        self._looking: asyncio.Future[None] | None = None

    async def overrun(self, limit: int, written: Callable[[], int]) -> None:
        """Return as soon as a sandbox has written more than a limit.

        Args:
            limit: The limit in bytes.
            written: Returns the bytes that the sandbox wrote; may be slow.
        """
        loop, due = asyncio.get_running_loop(), asyncio.Event()
        # A sandbox begins with an empty upper directory.
        size, pause_s = 0, _MEASURE_S
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        try:
            while size <= limit:
                # Half of the rest, because freed space may have hidden a part of the writes.
                self._due[due] = self._taken + max((limit - size) // 2, limit // 16)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await due.wait()
                due.clear()
                began_s = loop.time()
                size = await to_thread(written)
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
        limits: The limits of the sandbox.
        disk: The disk that it writes to.
        written: Returns the bytes that it wrote; may be slow.
        end: Called once, when a limit is exceeded, with the reason in words.
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
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._disk is not None:
            self._disk.cancel()

    async def _watch_disk(self, limit_mb: int, disk: DiskWatch, written: Callable[[], int]) -> None:
        await disk.overrun(limit_mb * 2**20 + _SLACK_BYTES, written)
        self._end(f"it wrote more than its disk limit of {limit_mb} MB")


async def ended(pid: int) -> None:
    """Wait until a process has ended; return at once for an unused process id."""
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
