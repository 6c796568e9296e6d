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
# Space that guests may not fill, because judging them takes some. On a small disk it is a share
# of what was free.
_RESERVE_BYTES = 256 * 2**20
_RESERVE_SHARE = 0.25


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
        self._written: dict[asyncio.Event, Callable[[], int]] = {}
        self._largest: asyncio.Event | None = None
        self._looking: asyncio.Future[None] | None = None

    async def overrun(self, limit: int, written: Callable[[], int]) -> str:
        """Return the reason as soon as a sandbox has to end because of what it wrote.

        It has written more than its limit, or it wrote the most while guests filled the disk: the
        others, and the judging of its own episode, need the rest.

        Args:
            limit: The limit in bytes; a small slack is granted.
            written: Returns the bytes that the sandbox wrote; may be slow.
        """
        loop, due = asyncio.get_running_loop(), asyncio.Event()
        # A sandbox begins with an empty upper directory.
        size, pause_s = 0, _MEASURE_S
        self._written[due] = written
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        try:
            while size <= limit + _SLACK_BYTES and self._largest is not due:
                # Half of the rest, because freed space may have hidden a part of the writes.
                self._due[due] = self._taken + max((limit - size) // 2, limit // 16)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await due.wait()
                due.clear()
                began_s = loop.time()
                size = await to_thread(written)
                pause_s = max(_MEASURE_S, (loop.time() - began_s) / _MEASURE_SHARE)
            if size > limit + _SLACK_BYTES:
                return f"it wrote more than its disk limit of {limit // 2**20} MB"
            told = f"it wrote {size // 2**20} MB, more than any other sandbox"
            return f"{told}, until the disk of this machine was almost full"
        finally:
            self._due.pop(due, None)
            del self._written[due]
            if not self._written and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        free, space = self._free(), self._space()
        reserve = alarm = min(_RESERVE_BYTES, int(space * _RESERVE_SHARE))
        while True:
            await asyncio.sleep(_LOOK_S)
            space = self._space()
            if space >= reserve:
                alarm = reserve
            elif space < alarm:
                # What the largest wrote stays until it is judged: the next one has to wait.
                alarm = space // 2
                await self._blame(reserve // 4)
            before, free = free, self._free()
            self._taken += max(0, before - free)
            for event, threshold in self._due.items():
                if self._taken >= threshold:
                    event.set()

    async def _blame(self, least: int) -> None:
        """Have the sandbox end that wrote the most, unless it is less than a number of bytes."""
        sizes = {due: await to_thread(written) for due, written in list(self._written.items())}
        left = {due: size for due, size in sizes.items() if due in self._written}
        largest = max(left, key=left.__getitem__, default=None)
        if largest is not None and left[largest] >= least:
            self._largest = largest
            largest.set()

    def _space(self) -> int:
        """Return the bytes, or what entries are worth in bytes, that guests can still write."""
        room = os.statvfs(self._folder)
        space = room.f_bavail * room.f_frsize
        return min(space, room.f_ffree * ENTRY_BYTES) if room.f_files else space

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
        self._end(await disk.overrun(limit_mb * 2**20, written))


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
