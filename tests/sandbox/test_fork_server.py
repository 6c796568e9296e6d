"""The process from which sandboxes are forked: what it knows, and what its end means."""

import asyncio
import contextlib
import os
import re
import resource
import signal
from pathlib import Path

import pytest

from agentgym.errors import SandboxDiedError, SandboxEndedError, SandboxError
from agentgym.sandbox import launch
from agentgym.sandbox.bubblewrap import BubblewrapProvider

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to read their memory")


@pytest.fixture
async def provider(tmp_path):
    provider = BubblewrapProvider(tmp_path / "store")
    yield provider
    await provider.close()
    assert list((tmp_path / "store/live").iterdir()) == []


def server_of(box) -> int:
    """Host process id of the fork server that a sandbox comes from."""
    stat = Path(f"/proc/{box.host_pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before, or while it was read
        return False


def children_of(pid: int) -> list[int]:
    """Process ids of the children of a process, those that are not waited for included."""
    found = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for children in found for child in children.split()]


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def test_sandboxes_come_from_one_process_that_ends_with_its_provider(tmp_path, recipe):
    provider = BubblewrapProvider(tmp_path / "store")
    boxes = await asyncio.gather(*(provider.start(recipe()) for _ in range(5)))
    (server,) = {server_of(box) for box in boxes}
    families = [box.host_pid for box in boxes]
    await boxes[0].close()
    await until(lambda: not is_alive(families[0]))
    assert all(map(is_alive, families[1:]))
    await provider.close()
    await until(lambda: not any(map(is_alive, [server, *families])))


async def test_its_end_is_the_end_of_its_sandboxes_and_no_doing_of_theirs(provider, recipe):
    first, second = await provider.start(recipe()), await provider.start(recipe())
    await first.write_file("/srv/f", b"so far")
    waiting = asyncio.create_task(first.exec(["sleep", "60"]))
    await first.exec(["true"])
    server, families = server_of(first), [first.host_pid, second.host_pid]
    os.kill(server, signal.SIGKILL)
    with pytest.raises(SandboxDiedError, match="the fork server ended") as died:
        await waiting
    assert not isinstance(died.value, SandboxEndedError)
    with pytest.raises(SandboxDiedError, match="the fork server ended"):
        await second.exec(["true"])
    await until(lambda: not any(map(is_alive, families)))
    # The next start starts a new one, also from what the dead one's sandboxes left.
    third = await provider.start(recipe(), await first.seal())
    assert await third.read_file("/srv/f") == b"so far"
    assert server_of(third) != server
    await second.close()


async def test_a_sandbox_that_ends_by_itself_takes_no_other_with_it(provider, recipe):
    first, second = await provider.start(recipe()), await provider.start(recipe())
    os.kill(first.host_pid, signal.SIGKILL)
    with pytest.raises(SandboxEndedError, match="its supervisor came to an end"):
        await first.exec(["true"])
    assert (await second.exec(["echo", "on"])).stdout == b"on\n"
    assert server_of(second) == server_of(await provider.start(recipe()))


@needs_root
async def test_no_secret_of_the_host_is_in_their_memory(provider, recipe, monkeypatch):
    secret = f"sesame-{os.urandom(8).hex()}"
    monkeypatch.setenv("AGENTGYM_TEST_TOKEN", secret)
    box = await provider.start(recipe())
    for pid in (server_of(box), box.host_pid):
        assert secret.encode() not in memory_of(pid)
        environ = Path(f"/proc/{pid}/environ").read_bytes()
        assert environ == b"LC_ALL=C\0PWD=/store\0"
    await box.exec(["sh", "-c", f"echo {secret}"])
    # What it was told is found where it is: the search can say yes.
    assert secret.encode() in memory_of(box.host_pid)
    # It is told to one sandbox alone.
    other = await provider.start(recipe())
    assert secret.encode() not in memory_of(other.host_pid)


def memory_of(pid: int) -> bytes:
    found = b""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            first, last, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if rights.startswith("r") and "[v" not in line:
                memory.seek(int(first, 16))
                found += memory.read(int(last, 16) - int(first, 16))
    return found


@needs_root
async def test_a_supervisor_holds_nothing_of_the_fork_servers(provider, recipe):
    await provider.start(recipe())
    box = await provider.start(recipe())
    folder = Path(f"/proc/{box.host_pid}/fd")
    held = sorted(re.sub(r":\[?\w*\]?", "", os.readlink(fd)) for fd in folder.iterdir())
    assert held == [*["/dev/null"] * 3, "anon_inode", "pipe", "pipe", "socket"]
    for name in ("user", "mnt", "pid", "net", "ipc", "uts"):
        spaces = {os.readlink(f"/proc/{pid}/ns/{name}") for pid in (server_of(box), box.host_pid)}
        assert len(spaces) == 2, name


async def test_a_start_that_is_called_off_leaves_nothing(provider, recipe, tmp_path):
    kept = await provider.start(recipe())
    server = server_of(kept)
    for wait_s in [step / 2000 for step in range(24)]:
        start = asyncio.create_task(provider.start(recipe()))
        await asyncio.sleep(wait_s)
        start.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await start).close()
    # The last one may have been ended a moment ago.
    await until(lambda: children_of(server) == [kept.host_pid])
    folders = {path.name for path in (tmp_path / "store/live").glob("*/*")}
    assert folders == {"lock", kept.id.rpartition("/")[2]}


async def test_a_start_that_is_called_off_while_an_ended_one_is_closed_leaves_nothing(
    provider, recipe
):
    gone = server_of(await provider.start(recipe()))
    (launcher,) = [pid for pid in children_of(os.getpid()) if gone in children_of(pid)]
    os.kill(launcher, signal.SIGSTOP)  # Its end has to be waited for.
    os.kill(gone, signal.SIGKILL)
    await until(lambda: not is_alive(gone))
    start = asyncio.create_task(provider.start(recipe()))
    await asyncio.sleep(0.1)
    start.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await start
    os.kill(launcher, signal.SIGCONT)
    await provider.close()
    assert launcher not in children_of(os.getpid())


async def test_without_room_for_its_descriptors_there_is_no_sandbox(provider, recipe):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A supervisor keeps its channel at 100 or above.
    room = max(104, len(os.listdir("/proc/self/fd")) + 16)
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, hard))
    try:
        boxes = [await provider.start(recipe())]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    boxes += await asyncio.gather(*(provider.start(recipe()) for _ in range(room - 20)))
    refused = 0
    # Each takes one descriptor for as long as it lives, and some more while it starts.
    while refused < 3:
        assert len(boxes) < room
        try:
            boxes.append(await provider.start(recipe()))
        except SandboxError:
            refused += 1
    for box in boxes:
        joined = Path(f"/proc/{box.host_pid}/cgroup").read_text()
        assert box._group is None or joined.count("/agentgym/") == len(box._group.folders)
    server = server_of(boxes[0])
    children = Path(f"/proc/{server}/task/{server}/children")
    async with asyncio.timeout(10):  # until the processes of the refused starts have ended
        while {int(child) for child in children.read_text().split()} != {
            box.host_pid for box in boxes
        }:
            await asyncio.sleep(0.05)
    await asyncio.gather(*(box.close() for box in boxes[:8]))
    assert (await (await provider.start(recipe())).exec(["true"])).exit_code == 0


async def test_what_it_cannot_do_is_told(provider, recipe, monkeypatch):
    monkeypatch.setattr(launch, "FIRST_PROCESS", ("/proc/1/no-such-file",))
    with pytest.raises(SandboxError, match="did not start: .*no-such-file: No such file"):
        await provider.start(recipe())
    monkeypatch.undo()
    assert (await (await provider.start(recipe())).exec(["true"])).exit_code == 0


@needs_root
@pytest.mark.parametrize("path", ["usr/local", "dev", "proc"])
async def test_a_link_is_no_place_to_mount_on(provider, recipe, tmp_path, path):
    snapshot = await (await provider.start(recipe())).seal()
    box = await provider.start(recipe(), snapshot)
    await box.write_file("/srv/f", b"")
    snapshot = await box.seal()
    layer = tmp_path / "store" / snapshot.layers[0] / path
    layer.parent.mkdir(exist_ok=True)
    layer.symlink_to("/store")
    with pytest.raises(SandboxError, match="did not start: .*Not a directory"):
        await provider.start(recipe(), snapshot)


AS_SOMEBODY = """
import asyncio, os, signal, sys
from pathlib import Path
from agentgym.errors import SandboxDiedError, SandboxEndedError
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider

async def main():
    provider = BubblewrapProvider(Path(sys.argv[1]))
    box = await provider.start(Recipe("host"))
    ids = Path(f"/proc/{box.host_pid}/uid_map").read_text().split()
    stat = Path(f"/proc/{box.host_pid}/stat").read_text()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
    try:
        async with asyncio.timeout(10):
            while True:  # Killed processes take a moment to end.
                await box.exec(["true"])
    except SandboxEndedError:
        print("its own doing")
    except SandboxDiedError as error:
        print("the fork server ended" in str(error))
    again = await provider.start(Recipe("host"))
    print((await again.exec(["id", "-u"])).stdout.decode().strip(), ids[2])
    await provider.close()

asyncio.run(main())
"""


def test_an_ordinary_user_has_one_too(as_somebody):
    assert as_somebody(AS_SOMEBODY).split() == ["True", "0", "1"]
