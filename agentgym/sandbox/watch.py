"""Watches limits that no kernel enforces for a whole sandbox: wall time and disk use."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from agentgym.errors import SandboxError
from agentgym.records import Limits
from agentgym.sandbox.layers.size import ENTRY_BYTES, UNKNOWN_BYTES
from agentgym.threads import FILES, to_thread

T = TypeVar("T")

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
# Least share of a guest that has filled a disk in what no living guest accounts for: the states of
# ended ones that are still judged, and what other programs wrote.
_FILLERS_SHARE = 0.125
# Time for which a sandbox that is to start waits for space, in seconds.
_ROOM_S = 30.0
# Less than this is full before a guest that fills it has been measured.
_LEAST_MB = 1024
_LEAST_FILES = 250_000


def _require_room(folder: str) -> None:
    """Refuse a disk that a guest could fill before the watch notices it."""
    room = os.statvfs(folder)
    free_mb, files = room.f_bavail * room.f_frsize // 2**20, room.f_favail
    # Some file systems make as many inodes as they need, and report none.
    if free_mb < _LEAST_MB or (room.f_files and files < _LEAST_FILES):
        raise SandboxError(
            f"{folder}: its disk has room for {free_mb:,} MB and {files:,} files; sandboxes need "
            f"{_LEAST_MB:,} MB and {_LEAST_FILES:,} files, because an agent could fill less before "
            "it is noticed. Free some, or choose another folder with AGENTGYM_CACHE"
        )


@dataclass(frozen=True, slots=True)
class Written:
    """Measures what a sandbox wrote; each call may be slow.

    Attributes:
        written: Returns the bytes.
        hides: Returns whether it may hold files that `written` cannot find.
    """

    written: Callable[[], int]
    hides: Callable[[], bool] = bool


class DiskWatch:
    """Watches a disk for all its sandboxes, and measures those that may have filled it.

    Args:
        folder: Any folder on that disk.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Bytes added to the disk since the beginning, without subtracting freed ones.
        self._taken = 0
        # Space when the first sandbox started, and the part of it that guests may not fill.
        self._began = self._reserve = 0
        # Bytes that copies in progress will take.
        self._copied = 0
        self._emptying = asyncio.Lock()
        self._due: dict[asyncio.Event, int] = {}
        self._guests: dict[asyncio.Event, Written] = {}
        self._ended: asyncio.Event | None = None
        self._looking: asyncio.Future[None] | None = None

    async def overrun(self, limit: int, guest: Written) -> str:
        """Return the reason as soon as a sandbox has to end because of what it wrote.

        It has written more than its limit, or it wrote the most while guests filled the disk: the
        others, and the judging of its own episode, need the rest.

        Args:
            limit: The limit in bytes; a small slack is granted.
            guest: Measures what the sandbox wrote.
        """
        loop, due = asyncio.get_running_loop(), asyncio.Event()
        # A sandbox begins with an empty upper directory.
        size, pause_s = 0, _MEASURE_S
        self._guests[due] = guest
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        try:
            while size <= limit + _SLACK_BYTES and self._ended is not due:
                # Half of the rest, because freed space may have hidden a part of the writes.
                self._due[due] = self._taken + max((limit - size) // 2, limit // 16)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await due.wait()
                due.clear()
                began_s = loop.time()
                size = await to_thread(guest.written)
                pause_s = max(_MEASURE_S, (loop.time() - began_s) / _MEASURE_SHARE)
            if size >= UNKNOWN_BYTES:
                return "it wrote where nothing can be measured: below folders nested too deep"
            if size > limit + _SLACK_BYTES:
                return f"it wrote more than its disk limit of {limit // 2**20} MB"
            told = f"it wrote {size // 2**20} MB, more than any other sandbox"
            if await to_thread(guest.hides):
                told = "it sent descriptors of files that cannot be measured"
            return f"{told}, until the disk of this machine was almost full"
        finally:
            self._due.pop(due, None)
            del self._guests[due]
            if not self._guests and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def make_room(self, left: Callable[[], int], empty: Callable[[], T]) -> T | None:
        """Empty files of a sandbox that has ended if it has filled the disk.

        A guest may fill the disk and end its episode before it is measured. Neither its episode nor
        those of others could then be judged. The one that wrote the most loses its files, unless
        it wrote only a small part of what is gone: then other programs fill the disk.

        Args:
            left: Measures the files that it left; this may be slow.
            empty: Empties some of them.

        Returns:
            What `empty` returned; None if it was not called.
        """
        # One after the other, so that the files of the largest are gone before the next is asked.
        async with self._emptying:
            if self._space() >= self._reserve:
                return None
            own = await to_thread(left)
            others = [await to_thread(guest.written) for guest in list(self._guests.values())]
            lost = self._began - self._space()
            part = int((lost - sum(others)) * _FILLERS_SHARE)
            if own < max(self._reserve // 4, part, *others):
                return None
            return await FILES.finish(empty)

    async def wait_for_room(self) -> None:
        """Wait while guests have filled the disk, until the largest of them has ended.

        Raises:
            SandboxError: The disk has too little room when the first sandbox of this process
                starts, or stays full.
        """
        if not self._began:
            _require_room(self._folder)
            self._begin()
            return
        until_s = time.monotonic() + _ROOM_S
        while self._space() < self._reserve // 4:
            if time.monotonic() > until_s:
                left_mb = self._space() / 2**20
                raise SandboxError(f"{self._folder}: its disk is full; {left_mb:.0f} MB are left")
            await asyncio.sleep(_LOOK_S)

    @contextlib.asynccontextmanager
    async def copying(self, size: Callable[[], int]) -> AsyncIterator[None]:
        """Hold room for a copy of what a sandbox wrote; sandboxes would be ended for the lack.

        Args:
            size: Measures what is copied; this may be slow.

        Raises:
            SandboxError: The copy would take space that guests may not fill.
        """
        size_bytes = await to_thread(size)
        left = self._space() - self._copied - size_bytes
        if size_bytes > self._reserve // 4 and left < self._reserve:
            raise SandboxError(
                f"{self._folder}: its disk has no room for a copy of {size_bytes / 2**20:,.0f} MB; "
                f"{self._reserve / 2**20:,.0f} MB have to stay free"
            )
        self._copied += size_bytes
        try:
            yield
        finally:
            self._copied -= size_bytes

    def _begin(self) -> None:
        self._began = self._space()
        self._reserve = min(_RESERVE_BYTES, int(self._began * _RESERVE_SHARE))

    async def _look(self) -> None:
        if not self._began:
            self._begin()
        free, suspect = self._free(), None
        reserve = alarm = self._reserve
        while True:
            await asyncio.sleep(_LOOK_S)
            space = self._space()
            if space >= reserve:
                alarm = reserve
            elif space < alarm:
                # It must be the same one twice, and the disk still full: a guest that frees its
                # files while all are measured would have another one ended.
                earlier = suspect
                suspect = await self._suspect(lost=self._began - space, least=reserve // 4)
                if suspect is None or (suspect is earlier and self._space() < alarm):
                    # What it wrote stays until it has ended: the next one has to wait.
                    alarm = space // 2
                    self._end(suspect)
            before, free = free, self._free()
            self._taken += max(0, before - free)
            for event, threshold in self._due.items():
                if self._taken >= threshold:
                    event.set()

    async def _suspect(self, lost: int, least: int) -> asyncio.Event | None:
        """Return the sandbox that filled the disk; None if it wrote less than `least` bytes.

        Args:
            lost: Bytes that were free when the watch began.
            least: Smallest size for which a sandbox is ended.
        """
        sizes = {due: await to_thread(guest.written) for due, guest in list(self._guests.items())}
        if 2 * sum(sizes.values()) < lost:
            # Most of it lies where nothing can measure it.
            for due, guest in list(self._guests.items()):
                if await to_thread(guest.hides):
                    return due
        left = {due: size for due, size in sizes.items() if due in self._guests}
        largest = max(left, key=left.__getitem__, default=None)
        return None if largest is None or left[largest] < least else largest

    def _end(self, suspect: asyncio.Event | None) -> None:
        self._ended = suspect
        if suspect is not None:
            suspect.set()

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
        guest: Measures what it wrote.
        end: Called once, when a limit is exceeded, with the reason in words.
        make_room: Awaited after it was ended because of what it wrote.
    """

    def __init__(
        self,
        limits: Limits,
        disk: DiskWatch,
        guest: Written,
        end: Callable[[str], None],
        make_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._limits, self._end, self._make_room = limits, end, make_room
        self._timer: asyncio.TimerHandle | None = None
        self._disk: asyncio.Future[None] | None = None
        if limits.disk_mb is not None:
            self._disk = asyncio.ensure_future(self._watch_disk(limits.disk_mb, disk, guest))

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

    async def _watch_disk(self, limit_mb: int, disk: DiskWatch, guest: Written) -> None:
        self._end(await disk.overrun(limit_mb * 2**20, guest))
        # Its episode may wait for the disk before it ends.
        await self._make_room()


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
