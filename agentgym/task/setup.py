"""Prepares instances: runs a setup once, and caches the resulting snapshot and gold.

Each key has one builder at a time: an asyncio lock inside the process, flock(2) across processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ClassVar, TypeAlias
from weakref import WeakValueDictionary

from agentgym.errors import ConfigError, SandboxError, TaskError, UnsupportedError
from agentgym.manifest import show_path
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Change, ExecResult, Recipe, Snapshot
from agentgym.regular_file import DATA_BYTES, read_regular
from agentgym.task.debian_packages import install_command
from agentgym.task.model import Instance, Task
from agentgym.task.setup_cache import CachedSetup, gold_folder, note, noted
from agentgym.task.state import state_hash
from agentgym.task.template import canonical, environment
from agentgym.threads import to_thread

_SETUP = "/run/agentgym/setup"
_SHARED = "/run/agentgym/shared"
_GOLD = "/run/agentgym/gold"
_TAIL_LINES = 40
_USE_UP = "i=0; while [ $i -lt $1 ]; do (:); i=$((i+1)); done"
_WITH_PROGRAMS = 'PATH="$0/bin:$PATH" PYTHONPATH="$0/python${PYTHONPATH:+:$PYTHONPATH}" exec "$@"'
_POLL_S = 0.02

_Kept: TypeAlias = tuple[dict[str, bytes], str]
"""The cached gold of a setup, by name, and the digest of its result."""

_locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock] = (
    WeakValueDictionary()
)


@dataclass(frozen=True)
class Prepared:
    """The initial state of every episode of an instance.

    Attributes:
        snapshot: The files after the setup.
        gold: Values that the setup left for the checks, by name; they are never in a sandbox.
        digest: Digest of both, in hexadecimal; empty if nothing was set up.
        key: The key under which the cache has them; empty if nothing was set up.
    """

    snapshot: Snapshot
    gold: Mapping[str, bytes]
    digest: str = ""
    key: str = ""


@dataclass(frozen=True)
class Surroundings:
    """Conditions of a setup that must not influence its result.

    Attributes:
        env: Variables beside the setup's own.
        programs: Host folder that the guest has at `place` while the setup runs; its `bin` comes
            first on PATH, its `python` on PYTHONPATH. None for no such folder.
        processes: Number of process ids to use up before the setup begins.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    programs: Path | None = None
    processes: int = 0

    place: ClassVar[str] = "/run/agentgym/surroundings"


PLAIN = Surroundings()
"""Conditions of a setup whose result is cached."""


@dataclass(frozen=True)
class Left:
    """Result of one run of a setup.

    Attributes:
        snapshot: The files.
        changes: Changes of the files from the recipe's own.
        gold: Values that it left for the checks, by name.
    """

    snapshot: Snapshot
    changes: tuple[Change, ...]
    gold: Mapping[str, bytes]


async def prepare(instance: Instance, provider: SandboxProvider, recipe: Recipe) -> Prepared:
    """Return the prepared state of an instance; run its setup if it is not cached.

    Raises:
        TaskError: A needed command is missing, or the setup failed.
        SandboxError: The sandbox cannot start or died.
    """
    key, kept = await to_thread(_look_up, instance, provider.name, recipe)
    prepared = await _found(provider, key, kept)
    if prepared is None:
        async with _sole_builder(key):
            kept = await to_thread(_read_kept, gold_folder(key))
            prepared = await _found(provider, key, kept)
            if prepared is None:
                prepared = await _build(instance, provider, recipe, key)
    return prepared


def setup_key(instance: Instance, provider: str, recipe: Recipe) -> str:
    """Return the cache key of an instance's prepared state, by a provider of this name."""
    # Limits constrain a setup, but do not change its result.
    identity = {name: value for name, value in asdict(recipe).items() if name != "limits"}
    # Needs are checked only when a state is built, so other needs make a new state.
    needs = sorted(set(instance.task.manifest.needs))
    # The digest that is kept beside a state leaves these out.
    volatile = list(instance.task.manifest.replay.volatile_paths)
    content = canonical([instance.fingerprint(), provider, identity, needs, volatile])
    return hashlib.sha256(content.encode()).hexdigest()


def _look_up(instance: Instance, provider: str, recipe: Recipe) -> tuple[str, _Kept | None]:
    """Return the cache key of an instance and what is cached under it."""
    key = setup_key(instance, provider, recipe)
    return key, _read_kept(gold_folder(key))


async def _found(provider: SandboxProvider, key: str, kept: _Kept | None) -> Prepared | None:
    snapshot = await provider.find(key) if kept is not None else None
    return None if kept is None or snapshot is None else Prepared(snapshot, *kept, key)


def _read_kept(folder: Path) -> _Kept | None:
    """Return the cached gold and digest, None if they are not cached or are replaced just now."""
    try:
        begun = folder.stat()
        if not (digest := noted(folder).digest):
            return None
        gold = _read_gold(folder)
        is_same = os.path.samestat(begun, folder.stat())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (gold, digest) if is_same else None


@asynccontextmanager
async def _sole_builder(key: str) -> AsyncIterator[None]:
    # flock alone would exclude these too, but each would poll.
    lock = _locks.setdefault((asyncio.get_running_loop(), key), asyncio.Lock())
    async with lock:
        handle = await to_thread(_open_lock, gold_folder(key).with_suffix(".lock"))
        try:
            # Polled: a thread that waits in flock could not be cancelled.
            while not _try_lock(handle):
                await asyncio.sleep(_POLL_S)
            yield
        finally:
            # Unlock explicitly: a forked child may still hold the same open file.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(
            f"{error.filename}: cannot be written: {error.strerror}; "
            "set AGENTGYM_CACHE to a folder of yours"
        ) from error


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _build(
    instance: Instance, provider: SandboxProvider, recipe: Recipe, key: str
) -> Prepared:
    gold = gold_folder(key)
    staged = gold.with_suffix(".new")
    await to_thread(shutil.rmtree, staged, ignore_errors=True)
    left = await run_setup(instance, provider, recipe, staged)
    tree = await provider.open_tree(left.snapshot)
    volatile = instance.task.manifest.replay.volatile_paths
    files = await to_thread(state_hash, left.changes, tree, volatile)
    digest = digest_of(files, left.gold)
    cached = CachedSetup(key, provider.name, instance.task.id, instance.params, digest)
    await to_thread(_cache, staged, gold, cached)
    return Prepared(await provider.keep(key, left.snapshot), left.gold, digest, key)


def _cache(staged: Path, gold: Path, cached: CachedSetup) -> None:
    old = gold.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        # At once: another process may be reading it.
        gold.rename(old)
    staged.rename(gold)
    note(gold, cached)
    shutil.rmtree(old, ignore_errors=True)


def for_setup(recipe: Recipe) -> Recipe:
    """Return the recipe of the sandbox in which a setup runs, as root."""
    services = tuple(service for service in recipe.services if service.in_setup)
    return replace(recipe, user="root", services=services)


async def run_setup(
    instance: Instance,
    provider: SandboxProvider,
    recipe: Recipe,
    staged: Path,
    surroundings: Surroundings = PLAIN,
) -> Left:
    """Run the setup of an instance without using or filling the cache.

    Args:
        instance: Instance to set up.
        provider: Starts the sandbox.
        recipe: Recipe of the sandbox.
        staged: Target folder of the gold; it does not exist yet.
        surroundings: Conditions of the run.

    Raises:
        TaskError: A needed command is missing, or the setup failed.
        SandboxError: The sandbox cannot start or died.
    """
    # A setup makes what the agent's user then finds.
    sandbox = await provider.start(for_setup(recipe))
    try:
        await _check_needs(sandbox, instance.task)
        if instance.task.setup is not None:
            if surroundings.programs is not None:
                await sandbox.upload(surroundings.programs, surroundings.place)
            await _run_script(sandbox, instance, instance.task.setup, surroundings)
            await sandbox.download(_GOLD, staged)
            await _succeed(sandbox, ["rm", "-rf", _SETUP, _SHARED, _GOLD, surroundings.place])
        else:
            await to_thread(staged.mkdir)
        changes: tuple[Change, ...] | None = None
        with contextlib.suppress(UnsupportedError):
            changes = tuple(await sandbox.changes())
        snapshot = await sandbox.seal()
    finally:
        await sandbox.close()
    if changes is None:
        changes = await _compared(provider, recipe, snapshot)
    return Left(snapshot, changes, await to_thread(_read_gold, staged))


async def _compared(
    provider: SandboxProvider, recipe: Recipe, after: Snapshot
) -> tuple[Change, ...]:
    """Return the changes of a setup if the provider cannot list them for a running sandbox."""
    untouched = await provider.start(for_setup(recipe))
    try:
        before = await untouched.seal()
    finally:
        await untouched.close()
    try:
        return tuple(await provider.compare(before, after))
    finally:
        await provider.discard(before)


def digest_of(state: str, gold: Mapping[str, bytes]) -> str:
    """Return the digest of a prepared state: 64 hex digits over its hash and the gold."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in gold.items()}
    return hashlib.sha256(canonical([state, digests]).encode()).hexdigest()


async def _check_needs(sandbox: Sandbox, task: Task) -> None:
    script = 'for c; do command -v "$c" >/dev/null || echo "$c"; done'
    result = await _succeed(sandbox, ["/bin/sh", "-c", script, "sh", *task.manifest.needs])
    if missing := result.stdout.decode().split():
        raise TaskError(
            f"{task.id} needs commands that the sandbox does not have: {', '.join(missing)}; "
            f"install them on the host (Debian: {install_command(missing)})"
        )


async def _run_script(
    sandbox: Sandbox, instance: Instance, folder: Path, surroundings: Surroundings
) -> None:
    timeout_s = instance.task.manifest.setup.timeout_s
    await sandbox.upload(folder, _SETUP)
    await _succeed(sandbox, ["mkdir", _GOLD])
    own = {"AGENTGYM_SETUP": _SETUP, "AGENTGYM_GOLD": _GOLD}
    if (shared := instance.task.shared_setup) is not None:
        await sandbox.upload(shared, _SHARED)
        own["AGENTGYM_SHARED"] = _SHARED
    argv = ["/bin/bash", f"{_SETUP}/setup.sh"]
    if surroundings.programs is not None:
        argv = ["/bin/bash", "-c", _WITH_PROGRAMS, surroundings.place, *argv]
    if surroundings.processes:
        await _succeed(sandbox, ["/bin/sh", "-c", _USE_UP, "sh", str(surroundings.processes)])
    result = await sandbox.exec(
        argv,
        env={**environment(instance.params), **own, **surroundings.env},
        timeout_s=timeout_s,
    )
    if result.timed_out or result.exit_code:
        what = f"ended with exit code {result.exit_code}"
        if result.timed_out:
            what = f"did not end within {timeout_s:g} s (setup.timeout_s in task.toml)"
        raise TaskError(
            f"{show_path(folder / 'setup.sh')} {what}, with parameters "
            f"{canonical(instance.params)}{last_lines(result)}"
        )


async def _succeed(sandbox: Sandbox, argv: list[str]) -> ExecResult:
    result = await sandbox.exec(argv)
    if result.timed_out or result.exit_code:
        raise SandboxError(
            f"preparing a task: {argv[0]} was expected to succeed, got exit code "
            f"{result.exit_code}: {tail(result)}"
        )
    return result


def last_lines(result: ExecResult) -> str:
    """Return the continuation of a message about a failed script: its last lines, if any."""
    lines = tail(result)
    return f"; its last lines:\n{lines}" if lines.strip() else "; it said nothing"


def tail(result: ExecResult) -> str:
    """Return the last lines that a command printed."""
    text = (result.stdout + result.stderr).decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


def _read_gold(folder: Path) -> dict[str, bytes]:
    # A link could point at any file of the host.
    return {
        path.relative_to(folder).as_posix(): read_regular(path, DATA_BYTES)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
