"""Clean rooms over temporary folders: what is in them, what is not, and that they go."""

from __future__ import annotations

import asyncio
import concurrent.futures
import io
import os
import sys
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from folder_provider import FolderProvider, FolderSandbox

from agentgym.errors import GuestFileError, SandboxError, VerifierError
from agentgym.records import ExecResult, Recipe
from agentgym.testing.checks import Device, File, Folder, Link, MemoryTree
from agentgym.verify import room as room_module
from agentgym.verify.room import ENVIRONMENT, CleanRooms, pack_artifacts

T = TypeVar("T")


@asynccontextmanager
async def rooms(
    before: dict[str, object], after: dict[str, object], commands_s: float = 20.0
) -> AsyncIterator[tuple[CleanRooms, FolderProvider]]:
    provider = FolderProvider()
    pristine = provider.put(before)  # type: ignore[arg-type]
    made = CleanRooms(
        provider,  # type: ignore[arg-type]
        Recipe("r", network="open"),
        pristine,
        MemoryTree(after),  # type: ignore[arg-type]
        commands_s=commands_s,
    )
    try:
        yield made, provider
    finally:
        await made.close()
        assert provider.open == []


async def off_loop(function: Callable[[], T]) -> T:
    """Call as a check would: from a thread that is not the loop's."""
    return await asyncio.to_thread(function)


def listing(sandbox: FolderSandbox, below: str) -> dict[str, str]:
    base = Path(sandbox.host(below))
    return {
        path.relative_to(base).as_posix(): "link" if path.is_symlink() else oct(path.stat().st_mode)
        for path in sorted(base.rglob("*"))
    }


async def test_a_room_is_the_pristine_snapshot_plus_the_artifacts() -> None:
    before = {"/srv/data/in.csv": "1", "/srv/report.txt": "old"}
    after = {
        "/srv/data/in.csv": "tampered",
        "/srv/report.txt": File(b"new", 0o640),
        "/root/.bashrc": "evil",
    }
    async with rooms(before, after) as (made, provider):
        room = await off_loop(lambda: made.open(["/srv/report.txt"]))
        assert await off_loop(lambda: room.read("/srv/report.txt")) == b"new"
        assert await off_loop(lambda: room.read("/srv/data/in.csv")) == b"1"
        assert not Path(provider.started[0].host("/root/.bashrc")).exists()
        assert os.stat(provider.started[0].host("/srv/report.txt")).st_mode & 0o7777 == 0o640


@pytest.mark.parametrize(("said", "again"), [("No space left on device", True), ("odd", False)])
async def test_a_room_that_found_the_disk_full_is_opened_again(said: str, again: bool) -> None:
    fails = iter([True, True, False])
    real = FolderSandbox.exec

    async def exec(self: FolderSandbox, *args: object, **named: object) -> ExecResult:
        if next(fails, False):
            return ExecResult(2, b"", f"tar: x: Cannot write: {said}".encode())
        return await real(self, *args, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FolderSandbox, "exec", exec)
        async with rooms({}, {"/srv/report.txt": "new"}) as (made, provider):
            if again:
                room = await off_loop(lambda: made.open(["/srv/report.txt"]))
                assert await off_loop(lambda: room.read("/srv/report.txt")) == b"new"
            else:
                with pytest.raises(SandboxError, match="Cannot write: odd"):
                    await off_loop(lambda: made.open(["/srv/report.txt"]))
            assert len(provider.started) == (3 if again else 1)


async def test_a_replaced_folder_holds_what_the_agents_holds_and_no_more() -> None:
    before = {"/srv/app/old.py": "1", "/srv/app/sub/x": "1"}
    after = {
        "/srv/app": Folder(0o2750),
        "/srv/app/bin/run": File(b"#!/bin/sh\n", 0o755),
        "/srv/app/empty": Folder(0o700),
        "/srv/app/latest": Link("/etc/passwd"),
        "/srv/app/pipe": Device(),
        "/srv/app/a\udcff\nb": "odd name",
    }
    async with rooms(before, after) as (made, provider):
        await off_loop(lambda: made.open(["/srv/app"]))
        assert listing(provider.started[0], "/srv/app") == {
            "a\udcff\nb": "0o100644",
            "bin": "0o40755",
            "bin/run": "0o100755",
            "empty": "0o40700",
            "latest": "link",
        }
        assert os.readlink(provider.started[0].host("/srv/app/latest")) == "/etc/passwd"
        assert os.stat(provider.started[0].host("/srv/app")).st_mode & 0o7777 == 0o2750


async def test_modification_times_come_along() -> None:
    after = {"/srv/main.o": File(b"", mtime_s=1_700_000_000.25)}
    async with rooms({}, after) as (made, provider):
        await off_loop(lambda: made.open(["/srv/main.o"]))
        assert os.stat(provider.started[0].host("/srv/main.o")).st_mtime == 1_700_000_000.25


async def test_a_folder_above_an_artifact_that_became_a_link_leads_nowhere_else() -> None:
    after = {"/srv": Link("/usr"), "/usr/app/python3": "trojan"}
    stream = pack_artifacts(MemoryTree(after), ["/srv/app"])
    with tarfile.open(fileobj=io.BytesIO(stream)) as archive:
        assert archive.getnames() == ["srv/app", "srv/app/python3"]


async def test_every_room_is_fresh() -> None:
    async with rooms({}, {"/srv/a": "a"}) as (made, provider):
        first = await off_loop(lambda: made.open(["/srv/a"]))
        await off_loop(lambda: first.run(["sh", "-c", "echo altered > srv/a"], cwd="/"))
        second = await off_loop(lambda: made.open(["/srv/a"]))
        assert await off_loop(lambda: second.read("/srv/a")) == b"a"
        assert len(provider.started) == 2


async def test_rooms_have_no_network_and_a_fixed_environment() -> None:
    async with rooms({}, {}) as (made, provider):
        room = await off_loop(lambda: made.open([]))
        result = await off_loop(lambda: room.run(["env"], env={"MORE": "1", "TZ": "Asia/Tokyo"}))
        seen = dict(line.split("=", 1) for line in result.stdout.decode().splitlines())
        assert seen == {**ENVIRONMENT, "MORE": "1", "TZ": "Asia/Tokyo"}
        assert [recipe.network for recipe in provider.recipes] == ["none"]


async def test_a_room_takes_files_of_the_graders_own() -> None:
    async with rooms({}, {}) as (made, _):
        room = await off_loop(lambda: made.open([]))
        await off_loop(lambda: room.write("/root/gold.txt", b"42\n", mode=0o600))
        result = await off_loop(lambda: room.run(["cat", "gold.txt", "-"], stdin=b"more"))
        assert (result.exit_code, result.stdout) == (0, b"42\nmore")


async def test_an_absent_artifact_is_the_agents_failure() -> None:
    async with rooms({"/srv/app": "pristine"}, {}) as (made, _):
        with pytest.raises(GuestFileError, match="/srv/app: is not there"):
            await off_loop(lambda: made.open(["/srv/app"]))


async def test_a_pipe_is_no_artifact() -> None:
    with pytest.raises(GuestFileError, match="neither a file nor a folder"):
        pack_artifacts(MemoryTree({"/srv/p": Device()}), ["/srv/p"])


def test_artifacts_are_bounded_in_bytes_and_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = MemoryTree({f"/srv/app/{i}": b"x" * 100 for i in range(20)})
    monkeypatch.setattr(room_module, "ARTIFACT_BYTES", 2000)
    monkeypatch.setattr(room_module, "ARTIFACT_ENTRIES", 21)
    assert pack_artifacts(tree, ["/srv/app"])
    for limit in ("ARTIFACT_BYTES", "ARTIFACT_ENTRIES"):
        with monkeypatch.context() as tight:
            tight.setattr(room_module, limit, getattr(room_module, limit) - 1)
            with pytest.raises(GuestFileError, match="/srv/app: too large"):
                pack_artifacts(tree, ["/srv/app"])


def test_a_tree_deeper_than_the_interpreters_stack_is_packed() -> None:
    deep = "/srv/app" + "/d" * (sys.getrecursionlimit() + 10)
    stream = pack_artifacts(MemoryTree({deep: Folder()}), ["/srv/app"])
    with tarfile.open(fileobj=io.BytesIO(stream)) as archive:
        assert archive.getnames()[-1] == deep.lstrip("/")


def test_a_path_too_long_to_be_unpacked_is_the_agents_failure() -> None:
    tree = MemoryTree({"/srv/app" + f"/{'d' * 200}" * 20: Folder()})
    with pytest.raises(GuestFileError, match="/srv/app: too large"):
        pack_artifacts(tree, ["/srv/app"])


@pytest.mark.parametrize(
    "path",
    ["/", "/usr", "/usr/bin/python3", "/usr/local", "/usr/local/lib/python3", "/etc", "/lib64/x",
     "/etc/ld.so.preload", "/proc/1", "srv/app", "/srv/../usr", "/srv/app/", "//srv"],
)  # fmt: skip
async def test_what_rooms_run_on_cannot_be_replaced(path: str) -> None:
    async with rooms({}, {}) as (made, provider):
        with pytest.raises(VerifierError, match="artifact"):
            await off_loop(lambda: made.open([path]))
        assert provider.started == []


@pytest.mark.parametrize("path", ["/usr/local/bin/tool", "/etc/cron.d/job", "/srv/usr/bin"])
async def test_what_tasks_are_about_can_be_an_artifact(path: str) -> None:
    async with rooms({}, {path: "x"}) as (made, _):
        assert await off_loop(lambda: made.open([path]).run(["true"]).exit_code) == 0


async def test_a_command_gets_what_is_left_of_the_time_and_then_none() -> None:
    async with rooms({}, {}, commands_s=0.3) as (made, _):
        room = await off_loop(lambda: made.open([]))
        first = await off_loop(lambda: room.run(["sleep", "30"]))
        assert first.timed_out
        then = await off_loop(lambda: room.run(["touch", "ran"]))
        assert (then.timed_out, then.exit_code) == (True, 124)
        with pytest.raises(GuestFileError):
            await off_loop(lambda: room.read("/root/ran"))


async def test_closing_ends_a_command_that_still_runs_and_refuses_further_calls() -> None:
    async with rooms({}, {}) as (made, provider):
        room = await off_loop(lambda: made.open([]))

        def sleep() -> str:
            with pytest.raises(concurrent.futures.CancelledError):
                room.run(["sleep", "30"])
            return "ended"

        running = asyncio.ensure_future(off_loop(sleep))
        while not made._tasks:
            await asyncio.sleep(0)
        await made.close()
        assert await running == "ended"
        assert provider.open == []
        with pytest.raises(VerifierError, match="over"):
            await off_loop(lambda: room.run(["true"]))


async def test_a_room_that_cannot_take_its_artifacts_is_closed_too() -> None:
    # /srv is a file in the pristine snapshot, so nothing can be unpacked below it.
    async with rooms({"/srv": "file"}, {"/srv/app": "x"}) as (made, provider):
        with pytest.raises(SandboxError, match="cannot take its artifacts"):
            await off_loop(lambda: made.open(["/srv/app"]))
        assert provider.open == []
