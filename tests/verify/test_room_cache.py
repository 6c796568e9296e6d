"""What rooms answered is recalled where it holds, and asked anew where it might not."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from folder_provider import FolderProvider

from agentgym.errors import GuestFileError
from agentgym.protocols import Room
from agentgym.records import ExecResult, Recipe
from agentgym.testing.checks import MemoryTree
from agentgym.verify.room import CleanRooms
from agentgym.verify.room_cache import CachedRoom, RoomCache, fingerprint

T = TypeVar("T")
NOW_S = 1_800_000_000.0
DONE = ExecResult(0, b"")


class Grading:
    """Gradings over one pristine snapshot, each with its own rooms."""

    def __init__(self) -> None:
        self.provider = FolderProvider()
        self.pristine = self.provider.put({"/srv/tool": "pristine"})

    @asynccontextmanager
    async def rooms(
        self, left: str, memory: RoomCache | None = None
    ) -> AsyncIterator[Callable[..., Any]]:
        made = CleanRooms(
            self.provider,  # type: ignore[arg-type]
            Recipe("r"),
            self.pristine,
            MemoryTree({"/srv/tool": left}),
            commands_s=20.0,
            cache=memory,
        )

        async def opened(look: Callable[[Room], T], shared: bool = False) -> T:
            return await asyncio.to_thread(lambda: look(made.open(["/srv/tool"], shared)))

        try:
            yield opened
        finally:
            await made.close()

    @property
    def started(self) -> int:
        return len(self.provider.started)


def count(room: Room) -> int:
    """Make one more file and return how many there are."""
    room.write("/tmp/asked", b"")
    room.run(["/usr/bin/mktemp", "--tmpdir=.", "made-XXXXXX"], cwd="/work")
    return room.run(["/bin/sh", "-c", "ls"], cwd="/work").stdout.count(b"made-")


async def test_what_a_shared_room_answered_is_not_asked_again() -> None:
    grading = Grading()
    async with grading.rooms("same") as opened:
        assert await opened(count, shared=True) == 1
        assert await opened(count, shared=True) == 1
        assert grading.started == 1


async def test_something_else_is_asked_in_a_fresh_room_where_all_before_it_was_done() -> None:
    grading = Grading()

    def counted_twice(room: Room) -> tuple[int, int]:
        return count(room), count(room)

    async with grading.rooms("same") as opened:
        assert await opened(count, shared=True) == 1
        assert await opened(counted_twice, shared=True) == (1, 2)
        assert grading.started == 2


async def test_rooms_that_are_not_shared_are_asked_each_time() -> None:
    grading = Grading()
    async with grading.rooms("same") as opened:
        assert [await opened(count), await opened(count)] == [1, 1]
        assert grading.started == 2


async def test_a_grading_recalls_another_of_the_same_files() -> None:
    grading, memory = Grading(), RoomCache()
    for expected in (1, 1):
        async with grading.rooms("same", memory) as opened:
            assert await opened(count) == 1
        assert grading.started == expected
    async with grading.rooms("other", memory) as opened:
        assert await opened(count) == 1
    assert grading.started == 2


async def test_a_check_that_asks_two_rooms_gets_two_answers() -> None:
    grading, memory = Grading(), RoomCache()

    def name(room: Room) -> bytes:
        return room.run(["/usr/bin/mktemp", "-u"]).stdout

    async with grading.rooms("same", memory) as opened:
        first = await opened(name), await opened(name)
    async with grading.rooms("same", memory) as opened:
        assert (await opened(name), await opened(name)) == first
    assert first[0] != first[1]
    assert grading.started == 2


class Settled:
    """A room that counts what it is asked, and answers as it is told."""

    def __init__(self, result: ExecResult = DONE) -> None:
        self.result, self.asked = result, 0
        self.let_go = threading.Event()
        self.let_go.set()

    def run(self, argv: object, **settings: object) -> ExecResult:
        self.asked += 1
        assert self.let_go.wait(10)
        return self.result

    def read(self, path: str) -> bytes:
        raise GuestFileError(f"{path}: not there")

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Take it."""


@pytest.mark.parametrize(("took_s", "asked"), [(3.0, 2), (10.0, 1)])
def test_a_command_that_was_cut_short_is_asked_again(took_s: float, asked: int) -> None:
    memory, room = RoomCache(), Settled(ExecResult(124, b"", timed_out=True, duration_s=took_s))
    for _ in range(2):
        CachedRoom(memory, "content", lambda: room).run(["sleep"], timeout_s=10.0)
    assert room.asked == asked


def test_an_absent_file_is_absent_each_time() -> None:
    memory, room = RoomCache(), Settled()
    for _ in range(2):
        with pytest.raises(GuestFileError):
            CachedRoom(memory, "content", lambda: room).read("/srv/x")


def test_who_asks_the_same_meanwhile_waits_for_the_answer() -> None:
    memory, room = RoomCache(), Settled(ExecResult(7, b""))
    room.let_go.clear()

    def ask() -> int:
        return CachedRoom(memory, "content", lambda: room).run(["true"]).exit_code

    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        room.let_go.set()
        assert [one.result(10) for one in asking] == [7, 7]
    assert room.asked == 1


def archive(**files: tuple[bytes, float] | tuple[bytes, float, int]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, (data, age_s, *mode) in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), NOW_S - age_s
            member.mode = mode[0] if mode else 0o644
            made.addfile(member, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (archive(a=(b"1", 9), b=(b"2", 5)), archive(a=(b"1", 8), b=(b"2", 1.5)), True),
        (archive(a=(b"1", 9), b=(b"2", 5)), archive(a=(b"1", 5), b=(b"2", 9)), False),
        (archive(a=(b"1", 9), b=(b"2", 5)), archive(a=(b"1", 5), b=(b"2", 5)), False),
        (archive(a=(b"1", 90_000)), archive(a=(b"1", 80_000)), False),
        (archive(a=(b"1", 90_000)), archive(a=(b"1", 5)), False),
        (archive(a=(b"1", 5)), archive(a=(b"3", 5)), False),
        (archive(a=(b"1", 5)), archive(a=(b"1", 5, 0o755)), False),
        (archive(a=(b"1", 5)), archive(c=(b"1", 5)), False),
    ],
)
def test_recent_times_count_only_by_their_order(one: bytes, other: bytes, same: bool) -> None:
    assert (fingerprint(one, NOW_S) == fingerprint(other, NOW_S)) is same


def test_names_that_are_no_text_can_be_told_apart() -> None:
    assert fingerprint(archive(**{"a\udcff": (b"", 5)}), NOW_S) != fingerprint(
        archive(**{"a\udcfe": (b"", 5)}), NOW_S
    )
