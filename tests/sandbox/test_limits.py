"""Limits that bite, with every provider and with and without privileges; and control groups."""

import asyncio
import os
import socket
import tempfile

import limit_checks
import pytest

from agentgym.errors import SandboxError
from agentgym.records import Limits
from agentgym.sandbox.control_group import (
    ControlGroup,
    kills,
    memory_group,
    remove_abandoned_groups,
    remove_groups_of,
)
from agentgym.sandbox.layers import size as layer_size
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.size import ENTRY_BYTES, UNKNOWN_BYTES, size
from agentgym.sandbox.unlinked import sends_descriptors
from agentgym.sandbox.watch import DiskWatch, Written

AS_SOMEBODY = """
import asyncio, sys
from pathlib import Path
import limit_checks
from agentgym.records import Limits, Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider

async def main():
    for check in limit_checks.CHECKS:
        provider = BubblewrapProvider(Path(sys.argv[1]))
        try:
            await check(provider)
            print(check.__name__, flush=True)
        finally:
            await provider.close()
    provider = BubblewrapProvider(Path(sys.argv[1]))
    box = await provider.start(Recipe("host", limits=Limits(cpus=1)))
    print(sorted((await box.usage()).enforced.items()))
    await provider.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("check", limit_checks.CHECKS, ids=lambda check: check.__name__)
async def test_limit(check, provider):
    await check(provider)


def test_limits_of_an_ordinary_user(as_somebody):
    *passed, enforced = as_somebody(AS_SOMEBODY).splitlines()
    assert passed == [check.__name__ for check in limit_checks.CHECKS]
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        # No group was delegated: what is left is said as it is.
        assert "('memory_mb', 'rlimit (each process)')" in enforced
        assert "('pids', 'rlimit')" in enforced and "cpus" not in enforced


async def test_a_sandbox_is_measured_when_the_disk_gets_fuller(tmp_path):
    measured = []

    def written():
        measured.append(True)
        return 3 * 2**20

    overrun = asyncio.ensure_future(DiskWatch(str(tmp_path)).overrun(2**20, Written(written)))
    await asyncio.sleep(0)
    assert not measured
    async with asyncio.timeout(20):
        while not overrun.done():
            with open(tmp_path / "file", "ab") as file:
                file.write(os.urandom(2**20))
                os.fsync(file.fileno())
            await asyncio.sleep(0.01)


async def test_the_largest_sandbox_ends_before_the_disk_is_full(tmp_path, monkeypatch):
    mb = 2**20
    space = 4_000 * mb
    monkeypatch.setattr(DiskWatch, "_space", lambda disk: space)
    sizes = {"small": 10 * mb, "honest": 90 * mb, "filler": 900 * mb}
    disk = DiskWatch(str(tmp_path))
    ends = {
        name: asyncio.ensure_future(
            disk.overrun(4_000 * mb, Written(lambda name=name: sizes[name]))
        )
        for name in sizes
    }
    await asyncio.sleep(0.1)
    assert not any(end.done() for end in ends.values()), "there is space"
    space = 200 * mb
    reason = await asyncio.wait_for(ends.pop("filler"), 20)
    assert reason.startswith("it wrote 900 MB, more than any other sandbox")
    await asyncio.sleep(0.2)
    assert [end.result() for end in ends.values() if end.done()] == []
    space = 90 * mb
    await asyncio.wait_for(ends.pop("honest"), 20)
    space = 1 * mb
    await asyncio.sleep(0.2)
    assert not ends["small"].done(), "no guest wrote that"
    ends["small"].cancel()


async def test_a_guest_that_frees_its_files_in_time_has_no_other_one_ended(tmp_path, monkeypatch):
    mb, measured = 2**20, 0
    looks = []

    def space(disk):
        # Two looks find a new disk; then it is full whenever its guests were not just measured.
        looks.append(measured)
        freed = len(looks) > 1 and looks[-2] != measured
        return 4_000 * mb if freed or len(looks) < 3 else 100 * mb

    def attackers():
        # It is empty while it is measured, and full again at the second look after that.
        nonlocal measured
        measured += 1
        return 0

    monkeypatch.setattr(DiskWatch, "_space", space)
    disk = DiskWatch(str(tmp_path))
    ends = [
        asyncio.ensure_future(disk.overrun(4_000 * mb, Written(written)))
        for written in (attackers, lambda: 90 * mb)
    ]
    async with asyncio.timeout(60):
        while measured < 5:
            await asyncio.sleep(0.01)
    assert not any(end.done() for end in ends)
    for end in ends:
        end.cancel()


async def test_a_guest_whose_files_cannot_be_measured_ends_before_honest_ones(
    tmp_path, monkeypatch
):
    mb, space = 2**20, 4_000 * 2**20
    monkeypatch.setattr(DiskWatch, "_space", lambda disk: space)
    disk = DiskWatch(str(tmp_path))
    honest = asyncio.ensure_future(disk.overrun(4_000 * mb, Written(lambda: 90 * mb)))
    hiding = asyncio.ensure_future(disk.overrun(4_000 * mb, Written(lambda: 0, lambda: True)))
    await asyncio.sleep(0.1)
    space = 200 * mb
    reason = await asyncio.wait_for(hiding, 20)
    assert reason.startswith("it sent descriptors of files that cannot be measured")
    assert not honest.done()
    honest.cancel()


def test_descriptors_in_a_message_are_found():
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as file:
        assert not sends_descriptors(os.getpid())
        socket.send_fds(ours, [b"x"], [file.fileno()])
        assert sends_descriptors(os.getpid())


def test_files_are_measured_below_any_path(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=folder)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(file, bytes(3 * 2**20))
    os.close(file)
    os.close(folder)
    assert size(str(tmp_path)) == 3 * 2**20 + 20 * ENTRY_BYTES
    remove(str(tmp_path / ("d" * 250)))


def test_folders_beyond_all_measure_count_as_more_than_any_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_size, "_LONGEST_PATH", 20)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert size(str(tmp_path)) == 2 * ENTRY_BYTES
    (tmp_path / "a" / "b" / ("c" * 20)).mkdir()
    assert size(str(tmp_path)) == UNKNOWN_BYTES


# --- control groups, on a tree of plain files -------------------------------------------------


class Tree:
    """Looks like /sys/fs/cgroup (v2) and /proc to who makes groups; files do not act."""

    def __init__(self, folder, own):
        self.root, self.proc, self.own = folder / "cgroup", folder / "proc", own
        (self.proc / str(os.getpid())).mkdir(parents=True)
        (self.proc / str(os.getpid()) / "cgroup").write_text(f"0::/{own}\n")
        path = self.root
        self.group(path)
        for part in own.split("/"):
            path = path / part
            self.group(path)

    def group(self, path, controllers="memory pids cpu"):
        path.mkdir(parents=True)
        (path / "cgroup.controllers").write_text(controllers)
        (path / "cgroup.subtree_control").write_text("")


OWN = "user.slice/user-7.slice/user@7.service/app.slice/run.scope"
LIMITS = Limits(memory_mb=100, cpus=0.5, pids=30)


def refuse(*paths):
    """Make control files refuse to be written, as a group that is not ours or holds processes."""
    for path in paths:
        control = path / "cgroup.subtree_control"
        control.unlink()
        control.mkdir()


def test_v2_uses_the_nearest_group_that_was_delegated(tmp_path):
    tree = Tree(tmp_path, OWN)
    service = tree.root / "user.slice/user-7.slice/user@7.service"
    # Its own scope holds this very process: no group below it may be limited.
    refuse(service / "app.slice/run.scope")
    group = ControlGroup.create("1-ab/1", LIMITS, tree.root, tree.proc)
    assert group.folders == (service / "app.slice/agentgym/1-ab-1",)
    assert group.enforced == dict.fromkeys(("memory_mb", "pids", "cpus"), "cgroup v2")
    written = {path.name: path.read_text() for path in group.folders[0].iterdir()}
    assert written["memory.max"] == str(100 * 2**20) and written["memory.swap.max"] == "0"
    assert written["pids.max"] == "30" and written["cpu.max"] == "50000 100000"
    for folder in (service / "app.slice", service / "app.slice/agentgym"):
        control = (folder / "cgroup.subtree_control").read_text()
        assert set(control.split()) == {"+memory", "+pids", "+cpu"}
    assert not (service / "app.slice/run.scope/agentgym").exists()
    members = group.folders[0] / "cgroup.procs"
    with pytest.raises(SandboxError, match="cannot limit the sandbox with .*cgroup.procs"):
        group.open_members()
    members.touch()
    (descriptor,) = group.open_members()
    assert os.path.samestat(os.fstat(descriptor), members.stat())
    os.close(descriptor)


def test_v2_without_a_writable_group_has_none(tmp_path):
    tree = Tree(tmp_path, "a/b")
    refuse(tree.root / "a/b", tree.root / "a", tree.root)
    assert ControlGroup.create("1-ab/1", LIMITS, tree.root, tree.proc) is None


def test_v2_in_a_container_whose_path_is_the_hosts(tmp_path):
    tree = Tree(tmp_path, "a")
    (tree.proc / str(os.getpid()) / "cgroup").write_text("0::/system.slice/docker-1.scope\n")
    group = ControlGroup.create("1-ab/1", LIMITS, tree.root, tree.proc)
    assert group.folders == (tree.root / "agentgym/1-ab-1",)


def test_v2_claims_only_what_was_granted(tmp_path):
    tree = Tree(tmp_path, "a")
    (tree.root / "a/cgroup.controllers").write_text("memory pids")
    group = ControlGroup.create("1-ab/1", LIMITS, tree.root, tree.proc)
    assert group.folders == (tree.root / "a/agentgym/1-ab-1",)
    assert set(group.enforced) == {"memory_mb", "pids"}
    assert not (group.folders[0] / "cpu.max").exists()


def test_what_a_dead_process_left_is_removed(tmp_path):
    tree = Tree(tmp_path, "a/b")
    for name in ("1-ab-1", "2-cd-1"):
        os.makedirs(tree.root / "a/agentgym" / name)
    remove_groups_of("1-ab", tree.root, tree.proc)
    assert [path.name for path in (tree.root / "a/agentgym").iterdir()] == ["2-cd-1"]


def test_old_groups_of_processes_that_are_gone_are_removed(tmp_path):
    tree = Tree(tmp_path, "a")
    groups = tree.root / "a/agentgym"
    for name in ("7-ab-1", "8-ab-1", "9-ab-1"):
        (groups / name).mkdir(parents=True)
    (tree.proc / "8").mkdir()
    for name in ("7-ab-1", "8-ab-1"):
        os.utime(groups / name, (0, 0))
    remove_abandoned_groups(tree.root, tree.proc)
    assert {path.name for path in groups.iterdir()} == {"8-ab-1", "9-ab-1"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\noom_group_kill 0\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
    ],
)
def test_kills_are_counted_in_either_version(tmp_path, file, text):
    assert kills(tmp_path) is None
    (tmp_path / file).write_text(text)
    assert kills(tmp_path) == 3
    assert ControlGroup((tmp_path,), {}).killed_for_memory() == 3


def test_the_group_of_a_process_is_found_in_either_version(tmp_path):
    (tmp_path / "proc/7").mkdir(parents=True)
    lines = "9:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n"
    (tmp_path / "proc/7/cgroup").write_text(lines)
    (tmp_path / "cgroup/memory/docker/abc").mkdir(parents=True)
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    assert memory_group(7, root, proc) == root / "memory/docker/abc"
    assert memory_group(8, root, proc) is None
    (root / "cgroup.controllers").touch()
    assert memory_group(7, root, proc) == root
