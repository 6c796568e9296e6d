"""Attacks on the host: its files, its processes, its secrets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentgym import catalogue
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe, Snapshot
from agentgym.task.model import Task, TaskManifest
from agentgym.task.setup import prepare
from agentgym.testing.attacks import reach
from agentgym.testing.attacks.attack import (
    Outcome,
    attack,
    command,
    outcome_of,
    run_inside,
    sources,
)
from agentgym.testing.attacks.probing import DONE
from agentgym.verify.room import CleanRooms, pack_artifacts

# A constant, so that the stored setup is the same each time.
_GOLD = "gold-5f1c9be0a7"
_HOST_ONLY = (
    *("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket"),
    *("/run/systemd/private", "/var/lib/docker", "/boot", "/etc/ssh", "/etc/sudoers"),
)


@contextlib.contextmanager
def decoy() -> Iterator[tuple[Path, str]]:
    """Put a secret into a file that every user of the host may read, and into the environment."""
    secret = secrets.token_hex(12)
    with tempfile.TemporaryDirectory(prefix="agentgym-decoy-") as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "secret")
        path.write_text(secret)
        os.environ["AGENTGYM_DECOY"] = secret
        try:
            yield path, secret
        finally:
            del os.environ["AGENTGYM_DECOY"]


@attack("root of its own; process namespace; cleared environment")
async def host_files(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Read a file of the host: by name, through /proc/*/root, past the root; or its environment."""
    with decoy() as (path, secret):
        box = await provider.start(recipe)
        try:
            return await run_inside(box, reach.host_files, secret[::-1], str(path))
        finally:
            await box.close()


@attack("root of its own")
async def host_names(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Open the cache, other sandboxes' folders, the Docker socket, homes, /etc/shadow."""
    cache = catalogue.cache_dir()
    box = await provider.start(recipe)
    try:
        paths = (str(cache), str(cache / "gold"), str(Path.home() / ".ssh"), *_HOST_ONLY)
        return await run_inside(box, reach.host_names, *paths)
    finally:
        await box.close()


@attack("process namespace")
async def host_processes(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Signal, trace or slow down a process of the host; kill all that can be named."""
    victim = await asyncio.create_subprocess_exec("sleep", "600")
    box = await provider.start(recipe)
    try:
        outcome = await run_inside(box, reach.attack, str(victim.pid))
        await box.exec(["sh", "-c", "kill -9 -1; kill -STOP -1"])
        state = Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[0]
        everybody = "it lives" if state == "S" else DONE
        return Outcome({**outcome.attempts, "kill all": everybody})
    finally:
        await box.close()
        with contextlib.suppress(ProcessLookupError):
            victim.kill()
        await victim.wait()


@attack("namespaces of its own; system call filter")
async def neighbours(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Reach another sandbox: its files, processes, loopback, abstract sockets, shared memory."""
    name = f"nb{secrets.token_hex(5)}"
    box, other = await provider.start(recipe), await provider.start(recipe)
    try:
        await run_inside(other, reach.offer, name)
        there = await run_inside(other, reach.neighbour, name)
        assert set(there.attempts.values()) == {DONE}, f"nothing to reach: {there.how}"
        return await run_inside(box, reach.neighbour, name)
    finally:
        await box.close()
        await other.close()


async def _prepare(provider: SandboxProvider, recipe: Recipe) -> Snapshot:
    """Run a setup that leaves gold, and copies of it in every place that is not to last."""
    with tempfile.TemporaryDirectory(prefix="agentgym-gold-") as folder:
        setup = Path(folder, "setup")
        setup.mkdir()
        script = f'echo {_GOLD} | tee "$AGENTGYM_GOLD/answer" > /tmp/draft; rm /tmp/draft\n'
        script += f'GOLD={_GOLD} setsid sleep 600 3< "$AGENTGYM_GOLD/answer" > /dev/null 2>&1 &\n'
        (setup / "setup.sh").write_text(script)
        manifest = TaskManifest(
            schema_version="agentgym.task/1",
            id="attack/gold-v1",
            title="x",
            difficulty="easy",
            env="none",
        )
        task = Task(manifest.id, Path(folder), manifest, "")
        prepared = await prepare(task.instance(1), provider, recipe)
    assert prepared.gold == {"answer": f"{_GOLD}\n".encode()}
    return prepared.snapshot


@attack("gold is moved to the host; what held it is never sealed")
async def gold(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Find the right answers where the setup wrote them: files, environments, deleted files."""
    box = await provider.start(recipe, await _prepare(provider, recipe))
    try:
        outcome = await run_inside(box, reach.search, _GOLD[::-1])
        await box.write_file("/srv/found", _GOLD.encode())
        there = await run_inside(box, reach.search, _GOLD[::-1])
        assert there.attempts["in files"] == DONE, f"the search finds nothing: {there.how}"
        return outcome
    finally:
        await box.close()


@attack("a clean room is made of the snapshot before the agent; gold stays on the host")
async def gold_in_the_clean_room(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Find the right answers when the judge runs the agent's program; leave links for artifacts."""
    pristine = await _prepare(provider, recipe)
    box = await provider.start(recipe, pristine)
    with decoy() as (path, secret):
        await box.exec(["mkdir", "/srv/agent"])
        await box.exec(["ln", "-s", str(path), "/srv/agent/link"])
        after = await box.seal()
        tree = await provider.open_tree(after)
        rooms = CleanRooms(provider, recipe, pristine, tree, commands_s=60)
        try:
            outcome = await asyncio.to_thread(_search_room, rooms)
            packed = pack_artifacts(tree, ["/srv/agent"])
        finally:
            await rooms.close()
            await provider.discard(after)
    link = DONE if secret.encode() in packed else "stays a link"
    return Outcome({**outcome.attempts, "link for an artifact": link})


def _search_room(rooms: CleanRooms) -> Outcome:
    room = rooms.open(["/srv/agent"])
    for path, data in sources(reach.search).items():
        room.write(path, data)
    return outcome_of(reach.search, room.run(command(reach.search, _GOLD[::-1])))
