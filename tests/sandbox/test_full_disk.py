"""A guest that fills the disk loses files, and takes neither a verdict nor the run with it."""

import asyncio
import os
import subprocess
import sys
import time

import pytest

from agentgym.errors import DiskFullError, SandboxError
from agentgym.record import waiting
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Limits, Recipe
from agentgym.sandbox import supervised, watch
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.guest import DockerSandbox
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.layers import size as layer_size
from agentgym.sandbox.layers.size import ENTRY_BYTES, UNKNOWN_BYTES, empty_largest, size
from agentgym.sandbox.watch import DiskWatch

MB = 2**20
RECIPE = Recipe("host", limits=Limits(disk_mb=4000))
PLAN = EpisodePlan("terminal/demo-v1", seed=0, trial=0, agent="noop")
WRITE = "import sys; open(sys.argv[1], 'wb').write(bytes(int(sys.argv[2])))"


async def write(box, path, count):
    done = await box.exec(["python3", "-c", WRITE, path, str(count)])
    assert done.exit_code == 0, done.stderr


@pytest.fixture
def disk(monkeypatch):
    """The disk of all providers: its space is what the dict says, until files are emptied."""
    room = {"space": 20 * MB}
    monkeypatch.setattr(DiskWatch, "_space", lambda self: room["space"])
    for kind in (BubblewrapSandbox, DockerSandbox):

        def empty(self, most, real=kind._empty):
            emptied = real(self, most)
            room["space"] = 20 * MB
            return emptied

        monkeypatch.setattr(kind, "_empty", empty)
    monkeypatch.setattr(watch, "_RESERVE_BYTES", 16 * MB)
    monkeypatch.setattr(watch, "_RESERVE_SHARE", 0.8)
    monkeypatch.setattr(supervised, "_KEPT", MB)
    return room


async def test_what_fills_the_disk_is_emptied_and_the_rest_is_judged(provider, disk):
    filler, honest = [await provider.start(RECIPE) for _ in range(2)]
    await write(filler, "/root/large", 9 * MB)
    await write(filler, "/root/report", 1000)
    await write(honest, "/root/large", 6 * MB)
    # The space is gone faster than the disk is measured twice.
    disk["space"] = 1 * MB
    kept = await filler.seal()
    assert disk["space"] == 20 * MB
    tree = await provider.open_tree(kept)
    assert tree.read("/root/report") == bytes(1000)
    assert tree.read("/root/large") == b""
    # Nothing is emptied while there is space.
    tree = await provider.open_tree(await honest.seal())
    assert tree.stat("/root/large").size == 6 * MB


async def test_who_wrote_less_than_another_keeps_all_files(provider, disk):
    filler, honest = [await provider.start(RECIPE) for _ in range(2)]
    await write(filler, "/root/large", 9 * MB)
    await write(honest, "/root/large", 6 * MB)
    disk["space"] = 1 * MB
    tree = await provider.open_tree(await honest.seal())
    assert tree.stat("/root/large").size == 6 * MB
    disk["space"] = 20 * MB


async def test_an_ended_filler_makes_room_before_its_episode_ends(provider, disk):
    filler = await provider.start(RECIPE)
    await write(filler, "/root/large", 9 * MB)
    assert filler._left() >= 9 * MB
    disk["space"] = 1 * MB
    async with asyncio.timeout(20):
        while filler._left() >= MB:
            await asyncio.sleep(0.05)
    with pytest.raises(SandboxError, match="until the disk of this machine was almost full"):
        await filler.exec(["true"])


async def test_a_sandbox_waits_for_space_and_not_for_ever(provider, disk, monkeypatch):
    await provider.start(RECIPE)
    await asyncio.sleep(0.1)  # the watch measures the empty disk
    disk["space"] = 1 * MB
    starting = asyncio.ensure_future(provider.start(RECIPE))
    await asyncio.sleep(0.5)
    assert not starting.done()
    disk["space"] = 20 * MB
    await starting
    disk["space"] = 1 * MB
    monkeypatch.setattr(watch, "_ROOM_S", 0.2)
    with pytest.raises(SandboxError, match="its disk is full; 1 MB are left"):
        await provider.start(RECIPE)
    disk["space"] = 20 * MB


async def test_a_live_snapshot_leaves_the_space_that_no_guest_may_fill(provider, disk):
    box = await provider.start(RECIPE)
    await write(box, "/root/small", MB)
    disk["space"] = 16 * MB
    await provider.discard(await box.snapshot())  # Too little to matter.
    await write(box, "/root/large", 9 * MB)
    disk["space"] = 20 * MB
    for copy in (box.snapshot, box.fork):
        with pytest.raises(SandboxError, match="no room for a copy of 10 MB; 16 MB have to stay"):
            await copy()
    disk["space"] = 30 * MB
    await provider.discard(await box.snapshot())
    assert (await box.exec(["stat", "/root/large"])).exit_code == 0


async def test_live_snapshots_at_once_share_the_space(provider, disk):
    boxes = [await provider.start(RECIPE) for _ in range(3)]
    for box in boxes:
        await write(box, "/root/large", 9 * MB)
    disk["space"] = 30 * MB  # One copy fits.
    found = await asyncio.gather(*(box.snapshot() for box in boxes), return_exceptions=True)
    copied = [one for one in found if not isinstance(one, BaseException)]
    assert len(copied) == 1
    for one in copied:
        await provider.discard(one)


@pytest.mark.parametrize(("name", "told"), [("_LEAST_MB", "MB"), ("_LEAST_FILES", "files")])
async def test_a_disk_that_is_full_at_once_is_refused(tmp_path, monkeypatch, name, told):
    monkeypatch.setattr(watch, name, 10**12)
    provider = BubblewrapProvider(tmp_path / "store")
    match = f"sandboxes need .*1,000,000,000,000 {told}.*AGENTGYM_CACHE"
    with pytest.raises(SandboxError, match=match):
        await provider.start(RECIPE)
    # Who frees the disk may.
    await provider.prune(())
    await provider.close()


def test_the_largest_files_are_emptied_first(tmp_path):
    sizes = {"a/small": 3, "a/medium": 100_000, "b/large": 3 * MB, "b/larger": 5 * MB, "odd\n": MB}
    for name, count in sizes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * count)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "small")
    (tmp_path / "b" / "large").chmod(0)
    os.mkfifo(tmp_path / "fifo")

    def left():
        return {name for name in sizes if (tmp_path / name).stat().st_size}

    assert empty_largest(str(tmp_path), 20 * MB) == (0, "")
    count, first = empty_largest(str(tmp_path), MB)
    assert count == 3 and first in ("/b/large", "/b/larger", "/odd\n")
    assert left() == {"a/small", "a/medium"}
    # Files without a block take no space that emptying could give back.
    for number in range(50):
        (tmp_path / f"empty{number}").touch()
    assert empty_largest(str(tmp_path), 200_000) == (0, "")
    assert empty_largest(str(tmp_path), 0)[0] == 2
    assert not left() and size(str(tmp_path)) == 59 * ENTRY_BYTES


def test_what_is_nested_too_deep_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_size, "_LONGEST_PATH", 20)
    deep = tmp_path / "a" / ("b" * 12) / ("c" * 12)
    deep.mkdir(parents=True)
    (deep / "large").write_bytes(bytes(5 * MB))
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "large").write_bytes(bytes(3 * MB))
    (tmp_path / "z" / "small").write_bytes(b"x")
    assert size(str(tmp_path)) == UNKNOWN_BYTES
    assert empty_largest(str(tmp_path), MB) == (2, f"/a/{'b' * 12}/{'c' * 12}")
    assert not deep.exists() and (tmp_path / "z" / "small").read_bytes() == b"x"
    assert size(str(tmp_path)) < MB


async def test_files_of_an_honest_episode_survive_while_those_of_a_filler_are_emptied(
    provider, disk, monkeypatch
):
    filler, honest = [await provider.start(RECIPE) for _ in range(2)]
    await write(filler, "/root/large", 9 * MB)
    await write(honest, "/root/large", 6 * MB)
    real = type(filler)._empty

    def slowly(self, most):
        time.sleep(0.4)
        return real(self, most)

    monkeypatch.setattr(type(filler), "_empty", slowly)
    disk["space"] = 1 * MB
    sealing = asyncio.ensure_future(filler.seal())
    await asyncio.sleep(0.15)
    tree = await provider.open_tree(await honest.seal())
    assert tree.stat("/root/large").size == 6 * MB
    tree = await provider.open_tree(await sealing)
    assert tree.stat("/root/large").size == 0


async def test_a_disk_that_others_have_filled_takes_no_files(provider, disk):
    disk["space"] = 1000 * MB
    honest = await provider.start(RECIPE)
    await write(honest, "/root/large", 6 * MB)
    disk["space"] = 1 * MB
    tree = await provider.open_tree(await honest.seal())
    assert tree.stat("/root/large").size == 6 * MB


async def test_an_episode_that_ends_while_its_files_are_emptied_keeps_the_small_ones(
    provider, disk, monkeypatch
):
    filler = await provider.start(RECIPE)
    for number in range(20):
        await write(filler, f"/root/small{number}", 10_000)
    await write(filler, "/root/large", 9 * MB)
    calls = []
    real = type(filler)._empty

    def slowly(self, most):
        calls.append(most)
        time.sleep(0.5)
        return real(self, most)

    monkeypatch.setattr(type(filler), "_empty", slowly)
    disk["space"] = 1 * MB
    async with asyncio.timeout(20):
        while not calls:
            await asyncio.sleep(0.02)
    tree = await provider.open_tree(await filler.seal())
    assert len(calls) == 1
    assert [tree.stat(f"/root/small{number}").size for number in range(20)] == [10_000] * 20
    assert tree.stat("/root/large").size == 0


# --- the record on the same disk ---------------------------------------------------------------


async def test_a_run_waits_while_its_disk_is_full(tmp_path, monkeypatch):
    store = RunStore.create(tmp_path, {}, [PLAN])
    pages = "PRAGMA max_page_count"
    (least,) = store._database.rows("PRAGMA page_count")[0]
    largest = store._database.rows(f"{pages} = {least}")[0][0]
    assert largest == least

    def add():
        with store.transaction():
            for _ in range(100):
                store.add(PLAN)

    adding = asyncio.ensure_future(store.threads.finish(add))
    await asyncio.sleep(0.5)
    assert not adding.done()
    store._database.rows(f"{pages} = 100000")
    await asyncio.wait_for(adding, 20)
    assert len(store.episodes()) == 101
    store.close()


async def test_calls_share_the_time_for_a_full_disk_and_a_cancelled_one_does_not_wait(monkeypatch):
    monkeypatch.setattr(waiting, "_FULL_S", 0.5)
    monkeypatch.setattr(waiting, "_PAUSE_S", 0.05)
    thread, calls = waiting.RecordThread(), []

    def full(name):
        calls.append(name)
        raise DiskFullError("full")

    began_s = time.monotonic()
    done = await asyncio.gather(
        *(thread.finish(full, name) for name in "abcdef"), return_exceptions=True
    )
    assert {type(one) for one in done} == {DiskFullError}
    assert time.monotonic() - began_s < 2
    assert await thread.finish(lambda: 7) == 7
    monkeypatch.setattr(waiting, "_FULL_S", 60)
    waits = asyncio.ensure_future(thread.finish(full, "late"))
    while "late" not in calls:
        await asyncio.sleep(0.01)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waits, 10)
    thread.close()


FILL = """
from agentgym import Action, Decision

COMMAND = '''python3 -c "
import os
data = bytes(16 << 20)
for number in range(4):
    if os.fork() == 0:
        file = os.open('/root/%d' % number, os.O_CREAT | os.O_WRONLY)
        try:
            while True:
                os.write(file, data)
        except OSError:
            os._exit(0)
for number in range(4):
    os.wait()
"'''


class Fill:
    name = "fill"

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        return Decision(Action("submit", {}) if history else Action("bash", {"command": COMMAND}))

    async def close(self):
        pass
"""


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
@pytest.mark.timeout(200)
def test_agents_that_fill_a_small_disk_are_scored(tmp_path):
    (tmp_path / "fill.py").write_text(FILL)
    (tmp_path / "disk").mkdir()
    script = (
        'mount -t tmpfs -o size=1100m,nr_inodes=300k tmpfs "$0" && exec "$@"'
        ' eval terminal/slow-script-v1 terminal/drop-folder-script-v1 --agent "$0/../fill.py:Fill"'
        ' --trials 2 --jobs 2 --out "$0/run"'
    )
    command = [sys.executable, "-c", "from agentgym.cli import main; main()"]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(tmp_path / "disk"), *command],
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "disk")},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("failed  score 0.00") == 4, done.stderr
    assert "are kept empty" in done.stderr, "the watch was faster"
