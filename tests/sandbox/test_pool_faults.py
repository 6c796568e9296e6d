"""What killed guests and killed hosts do to a pool of real sandboxes."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentgym.errors import SandboxError
from agentgym.records import Capability, Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.pool import PooledProvider

HOST = Recipe("host")
KINDS = ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
PROVIDERS = {"bubblewrap": BubblewrapProvider, "docker": DockerProvider}
HOLDER = """
import asyncio, sys
from pathlib import Path
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.pool import PooledProvider

async def main():
    kinds = {"bubblewrap": BubblewrapProvider, "docker": DockerProvider}
    pool = PooledProvider(kinds[sys.argv[2]](Path(sys.argv[1])), size=4, memory_mb=1000)
    box = await pool.start(Recipe("host"))
    snapshot = await box.seal()
    pool.expect(Recipe("host"), snapshot, 3)
    while pool.statistics().ready < 3:
        await asyncio.sleep(0.01)
    if sys.argv[2] == "bubblewrap":
        # What a daemon goes on to make is cleared at the opening after the next.
        pool.expect(Recipe("host"), None)
    print("full", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    if request.param == "docker":
        request.getfixturevalue("docker_root")
    return request.param


def children_of(pid):
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text().split()]


def descendants_of(pid):
    below = children_of(pid)
    return [*below, *(other for child in below for other in descendants_of(child))]


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def groups_of(pid):
    folders = [Path("/sys/fs/cgroup", name, "agentgym") for name in ("", "memory", "pids", "cpu")]
    return [group for folder in folders for group in folder.glob(f"{pid}-*")]


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


async def filled(pool, count):
    async with asyncio.timeout(60):
        while pool.statistics().ready < count:
            await asyncio.sleep(0.01)


async def test_a_filled_pool_of_a_killed_process_is_cleaned_up_by_the_next(kind, tmp_path):
    store = tmp_path / "store"
    host = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store), kind], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout.readline() == "full\n"
    family = descendants_of(host.pid)
    assert kind == "docker" or len(family) >= 3
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    assert [entry.name.split("-")[0] for entry in (store / "live").iterdir()] == [str(host.pid)]

    pool = PooledProvider(PROVIDERS[kind](store), size=1, memory_mb=1000)
    box = await pool.start(HOST)
    assert wait_until(lambda: not alive(family))
    owners = [entry.name.split("-")[0] for entry in (store / "live").iterdir()]
    assert owners == [str(os.getpid())]
    assert groups_of(host.pid) == []
    assert str(store) not in Path("/proc/self/mountinfo").read_text()
    await box.close()
    await pool.close()
    assert list((store / "live").iterdir()) == []


@pytest.mark.docker
async def test_a_container_made_after_its_owner_was_swept_is_removed_by_the_next(docker_root):
    import docker

    provider = DockerProvider(docker_root)
    box = await provider.start(HOST)
    daemon = docker.from_env().api
    try:
        (own,) = [
            c for c in daemon.containers() if c["Labels"].get("agentgym.owner", "nobody") in box.id
        ]
        labels = {**own["Labels"], "agentgym.owner": "1-dead"}
        late = daemon.create_container(own["ImageID"], ["true"], labels=labels)["Id"]
        other = DockerProvider(docker_root)
        await (await other.start(HOST)).close()
        left = [container["Id"] for container in daemon.containers(all=True)]
        assert late not in left and own["Id"] in left
        assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"
        await other.close()
    finally:
        daemon.close()
        await provider.close()


async def make_ghosts(root, count):
    """Leave containers of a process that is gone in a store's name; return their ids."""
    import docker

    provider = DockerProvider(root)
    await provider.find("nothing")
    image = await asyncio.to_thread(provider._store.base)
    labels = {**provider._store.labels, "agentgym.owner": "ghost-aaaaaa"}
    await provider.close()
    daemon = docker.from_env().api
    try:
        return [daemon.create_container(image, ["x"], labels=labels)["Id"] for _ in range(count)]
    finally:
        daemon.close()


def load_unnamed(store, owner):
    """Load an image without a name for a process that does not live; return its id."""
    base = store.engine.image(store.base())
    store.labels = {**store.labels, "agentgym.owner": owner}
    return store._load(base.diff_ids, [], dict(base.labels))


def images():
    listing = ["docker", "images", "-q", "--no-trunc", "-f", "dangling=true"]
    return set(subprocess.check_output(listing, text=True).split())


def containers():
    listing = ["docker", "ps", "-aq", "--no-trunc"]
    return set(subprocess.check_output(listing, text=True).split())


@pytest.mark.docker
async def test_images_of_a_dead_process_and_of_a_store_that_is_gone_are_removed(docker_root):
    """As a daemon leaves them that was still loading when the process was killed."""
    provider = DockerProvider(docker_root)
    box = await provider.start(HOST)
    made = {}
    for name, folder in (("late", docker_root), ("elsewhere", docker_root / "gone")):
        other = DockerProvider(folder)
        await other.find("nothing")
        made[name] = await asyncio.to_thread(load_unnamed, other._store, f"{name}-cccccc")
        await other.close()
    shutil.rmtree(docker_root / "gone")
    try:
        last = DockerProvider(docker_root)
        await last.find("nothing")
        assert images() & {*made.values()} == {made["elsewhere"]}
        await last.prune([])
        await last.close()
        assert not images() & {*made.values()}
        assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"
    finally:
        await provider.close()


@pytest.mark.docker
async def test_starts_at_once_clear_the_same_leftovers(docker_root):
    ghosts = await make_ghosts(docker_root, 12)
    providers = [DockerProvider(docker_root) for _ in range(3)]
    await asyncio.gather(*(provider.find("nothing") for provider in providers))
    assert not containers().intersection(ghosts)
    await asyncio.gather(*(provider.close() for provider in providers))
    assert list((docker_root / "live").iterdir()) == []


@pytest.mark.docker
async def test_a_container_that_two_remove_at_once_is_gone_for_both(docker_root):
    ghosts = await make_ghosts(docker_root, 4)
    engine = Engine()
    try:
        for ghost in ghosts:
            removals = [asyncio.to_thread(engine.remove, ghost) for _ in range(4)]
            await asyncio.gather(*removals)
            assert ghost not in containers()
    finally:
        engine.close()


@pytest.mark.docker
async def test_leftovers_that_cannot_be_removed_stop_no_start(docker_root, monkeypatch):
    (ghost,) = await make_ghosts(docker_root, 1)
    (docker_root / "live/ghost-bbbbbb").mkdir()

    def refuse(engine, owner):
        raise SandboxError(f"Docker cannot remove what {owner} left")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "remove_all_of", refuse)
        provider = DockerProvider(docker_root)
        assert await provider.find("nothing") is None
    assert ghost in containers()
    await provider.close()
    # The next one has more luck.
    later = DockerProvider(docker_root)
    assert await later.find("nothing") is None
    assert ghost not in containers()
    await later.close()
    assert list((docker_root / "live").iterdir()) == []


@pytest.mark.docker
async def test_a_start_that_fails_leaves_no_claim(docker_root, monkeypatch):
    def fail(engine, label):
        raise SandboxError("Docker cannot list the containers")

    monkeypatch.setattr(Engine, "owners", fail)
    with pytest.raises(SandboxError):
        await DockerProvider(docker_root).find("nothing")
    assert list((docker_root / "live").iterdir()) == []


async def test_guests_that_die_while_they_are_ready_are_never_handed_out(tmp_path):
    pool = PooledProvider(BubblewrapProvider(tmp_path / "store"), size=3, memory_mb=1000)
    pool.expect(HOST, None, 3)
    await filled(pool, 3)
    family = []
    for pid in children_of(os.getpid()):
        if b"bwrap" in Path(f"/proc/{pid}/cmdline").read_bytes():
            family += descendants_of(pid)
            os.kill(pid, signal.SIGKILL)
    assert family and wait_until(lambda: not alive(family))
    box = await pool.start(HOST)
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"
    assert pool.statistics().discarded == 3
    await box.close()
    await pool.close()
    assert list((tmp_path / "store/live").iterdir()) == []


async def test_wall_time_begins_when_a_sandbox_is_handed_out(kind, tmp_path, recipe):
    pool = PooledProvider(PROVIDERS[kind](tmp_path / "store"), size=1, memory_mb=1000)
    short = recipe(wall_s=6.0)
    pool.expect(short, None)
    await filled(pool, 1)
    started = time.monotonic()
    while time.monotonic() - started < 3.5:
        await pool.tend()
        await asyncio.sleep(0.1)
    box = await pool.start(short)
    # Longer than what was left of its time, had it begun with the start.
    assert not (await box.exec(["sleep", "3"])).timed_out
    assert (await box.usage()).enforced["wall_s"] == "timer"
    assert pool.statistics().hits == 1
    await pool.close()


async def test_clean_rooms_and_forks_come_from_it_like_any_sandbox(kind, tmp_path):
    pool = PooledProvider(PROVIDERS[kind](tmp_path / "store"), size=2, memory_mb=1000)
    box = await pool.start(HOST)
    await box.write_file("/srv/state", b"1")
    before = await pool.keep("a key", await box.seal())
    pool.expect(HOST, before, 2)
    await filled(pool, 2)
    one, two = await pool.start(HOST, before), await pool.start(HOST, before)
    await one.write_file("/srv/state", b"2")
    fork = await one.fork()
    assert await fork.read_file("/srv/state") == b"2"
    assert await two.read_file("/srv/state") == b"1"
    assert Capability.FORK in pool.capabilities and pool.statistics().hits == 2
    await pool.close()
    assert list((tmp_path / "store/live").iterdir()) == []
