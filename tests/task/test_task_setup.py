"""Preparing: setup runs once, gold goes to the host only, faults leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory_provider import MemoryProvider, MemorySandbox
from task_folder import TASK_TOML, write_task

from agentgym.env.environment import Environment
from agentgym.errors import (
    ConfigError,
    GuestFileError,
    SandboxDiedError,
    SandboxError,
    TaskError,
    UnsupportedError,
)
from agentgym.records import Change, ChangeKind, ExecResult, Limits, Recipe, Service, Snapshot
from agentgym.task import setup
from agentgym.task.load import load_task
from agentgym.task.model import Instance
from agentgym.task.setup import prepare

RECIPE = Recipe("host")


class Zoo(MemoryProvider):
    """A provider whose guests have awk and python3, and whose `bash` plays zoo/feed's setup."""

    def __init__(self) -> None:
        super().__init__()
        self.commands = {"awk", "python3"}
        self.result = ExecResult(0, b"done\n")
        self.setups = 0
        self.programs |= {"/bin/sh": self.which, "/bin/bash": self.setup}

    async def which(
        self, sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]
    ) -> ExecResult:
        missing = [name for name in argv[4:] if name not in self.commands]
        return ExecResult(0, "".join(f"{name}\n" for name in missing).encode())

    async def setup(
        self, sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]
    ) -> ExecResult:
        self.setups += 1
        for _ in range(5):
            await asyncio.sleep(0)
        assert argv[1] == f"{env['AGENTGYM_SETUP']}/setup.sh"
        assert sandbox.files[argv[1]] == b"echo hello\n"
        apples = sandbox.files[f"{env['AGENTGYM_SETUP']}/data/apples.txt"]
        sandbox.files["/srv/apples.txt"] = apples * json.loads(env["AGENTGYM_PARAMS"])["count"]
        assert env["AGENTGYM_GOLD"] in sandbox.folders
        sandbox.files[f"{env['AGENTGYM_GOLD']}/animal"] = env["PARAM_ANIMAL"].encode()
        sandbox.files[f"{env['AGENTGYM_GOLD']}/more/bytes"] = b"\0\xff"
        return self.result


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return load_task(write_task(tmp_path)).instance(5)


async def test_the_memory_provider_keeps_its_promises(tmp_path: Path) -> None:
    provider = MemoryProvider()
    sandbox = await provider.start(RECIPE)
    (tmp_path / "up").mkdir()
    (tmp_path / "up/file").write_bytes(b"x")
    await sandbox.upload(tmp_path / "up", "/run/there")
    await sandbox.upload(tmp_path / "up", "/srv")
    with pytest.raises(GuestFileError):
        await sandbox.download("/none", tmp_path / "down")
    await sandbox.exec(["mkdir", "/srv"])
    await sandbox.download("/srv", tmp_path / "down")
    assert (tmp_path / "down/file").read_bytes() == b"x"
    assert (await sandbox.exec(["nothing"])).exit_code == 127
    snapshot = await provider.keep("key", await sandbox.seal())
    with pytest.raises(SandboxDiedError):
        await sandbox.exec(["mkdir", "/x"])
    assert await provider.find("key") == snapshot
    assert await provider.find("other") is None
    assert (await provider.start(RECIPE, snapshot)).files == {"/srv/file": b"x"}


async def test_a_setup_leaves_a_snapshot_and_gold(instance: Instance, cache: Path) -> None:
    zoo = Zoo()
    prepared = await prepare(instance, zoo, RECIPE)
    count = instance.params["count"]
    assert zoo.layers[prepared.snapshot.layers[0]] == {"/srv/apples.txt": b"apple\n" * count}
    animal = str(instance.params["animal"]).encode()
    assert prepared.gold == {"animal": animal, "more/bytes": b"\0\xff"}
    assert [timeout for argv, timeout in zoo.calls if argv[0] == "/bin/bash"] == [7.5]
    assert zoo.sandboxes[0].files.keys() == {"/srv/apples.txt"}
    assert all(sandbox.closed for sandbox in zoo.sandboxes)
    assert (cache / "gold").stat().st_mode & 0o077 == 0


class Reticent(Zoo):
    """Says of two snapshots what differs, and nothing of a running sandbox."""

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> MemorySandbox:
        async def changes(since: Snapshot | None = None) -> list[Change]:
            raise UnsupportedError("no changes here")

        sandbox = await super().start(recipe, snapshot)
        sandbox.changes = changes  # type: ignore[method-assign]
        return sandbox

    async def compare(self, before: Snapshot, after: Snapshot) -> list[Change]:
        was, now = (self.layers[one.layers[0]] for one in (before, after))
        return [Change(path, ChangeKind.ADDED) for path in sorted(now.keys() - was.keys())]

    async def discard(self, snapshot: Snapshot) -> None:
        del self.layers[snapshot.layers[0]]


async def test_the_digest_covers_files_where_a_sandbox_notes_no_changes(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reticent = Reticent()
    prepared = await prepare(instance, reticent, RECIPE)
    assert prepared.digest == (await prepare(instance, Zoo(), RECIPE)).digest
    assert len(reticent.layers) == 1 and all(one.closed for one in reticent.sandboxes)

    async def more(sandbox: MemorySandbox, *rest: Any) -> ExecResult:
        sandbox.files["/srv/pear"] = b"a pear"
        return await reticent.setup(sandbox, *rest)

    reticent.kept.clear()
    reticent.programs["/bin/bash"] = more
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "other"))
    assert (await prepare(instance, reticent, RECIPE)).digest != prepared.digest


class Sharing(Zoo):
    """Its guests note what the setup finds below $AGENTGYM_SHARED."""

    async def setup(
        self, sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]
    ) -> ExecResult:
        shared = env.get("AGENTGYM_SHARED", "/nowhere")
        sandbox.files["/srv/shared.txt"] = sandbox.files.get(f"{shared}/tools.py", b"nothing")
        return await super().setup(sandbox, argv, env)


async def test_setups_of_an_environment_share_a_folder_which_leaves_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "mine"))
    toml = TASK_TOML.replace('env = "terminal"', 'env = "yard"')
    task = load_task(write_task(tmp_path, {"task.toml": toml}))
    env = tmp_path / "mine/envs/yard"
    env.mkdir(parents=True)
    (env / "env.toml").write_text('schema_version = "agentgym.env/1"\n')
    seen = []
    for text in (None, "one", "two"):
        if text is not None:
            (env / "setup").mkdir(exist_ok=True)
            (env / "setup/tools.py").write_text(text)
        zoo, instance = Sharing(), task.instance(5)
        prepared = await prepare(instance, zoo, RECIPE)
        files = zoo.layers[prepared.snapshot.layers[0]]
        assert not any("tools.py" in path for path in files)
        seen.append((files["/srv/shared.txt"], instance.fingerprint()))
    assert [text for text, _ in seen] == [b"nothing", b"one", b"two"]
    assert len({fingerprint for _, fingerprint in seen}) == 3


async def test_services_that_a_setup_does_not_need_are_not_started(instance: Instance) -> None:
    db, screen = Service("db", "db"), Service("screen", "screen", in_setup=False)
    zoo, recipe = Zoo(), replace(RECIPE, services=(db, screen))
    started = []

    async def start(recipe: Recipe, snapshot: Snapshot | None = None) -> MemorySandbox:
        started.append(recipe)
        return await MemoryProvider.start(zoo, recipe, snapshot)

    zoo.start = start  # type: ignore[method-assign]
    await prepare(instance, zoo, recipe)
    assert [one.services for one in started] == [(db,)] and started[0].user == "root"


async def test_a_prepared_instance_is_found_again(instance: Instance) -> None:
    zoo = Zoo()
    first = await prepare(instance, zoo, RECIPE)
    again = load_task(instance.task.folder).instance(5)
    assert await prepare(again, zoo, RECIPE) == first
    narrower = replace(RECIPE, limits=Limits(memory_mb=64))
    assert await prepare(again, zoo, narrower) == first
    assert zoo.setups == len(zoo.sandboxes) == 1


async def test_other_parameters_setups_recipes_and_providers_are_prepared_apart(
    instance: Instance,
) -> None:
    zoo = Zoo()
    await prepare(instance, zoo, RECIPE)
    await prepare(instance.task.instance(6), zoo, RECIPE)
    await prepare(instance, zoo, replace(RECIPE, env={"LANG": "C"}))
    (instance.task.folder / "setup/data/extra").write_text("x")
    await prepare(instance, zoo, RECIPE)
    assert zoo.setups == 4
    other = Zoo()
    other.name = "other"
    await prepare(instance, other, RECIPE)
    assert len(zoo.kept.keys() | other.kept.keys()) == 5


async def test_concurrent_prepares_run_the_setup_once(instance: Instance) -> None:
    zoo = Zoo()
    prepared = await asyncio.gather(*(prepare(instance, zoo, RECIPE) for _ in range(20)))
    assert zoo.setups == 1
    assert all(p == prepared[0] for p in prepared)


async def test_concurrent_prepares_of_different_instances_do_not_wait_for_each_other(
    instance: Instance,
) -> None:
    zoo = Zoo()
    inside = asyncio.Barrier(2)

    async def meet(
        sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]
    ) -> ExecResult:
        async with inside:
            return ExecResult(0, b"")

    zoo.programs["/bin/bash"] = meet
    async with asyncio.timeout(20):
        await asyncio.gather(*(prepare(instance.task.instance(s), zoo, RECIPE) for s in (1, 2)))


HOLDER = """
import fcntl, sys
with open(sys.argv[1]) as lock:
    fcntl.flock(lock, fcntl.LOCK_SH)  # only an exclusive lock waits for a shared one
    print("held", flush=True)
    sys.stdin.read()
"""


async def test_another_process_that_builds_is_waited_for_without_blocking_the_loop(
    instance: Instance, cache: Path
) -> None:
    zoo = Zoo()
    await prepare(instance, zoo, RECIPE)
    (lock,) = (cache / "gold").glob("*.lock")
    gold = lock.with_suffix("")
    hidden = gold.rename(cache / "hidden")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        waiting = asyncio.create_task(prepare(instance, zoo, RECIPE))
        cancelled = asyncio.create_task(prepare(instance, zoo, RECIPE))
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert not waiting.done()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        hidden.rename(gold)
        holder.stdin.close()
        async with asyncio.timeout(20):
            prepared = await waiting
    assert zoo.setups == 1
    assert set(prepared.gold) == {"animal", "more/bytes"}


@pytest.mark.parametrize("lost", ["gold", "snapshot"])
async def test_half_of_a_prepared_state_is_rebuilt(
    instance: Instance, cache: Path, lost: str
) -> None:
    zoo = Zoo()
    first = await prepare(instance, zoo, RECIPE)
    if lost == "gold":
        shutil.rmtree(next(path for path in (cache / "gold").iterdir() if path.is_dir()))
    else:
        zoo.kept.clear()
    second = await prepare(instance, zoo, RECIPE)
    assert zoo.setups == 2
    assert second.gold == first.gold
    layers = [zoo.layers[prepared.snapshot.layers[0]] for prepared in (first, second)]
    assert layers[0] == layers[1]


async def test_an_environment_reads_a_setup_once_and_runs_it_again_if_its_result_is_gone(
    instance: Instance, cache: Path
) -> None:
    zoo = Zoo()
    other = replace(instance, params={**instance.params, "count": 9})
    async with Environment(instance.task, zoo) as environment:
        first = await environment.prepare_instance(instance)
        shutil.rmtree(cache / "gold")
        assert await environment.prepare_instance(instance) == first
        assert zoo.setups == 1
        zoo.kept.clear()
        assert (await environment.prepare_instance(instance)).gold == first.gold
        assert zoo.setups == 2
        assert (await environment.prepare_instance(other)).key != first.key
        again = await environment.prepare_instance(instance)
    assert (again.key, again.gold, zoo.setups) == (first.key, first.gold, 3)


async def test_a_task_without_setup_gets_a_snapshot_of_the_base(tmp_path: Path) -> None:
    left_out = dict.fromkeys(("setup/setup.sh", "setup/data/apples.txt"))
    instance = load_task(write_task(tmp_path, left_out)).instance(0)
    zoo = Zoo()
    prepared = await prepare(instance, zoo, RECIPE)
    assert (zoo.layers[prepared.snapshot.layers[0]], prepared.gold) == ({}, {})
    assert await prepare(instance, zoo, RECIPE) == prepared
    assert (zoo.setups, len(zoo.sandboxes)) == (0, 1)


def assert_nothing_is_left(zoo: Zoo, cache: Path) -> None:
    assert zoo.kept == {}
    assert all(sandbox.closed for sandbox in zoo.sandboxes)
    assert not [path for path in (cache / "gold").iterdir() if path.suffix == ""]


async def test_a_failed_setup_shows_its_tail_and_leaves_nothing(
    instance: Instance, cache: Path
) -> None:
    zoo = Zoo()
    lines = "".join(f"line {n}\n" for n in range(1, 101))
    zoo.result = ExecResult(3, lines.encode(), b"no \xff such thing\n")
    with pytest.raises(TaskError) as caught:
        await prepare(instance, zoo, RECIPE)
    first, *tail = str(caught.value).splitlines()
    assert first == (
        "zoo/feed/setup/setup.sh ended with exit code 3, with parameters "
        f"{json.dumps(dict(sorted(instance.params.items())), separators=(',', ':'))}; "
        "its last lines:"
    )
    assert tail == [f"line {n}" for n in range(62, 101)] + [
        "no \N{REPLACEMENT CHARACTER} such thing"
    ]
    assert_nothing_is_left(zoo, cache)
    zoo.result = ExecResult(0, b"")
    assert (await prepare(instance, zoo, RECIPE)).gold["more/bytes"] == b"\0\xff"


async def test_a_setup_that_fails_in_silence_promises_no_lines(instance: Instance) -> None:
    zoo = Zoo()
    zoo.result = ExecResult(3, b"\n", b"")
    with pytest.raises(TaskError, match=r"ended with exit code 3, with .*; it said nothing$"):
        await prepare(instance, zoo, RECIPE)


async def test_a_setup_that_does_not_end_names_the_setting(instance: Instance, cache: Path) -> None:
    zoo = Zoo()
    zoo.result = ExecResult(124, b"still at it\n", timed_out=True)
    with pytest.raises(
        TaskError, match=r"within 7\.5 s \(setup\.timeout_s in task\.toml\)[\s\S]*at it"
    ):
        await prepare(instance, zoo, RECIPE)
    assert_nothing_is_left(zoo, cache)


async def test_missing_commands_are_named_before_anything_runs(tmp_path: Path, cache: Path) -> None:
    text = TASK_TOML.replace('["awk", "python3"]', '["zcat", "awk", "jq"]')
    instance = load_task(write_task(tmp_path, {"task.toml": text})).instance(0)
    zoo = Zoo()
    with pytest.raises(TaskError) as caught:
        await prepare(instance, zoo, RECIPE)
    assert str(caught.value) == (
        "zoo/feed-v2 needs commands that the sandbox does not have: zcat, jq; "
        "install them on the host (Debian: apt-get install gzip jq)"
    )
    assert zoo.setups == 0
    assert_nothing_is_left(zoo, cache)


async def test_needs_that_were_added_to_a_prepared_task_are_checked(tmp_path: Path) -> None:
    folder = write_task(tmp_path)
    zoo = Zoo()
    await prepare(load_task(folder).instance(0), zoo, RECIPE)
    manifest = folder / "task.toml"
    manifest.write_text(TASK_TOML.replace('["awk", "python3"]', '["python3", "awk", "awk"]'))
    await prepare(load_task(folder).instance(0), zoo, RECIPE)
    assert zoo.setups == 1
    manifest.write_text(TASK_TOML.replace('["awk", "python3"]', '["awk", "awkk"]'))
    with pytest.raises(TaskError, match="does not have: awkk;"):
        await prepare(load_task(folder).instance(0), zoo, RECIPE)


async def test_a_sandbox_that_dies_or_disobeys_is_closed_and_nothing_is_kept(
    instance: Instance, cache: Path
) -> None:
    async def die(
        sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]
    ) -> ExecResult:
        raise SandboxDiedError("gone")

    zoo = Zoo()
    zoo.programs["/bin/bash"] = die
    with pytest.raises(SandboxDiedError):
        await prepare(instance, zoo, RECIPE)
    assert_nothing_is_left(zoo, cache)

    zoo = Zoo()
    del zoo.programs["rm"]
    with pytest.raises(SandboxError, match="rm was expected to succeed, got exit code 127"):
        await prepare(instance, zoo, RECIPE)
    assert_nothing_is_left(zoo, cache)


async def test_gold_that_points_out_of_its_folder_is_not_followed(
    instance: Instance, cache: Path
) -> None:
    zoo = Zoo()
    await prepare(instance, zoo, RECIPE)
    (gold,) = (path for path in (cache / "gold").iterdir() if path.is_dir())
    (gold / "link").symlink_to("/etc/hostname")
    assert set((await prepare(instance, zoo, RECIPE)).gold) == {"animal", "more/bytes"}


async def test_a_cache_that_cannot_be_written_is_named(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"cannot be written: .*; set AGENTGYM_CACHE"):
        await prepare(instance, Zoo(), RECIPE)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_gold_that_is_replaced_while_it_is_read_is_not_taken(
    instance: Instance, cache: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    zoo = Zoo()
    first = await prepare(instance, zoo, RECIPE)
    (folder,) = (path for path in (cache / "gold").iterdir() if path.is_dir())
    read = setup._read_gold

    def replaced(path: Path) -> dict[str, bytes]:
        """Another process builds the state again, and this one reads what is left of the old."""
        monkeypatch.setattr(setup, "_read_gold", read)
        whole = read(path) if when == "after" else {}
        shutil.copytree(folder, folder.with_suffix(".new"))
        setup._cache(folder.with_suffix(".new"), folder, setup.noted(folder))
        return whole

    monkeypatch.setattr(setup, "_read_gold", replaced)
    assert (await prepare(instance, zoo, RECIPE)).gold == first.gold
    assert {path.suffix for path in (cache / "gold").iterdir()} & {".old", ".new"} == set()


def test_locks_do_not_outlive_their_loop(instance: Instance) -> None:
    zoo = Zoo()

    async def both() -> None:
        await asyncio.gather(*(prepare(instance, zoo, RECIPE) for _ in range(2)))

    asyncio.run(both())
    zoo.kept.clear()
    asyncio.run(both())
    assert zoo.setups == 2
