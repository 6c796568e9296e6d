"""What hostile or unlucky guests and dying hosts do to a sandbox."""

import asyncio
import contextlib
import gc
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import docker
import pytest

from agentgym.errors import (
    GuestFileError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SandboxLimitError,
)
from agentgym.records import Snapshot
from agentgym.sandbox import carried_through, fork_server, guest, runtime, store, watch
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker import store as docker_store
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.layer_names import MAX_LAYERS


def alive_with(marker: str) -> list[int]:
    """Host processes whose command line contains the marker."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return [pid for pid in found if pid != os.getpid()]


def init_of(pid: int) -> int:
    """Host process id of PID 1 in a guest that a process lives in."""
    while True:
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        if status["NSpid"].split()[-1] == "1":
            return pid
        pid = int(status["PPid"])


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def containers_of(store: Path) -> list[str]:
    """Docker containers of a store, running or not."""
    label = f"label=agentgym.store={hashlib.sha256(str(store.resolve()).encode()).hexdigest()[:12]}"
    listing = ["docker", "ps", "-aq", "--filter", label]
    return subprocess.check_output(listing, text=True).split()


async def test_fork_bomb_is_held_by_the_process_limit(provider, recipe):
    box = await provider.start(recipe(pids=64))
    shell = await box.open_shell()
    await shell.run("bomb() { bomb | bomb & }; bomb", timeout_s=3)
    usage = await box.usage()
    assert usage.processes <= 64
    assert usage.enforced["pids"]
    # While the bomb burns, a command either runs or says which limit stands in its way.
    try:
        await box.exec(["true"], timeout_s=5)
    except SandboxLimitError as error:
        assert "process limit" in str(error)
    after = await box.seal()
    tree = await provider.open_tree(after)
    assert tree.stat("/etc/passwd") is not None


async def test_memory_eater_is_killed_and_the_sandbox_lives(provider, recipe):
    box = await provider.start(recipe(memory_mb=200))
    eater = "x = []\nwhile True: x.append(bytearray(10_000_000))"
    result = await box.exec(["python3", "-c", eater], timeout_s=60)
    assert result.exit_code != 0 and not result.timed_out
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"


async def test_one_large_file_hits_the_disk_limit(provider, recipe):
    box = await provider.start(recipe(disk_mb=20))
    result = await box.exec(["sh", "-c", "head -c 100000000 /dev/zero > /srv/big"])
    assert result.exit_code != 0
    assert int((await box.exec(["stat", "-c", "%s", "/srv/big"])).stdout) <= 20 * 2**20


async def test_many_files_over_the_disk_limit_end_the_sandbox_but_not_its_files(provider, recipe):
    box = await provider.start(recipe(disk_mb=20))
    script = "for i in $(seq 30); do head -c 5000000 /dev/zero > /srv/$i; done; sleep 60"
    with pytest.raises(SandboxEndedError, match="disk limit of 20 MB"):
        await box.exec(["sh", "-c", script])
    with pytest.raises(SandboxError):
        await box.exec(["true"])
    tree = await provider.open_tree(await box.seal())
    assert tree.stat("/srv/1").size == 5_000_000


async def test_wall_time_ends_the_sandbox(provider, recipe):
    box = await provider.start(recipe(wall_s=0.5))
    with pytest.raises(SandboxEndedError, match="wall time of 0.5 s"):
        await box.exec(["sleep", "60"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to fill a small tmpfs")
async def test_a_full_disk_is_an_error_message_in_the_guest(tmp_path, recipe, monkeypatch):
    for least in ("_LEAST_MB", "_LEAST_FILES"):
        monkeypatch.setattr(watch, least, 0)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=755", "tmpfs", small], check=True)
    try:
        provider = BubblewrapProvider(small / "store")
        try:
            box = await provider.start(recipe(disk_mb=None))
        except SandboxError as error:
            pytest.skip(f"overlayfs does not take a tmpfs here: {error}")
        shell = await box.open_shell()
        result = await shell.run("head -c 50000000 /dev/zero > /srv/fill")
        assert result.exit_code != 0 and b"No space left" in result.output
        with pytest.raises(SandboxLimitError, match="No space left"):
            await box.write_file("/srv/more", bytes(100_000))
        assert (await shell.run("rm /srv/fill; echo freed")).output == b"freed\n"
        await provider.close()
    finally:
        subprocess.run(["umount", small], check=True)


async def test_a_gigabyte_of_output_is_capped(provider, recipe):
    box = await provider.start(recipe(output_bytes=10_000))
    shell = await box.open_shell()
    result = await shell.run("echo head; head -c 1000000000 /dev/zero; echo tail", timeout_s=60)
    assert result.output.startswith(b"head\n") and result.output.endswith(b"tail\n")
    assert len(result.output) < 10_200
    kept = len(re.sub(rb"\n\[\.\.\. \d+ bytes omitted \.\.\.\]\n", b"", result.output))
    assert kept + result.omitted_bytes == 1_000_000_000 + len(b"head\ntail\n")


async def test_a_chatty_background_job_neither_blocks_nor_floods(provider, recipe):
    box = await provider.start(recipe(output_bytes=10_000))
    shell = await box.open_shell()
    await shell.run("yes noise &")
    for _ in range(3):
        result = await shell.run("echo mine")
        assert len(result.output) < 11_000 and not result.timed_out
    assert (await shell.run("kill %1; wait; echo over")).output.endswith(b"over\n")


async def test_the_death_of_the_supervisor_is_reported_at_once(provider, recipe):
    box = await provider.start(recipe())
    marker = f"5{os.getpid()}"
    waiting = asyncio.create_task(box.exec(["sleep", marker]))
    await box.write_file("/srv/done", b"so far")
    while not (sleepers := alive_with(marker)):
        await asyncio.sleep(0.01)
    os.kill(init_of(sleepers[0]), signal.SIGKILL)
    with pytest.raises(SandboxEndedError, match="its supervisor came to an end"):
        await waiting
    with pytest.raises(SandboxEndedError):
        await box.exec(["true"])
    # What it had done by then can still be judged.
    tree = await provider.open_tree(await box.seal())
    assert tree.read("/srv/done") == b"so far"


async def test_a_guest_cannot_set_limits_for_its_supervisor(provider, recipe):
    box = await provider.start(recipe())
    for limit in ("--cpu=0:0", "--nofile=3:3", "--as=1:1"):
        result = await box.exec(["prlimit", "--pid", "1", limit])
        assert result.exit_code != 0 and b"not permitted" in result.stderr.lower(), result
    assert (await box.exec(["sh", "-c", "ulimit -n 100; ulimit -n"])).stdout == b"100\n"
    assert (await box.exec(["prlimit", "--nofile=50", "sh", "-c", "ulimit -n"])).stdout == b"50\n"


async def test_closing_leaves_no_process_and_no_folder(provider, recipe, tmp_path):
    box = await provider.start(recipe())
    shell = await box.open_shell()
    marker = f"3{os.getpid()}"
    await shell.run(f"setsid nohup sleep {marker} & trap '' TERM; (sleep {marker}) &")
    assert wait_until(lambda: len(alive_with(marker)) >= 2)
    await box.close()
    assert wait_until(lambda: not alive_with(marker))
    assert [p.name for p in (tmp_path / "store/live").glob("*/*")] == ["lock"]
    if provider.name == "docker":
        assert not containers_of(tmp_path / "store")


async def test_a_cancelled_snapshot_is_dropped_without_a_traceback(tmp_path, recipe):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    provider = BubblewrapProvider(tmp_path / "store")
    sandbox = await provider.start(recipe())
    await sandbox.write_file("/tmp/note", b"kept")
    before = await held_layers(provider)
    for turns in range(0, 60, 4):
        taking = asyncio.create_task(sandbox.snapshot())
        for _ in range(turns):
            await asyncio.sleep(0)
        taking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await provider.discard(await taking)
    assert (await sandbox.exec(["cat", "/tmp/note"])).stdout == b"kept"
    assert await held_layers(provider) == before
    last = asyncio.create_task(sandbox.snapshot())
    await asyncio.sleep(0)
    last.cancel()
    await sandbox.close()
    await provider.close()
    del last
    gc.collect()
    await asyncio.sleep(0.05)
    assert not told


async def held_layers(provider):
    """Return what is in use, once no withdrawal of a snapshot is under way."""
    while carried_through._WITHDRAWALS:
        await asyncio.sleep(0.01)
    return dict((await provider._ready())._references)


@pytest.mark.docker
async def test_a_cancelled_start_leaves_no_container(docker_root, recipe):
    provider = DockerProvider(docker_root)
    await (await provider.start(recipe())).close()
    start = asyncio.create_task(provider.start(recipe()))
    while not provider._open:
        await asyncio.sleep(0)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not containers_of(docker_root)
    await provider.close()


@pytest.mark.docker
@pytest.mark.parametrize("by_daemon", [True, False])
async def test_a_container_that_the_daemon_ends_is_not_judged(docker_root, recipe, by_daemon):
    provider = DockerProvider(docker_root)
    box = await provider.start(recipe())
    waiting = asyncio.create_task(box.exec(["sleep", "60"]))
    await box.write_file("/srv/done", b"so far")
    if by_daemon:
        docker.from_env().containers.get(box._container).kill()
    else:
        os.kill(box._init, signal.SIGKILL)
    with pytest.raises(SandboxEndedError):
        await waiting
    if by_daemon:
        with pytest.raises(SandboxDiedError, match="the Docker daemon ended it"):
            await box.seal()
    else:
        assert (await provider.open_tree(await box.seal())).read("/srv/done") == b"so far"
    await provider.close()
    assert not containers_of(docker_root)


@pytest.mark.docker
async def test_a_guest_without_a_supervisor_says_why(docker_root, recipe):
    provider = DockerProvider(docker_root)
    await (await provider.start(recipe())).close()
    program = provider._store.runtime.folder / "supervisor.pyc"
    program.unlink()  # It is linked to the one that every store uses.
    program.write_bytes(b"broken")
    with pytest.raises(SandboxError, match="did not start.*marshal|did not start.*magic"):
        await provider.start(recipe())
    await provider.close()


async def test_a_start_that_fails_says_why(tmp_path, recipe, monkeypatch):
    provider = BubblewrapProvider(tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "candidates", list)
        with pytest.raises(SandboxError, match="no Python here.* apt-get install"):
            await provider.start(recipe())
    with monkeypatch.context() as patch:
        patch.setattr(fork_server, "_MOUNT_POINT", "/no-such-folder")
        with pytest.raises(SandboxError, match="no-such-folder.*does not exist"):
            await provider.start(recipe())
    snapshot = await (await provider.start(recipe())).seal()
    gone = Snapshot(provider.name, ("l/no-such-layer", *snapshot.layers))
    with pytest.raises(SandboxError, match="did not start: mount overlay.*: No such file"):
        await provider.start(recipe(), gone)
    await provider.close()


DEEP = """
import os
os.chdir('/srv')
for _ in range({count}):
    os.mkdir('{name}')
    os.chdir('{name}')
open('bottom', 'w').close()
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("count", "name"), [(1900, "d"), (60, "d" * 200), (3000, "d")])
async def test_nesting_deeper_than_paths_reach_is_judged_and_removed(
    provider, recipe, tmp_path, count, name
):
    before = await (await provider.start(recipe())).seal()
    box = await provider.start(recipe(), before)
    await box.exec(["python3", "-c", DEEP.format(count=count, name=name)])
    await box.write_file("/srv/beside", b"x")
    assert (await box.usage()).disk_mb > 0
    after = await box.seal()
    tree = await provider.open_tree(after)
    assert tree.read("/srv/beside") == b"x"
    if count * (len(name) + 1) > 4_000:
        # Else a file at the bottom would be hidden from the judge.
        with pytest.raises(SandboxLimitError, match="nested deeper than a path can name"):
            await provider.compare(before, after)
        with pytest.raises(GuestFileError, match="nested deeper than a path can name"):
            list(tree.walk("/srv"))
    else:
        changes = {change.path for change in await provider.compare(before, after)}
        walked = {path for path, _ in tree.walk("/srv")}
        assert {"/srv/beside", f"/srv/{name}", f"/srv/{name}/{name}"} <= changes & walked
    await provider.discard(after)
    assert {p.name for p in (tmp_path / "store/live").glob("*/*")} == {"lock"}


async def test_a_link_does_not_lead_a_walk_astray(provider, recipe):
    box = await provider.start(recipe())
    await box.exec(["sh", "-c", "ln -s /usr /srv/results; mkdir /srv/d; ln -s / /srv/d/all"])
    tree = await provider.open_tree(await box.seal())
    for path in ("/srv/results", "/srv/results/share", "/srv/d/all/usr/lib"):
        with pytest.raises(GuestFileError):
            next(tree.walk(path))
    assert [path for path, _ in tree.walk("/srv/d")] == ["/srv/d/all"]
    assert next(tree.walk("/usr/share"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize("provider", ["bubblewrap"], indirect=True)
async def test_what_a_guest_leaves_is_out_of_reach_for_other_users(provider, recipe, tmp_path):
    box = await provider.start(recipe())
    await box.exec(["sh", "-c", "cp /usr/bin/id /tmp/mine; chmod 4755 /tmp/mine"])
    (program,) = (tmp_path / "store/live").glob("*/*/u/tmp/mine")
    assert program.stat().st_mode & 0o4000
    # Down to the store itself everybody may look: its own folders must be what is closed.
    for folder in tmp_path.parents[:-2]:
        folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
    assert subprocess.run([*nobody, f"test -e {tmp_path}/store"]).returncode == 0
    assert subprocess.run([*nobody, f"test -e {program}"]).returncode != 0


async def test_memory_file_systems_are_bounded(provider, recipe):
    box = await provider.start(recipe())
    for path in ("/run/fill", "/dev/shm/fill"):
        result = await box.exec(["sh", "-c", f"head -c 400000000 /dev/zero > {path}"])
        assert b"No space left" in result.stderr, path
    # Docker's /dev can be written, up to its own 64 MB.
    result = await box.exec(["sh", "-c", "head -c 400000000 /dev/zero > /dev/file"])
    assert b"No space left" in result.stderr or b"Read-only" in result.stderr
    assert (await box.exec(["sh", "-c", "echo x > /dev/null; echo y | cat"])).stdout == b"y\n"


HOST = """
import asyncio, sys
from pathlib import Path
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider

async def main():
    kinds = {"bubblewrap": BubblewrapProvider, "docker": DockerProvider}
    provider = kinds[sys.argv[3]](Path(sys.argv[1]))
    boxes = [await provider.start(Recipe("host")) for _ in range(3)]
    for box in boxes:
        shell = await box.open_shell()
        await shell.run("setsid nohup sleep " + sys.argv[2] + " & sleep " + sys.argv[2] + " &")
        await box.write_file("/srv/f", b"x")
    print("ready", flush=True)
    await boxes[0].exec(["sleep", sys.argv[2]], timeout_s=900)

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_nothing_survives_a_killed_host(kind, tmp_path, request):
    if kind == "docker":
        request.getfixturevalue("docker_root")
    marker = f"4{os.getpid()}"
    store = tmp_path / "store"
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(store), marker, kind], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout.readline() == "ready\n"
    # Six sleepers and the host, whose command line names the marker too.
    assert wait_until(lambda: len(alive_with(marker)) >= 7)
    guests = alive_with(marker)
    mounts = Path("/proc/self/mountinfo").read_text()
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    assert wait_until(lambda: not [p for p in alive_with(marker) if p in guests])
    assert str(store) not in mounts
    # What its folders hold is removed by whoever comes next.
    assert len(list((store / "live").iterdir())) == 1

    async def next_process():
        provider = {"bubblewrap": BubblewrapProvider, "docker": DockerProvider}[kind](store)
        await (await provider.start(Recipe("host"))).close()
        names = [folder.name for folder in (store / "live").iterdir()]
        await provider.close()
        return names

    from agentgym.records import Recipe

    if kind == "docker":
        assert len(containers_of(store)) == 3
    names = asyncio.run(next_process())
    if kind == "docker":
        assert not containers_of(store)
    assert len(names) == 1 and names[0].startswith(f"{os.getpid()}-")
    for hierarchy in ("memory", "pids", ""):
        left = Path("/sys/fs/cgroup", hierarchy, "agentgym")
        assert not left.exists() or not list(left.glob(f"{host.pid}-*"))


async def test_a_sweep_that_is_killed_leaves_no_control_group(tmp_path, recipe, monkeypatch):
    provider = BubblewrapProvider(tmp_path / "store")
    (tmp_path / "store/live/1-dead").mkdir(parents=True)
    (tmp_path / "store/live/1-dead/lock").touch()
    hierarchy = next(iter(Path("/sys/fs/cgroup").glob("memory")), Path("/sys/fs/cgroup"))
    group = hierarchy / "agentgym/1-dead-1"
    try:
        group.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(provider._access, "call", killed)
        await provider._ready()
    assert not group.exists()
    await (await provider.start(recipe())).close()
    await provider.close()
    assert list((tmp_path / "store/live").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "most"),
    [
        ("bubblewrap", MAX_LAYERS),
        pytest.param("docker", 3, marks=pytest.mark.docker),
        pytest.param("docker", MAX_LAYERS, marks=[pytest.mark.docker, pytest.mark.full]),
    ],
    indirect=["provider"],
)
async def test_deep_stacks_are_squashed_and_mean_the_same(provider, recipe, most, monkeypatch):
    for module in (guest, store, docker_store):
        monkeypatch.setattr(module, "MAX_LAYERS", most)
    box = await provider.start(recipe())
    last = most + 4
    for index in range(last + 1):
        await box.exec(
            [
                "sh",
                "-c",
                f"echo {index} > /srv/{index}; rm -f /srv/{index - 2}; echo {index} >> /srv/log",
            ]
        )
        fork = await box.fork()
        await box.close()
        box = fork
    left = (await box.exec(["sh", "-c", "ls /srv"])).stdout.decode().split()
    assert set(left) == {str(last - 1), str(last), "log"}
    lines = (await box.read_file("/srv/log")).split()
    assert [int(line) for line in lines] == list(range(last + 1))
    assert len((await provider.open_tree(await box.seal()))._layers) <= most


def test_unprivileged_users_have_the_same_contract(as_somebody):
    """Root runs the whole suite again as somebody else; an ordinary user already did."""
    lines = as_somebody(
        """
import asyncio, sys
from pathlib import Path
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.testing.sandbox import CHECKS

async def main():
    for check in CHECKS:
        provider = BubblewrapProvider(Path(sys.argv[1]))
        try:
            await check(provider, Recipe("host"))
            print("ok", flush=True)
        finally:
            await provider.close()

asyncio.run(main())
print(len(CHECKS))
"""
    ).split()
    assert lines.count("ok") == int(lines[-1]) > 20
