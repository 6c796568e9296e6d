"""One running bubblewrap sandbox, seen from the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.errors import GuestFileError, SandboxDiedError, SandboxEndedError, SandboxError
from agentgym.records import (
    Change,
    ChangeKind,
    ExecResult,
    Json,
    Process,
    Recipe,
    ShellResult,
    Snapshot,
    Usage,
)
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.control_group import ControlGroup
from agentgym.sandbox.launch import Launch
from agentgym.sandbox.store import LayerStore

_START_S = 20.0
_REPLY_S = 30.0
_END_S = 2.0
_CHUNK = 4 * 2**20
_WATCH_S = 1.0
_NOTABLE_BYTES = 16 * 2**20
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    # Nobody sits at the other end: pagers and prompts would only wait.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONHASHSEED": "0",
    # Only one user id exists inside, so nothing can be given to another.
    "TAR_OPTIONS": "--no-same-owner",
}


class BubblewrapSandbox:
    """A Sandbox. Made by BubblewrapProvider; `boot` starts it.

    Args:
        store: Where its layers are.
        recipe: What it is made of.
        program: The compiled supervisor.
        start: Starts another sandbox (for forks).
        on_close: Called once, when every trace is gone.
    """

    def __init__(
        self,
        store: LayerStore,
        recipe: Recipe,
        program: Path,
        *,
        start: Callable[[Recipe, Snapshot], Awaitable[BubblewrapSandbox]],
        on_close: Callable[[BubblewrapSandbox], None],
    ) -> None:
        self._store, self._recipe, self._program = store, recipe, program
        self._start, self._on_close = start, on_close
        self._environment = {**ENVIRONMENT, **recipe.env}
        self._layers: tuple[str, ...] = ()
        self._upper = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._group: ControlGroup | None = None
        self._watch: asyncio.Future[None] | None = None
        self._death = ""
        self._shells = 0
        self._closed = False

    @property
    def id(self) -> str:
        """Name unique within this host."""
        return self._upper.removeprefix("live/")

    @property
    def host_pid(self) -> int:
        """Process id of its outermost process on the host; 0 when it is closed."""
        return self._process.pid if self._process is not None else 0

    @property
    def recipe(self) -> Recipe:
        """The recipe it was started from."""
        return self._recipe

    # --- life ---

    async def boot(self, layers: tuple[str, ...]) -> None:
        """Start the processes over a stack of layers."""
        self._store.hold(layers)
        self._layers = layers
        self._upper = self._store.new_upper()
        launch = Launch(
            self._store.root,
            layers,
            self._upper,
            self._recipe.hostname,
            self._recipe.limits,
            self._program,
        )
        self._process, sock = launch.start()
        self._channel = await Channel.open(sock, self.id)
        self._group = ControlGroup.create(self.id, self._process.pid, self._recipe.limits)
        hello = self._channel.hello()
        self._channel.write_line(b"go\n")
        try:
            async with asyncio.timeout(_START_S):
                await hello
        except (TimeoutError, SandboxDiedError):
            raise SandboxError(f"sandbox did not start: {await self._complaint()}") from None
        self._watch = asyncio.ensure_future(self._enforce())

    async def _complaint(self) -> str:
        """Return what the launcher said before it failed."""
        process = self._process
        assert process is not None and process.stderr is not None
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await self._ended(process)
        text = await asyncio.to_thread(process.stderr.read, 4000)
        return text.decode("utf-8", "replace").strip() or "no reason given; see: agentgym doctor"

    async def _enforce(self) -> None:
        """Watch the limits that the kernel does not: wall time and total disk use."""
        limits = self._recipe.limits
        loop = asyncio.get_running_loop()
        started, free = loop.time(), self._store.free()
        while not self._death:
            await asyncio.sleep(_WATCH_S)
            if limits.wall_s is not None and loop.time() - started > limits.wall_s:
                self._death = f"its wall time of {limits.wall_s:g} s is over"
            # The walk is paid only when the disk as a whole got fuller by something notable.
            elif limits.disk_mb is not None and free - self._store.free() > _NOTABLE_BYTES:
                free = self._store.free()
                used = await asyncio.to_thread(self._store.size, f"{self._upper}/u")
                if used > limits.disk_mb * 2**20:
                    self._death = f"it wrote more than its disk limit of {limits.disk_mb} MB"
        if self._process is not None:
            self._process.kill()

    async def _halt(self) -> None:
        """End every process inside and wait until they are gone."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            # PID 1 leaves when its channel closes, and the kernel ends the rest before it.
            channel.close()
        if process is not None:
            try:
                async with asyncio.timeout(_END_S):
                    await self._ended(process)
            except TimeoutError:
                process.kill()
                await self._ended(process)
            if process.stderr is not None:
                process.stderr.close()
        if self._group is not None:
            await asyncio.to_thread(self._group.remove)
            self._group = None

    @staticmethod
    async def _ended(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:
            return
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        fd = os.pidfd_open(process.pid)
        loop.add_reader(fd, done.set)
        try:
            await done.wait()
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        process.wait()

    async def close(self) -> None:
        """End everything and remove every trace. Never raises, may be called twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.ensure_future(self._dispose()))

    async def _dispose(self) -> None:
        await self._halt()
        with contextlib.suppress(OSError, SandboxError):
            if self._upper:
                await asyncio.to_thread(self._store.remove, self._upper)
            await asyncio.to_thread(self._store.release, self._layers)
        self._on_close(self)

    # --- talking to the supervisor ---

    async def _ask(
        self, op: str, body: bytes = b"", *, timeout_s: float = _REPLY_S, **fields: object
    ) -> tuple[dict[str, Any], bytes]:
        if self._channel is None:
            raise SandboxDiedError(f"sandbox {self.id} is closed")
        try:
            return await self._channel.request(op, body, timeout_s=timeout_s, **fields)
        except SandboxDiedError:
            if self._death:
                message = f"sandbox {self.id} was ended: {self._death}"
                raise SandboxEndedError(message) from None
            raise

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> ExecResult:
        """Run one command to its end."""
        header, body = await self._ask(
            "exec",
            stdin,
            timeout_s=timeout_s + _REPLY_S,
            argv=list(argv),
            cwd=cwd,
            env={**self._environment, **(env or {})},
            limit=self._recipe.limits.output_bytes,
            deadline_s=timeout_s,
        )
        split = header["stdout_bytes"]
        return ExecResult(
            exit_code=header["exit_code"],
            stdout=body[:split],
            stderr=body[split:],
            timed_out=header["timed_out"],
            omitted_bytes=header["omitted"],
            duration_s=header["duration_s"],
        )

    async def open_shell(
        self, *, cwd: str = "/root", env: Mapping[str, str] | None = None
    ) -> BubblewrapShell:
        """Start a persistent shell session."""
        self._shells += 1
        await self._ask(
            "shell.open",
            shell=self._shells,
            cwd=cwd,
            env={**self._environment, **(env or {})},
            limit=self._recipe.limits.output_bytes,
        )
        return BubblewrapShell(self, self._shells)

    async def processes(self) -> Sequence[Process]:
        """List live guest processes, the supervisor and its shells left out."""
        header, _ = await self._ask("ps")
        return [Process(pid, tuple(argv), tuple(ports)) for pid, argv, ports in header["processes"]]

    async def usage(self) -> Usage:
        """Say what was used and who enforces which limit."""
        header, _ = await self._ask("usage")
        limits = self._recipe.limits
        written = await asyncio.to_thread(self._store.size, f"{self._upper}/u")
        mechanisms = {
            "pids": "rlimit",
            "memory_mb": "rlimit (each process)",
            "disk_mb": "rlimit (each file) and watch",
            "wall_s": "timer",
            "output_bytes": "supervisor",
        }
        enforced = {k: how for k, how in mechanisms.items() if getattr(limits, k) is not None}
        if self._group is not None:
            enforced |= self._group.enforced
        return Usage(
            cpu_s=header["cpu_s"],
            memory_mb=header["memory_bytes"] / 2**20,
            processes=header["processes"],
            disk_mb=written / 2**20,
            enforced=enforced,
        )

    # --- files ---

    async def read_file(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes."""
        parts: list[bytes] = []
        position = 0
        while True:
            header, body = await self._ask(
                "read", path=path, offset=position, limit=min(_CHUNK, max_bytes + 1 - position)
            )
            if header["size"] > max_bytes:
                raise GuestFileError(
                    f"{path}: {header['size']} bytes, over the {max_bytes} allowed"
                )
            parts.append(body)
            position += len(body)
            # A file of /proc says it has no size; its end is an empty read.
            if not body or position == header["size"]:
                return b"".join(parts)

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file, making its parents."""
        view = memoryview(data)
        position = 0
        while True:
            part = bytes(view[position : position + _CHUNK])
            last = position + len(part) >= len(data)
            await self._ask("write", part, path=path, offset=position, mode=mode if last else None)
            position += len(part)
            if last:
                return

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file or folder to the guest path `target`."""
        if source.is_symlink():
            await self._ask("make", path=target, kind="link", target=os.readlink(source))
        elif source.is_dir():
            mode = source.stat().st_mode & 0o7777
            await self._ask("make", path=target, kind="dir", mode=mode | 0o700)
            for child in sorted(source.iterdir()):
                await self.upload(child, posixpath.join(target, child.name))
            await self._ask("make", path=target, kind="dir", mode=mode)
        else:
            data = await asyncio.to_thread(source.read_bytes)
            await self.write_file(target, data, mode=source.stat().st_mode & 0o7777)

    async def download(self, source: str, target: Path) -> None:
        """Copy a guest file or folder to the host path `target`.

        Only regular files and folders are taken; links are left out, because on the host they
        would point elsewhere.
        """
        header, _ = await self._ask("stat", path=source, follow=True)
        if header["kind"] == "file":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(await self.read_file(source))
            return
        if header["kind"] != "dir":
            raise GuestFileError(f"{source}: is neither a file nor a directory")
        target.mkdir(parents=True, exist_ok=True)
        listing, _ = await self._ask("list", path=source)
        for name, entry in listing["entries"].items():
            # The guest names these; a name may not lead out of the target.
            if "/" in name or name in ("", ".", ".."):
                raise SandboxError(f"{source}: the guest reports the impossible name {name!r}")
            if entry["kind"] in ("file", "dir"):
                await self.download(posixpath.join(source, name), target / name)

    # --- state ---

    async def snapshot(self) -> Snapshot:
        """Freeze the files as they are; processes go on."""
        upper = f"{self._upper}/u"
        await self._ask("freeze")
        try:
            layers = self._layers
            if not self._store.is_empty(upper):
                layers = (await asyncio.to_thread(self._store.copy, [upper]), *layers)
        finally:
            await self._ask("thaw")
        return await self._as_snapshot(layers)

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close. Copies nothing."""
        await self._halt()
        layers = self._layers
        if not self._store.is_empty(f"{self._upper}/u"):
            layers = (self._store.seal(self._upper), *layers)
        snapshot = await self._as_snapshot(layers)
        await self.close()
        return snapshot

    async def _as_snapshot(self, layers: tuple[str, ...]) -> Snapshot:
        shallow = await asyncio.to_thread(self._store.shallow, layers)
        self._store.hold(shallow)
        if shallow != layers and layers[0] not in self._layers:
            await asyncio.to_thread(self._store.remove, layers[0])
        return Snapshot("bubblewrap", shallow)

    async def fork(self) -> BubblewrapSandbox:
        """Start another sandbox from the files as they are now."""
        snapshot = await self.snapshot()
        try:
            return await self._start(self._recipe, snapshot)
        finally:
            await asyncio.to_thread(self._store.release, snapshot.layers)

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and go on from an earlier snapshot."""
        if snapshot.provider != "bubblewrap":
            raise SandboxError(f"a snapshot of {snapshot.provider!r} cannot be restored here")
        self._store.hold(snapshot.layers)
        upper, layers = self._upper, self._layers
        try:
            await self._halt()
            await self.boot(snapshot.layers)
        finally:
            await asyncio.to_thread(self._store.release, snapshot.layers)
            await asyncio.to_thread(self._store.remove, upper)
            await asyncio.to_thread(self._store.release, layers)

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        before = self._layers if since is None else since.layers
        after = (f"{self._upper}/u", *self._layers)
        return await asyncio.to_thread(changes_since, self._store, before, after)


def changes_since(
    store: LayerStore, before: tuple[str, ...], after: tuple[str, ...]
) -> list[Change]:
    """Return what the layers of `after` change over those of `before`, which they contain.

    Raises:
        SandboxError: `after` does not descend from `before`.
    """
    above = after[: len(after) - len(before)]
    if (*above, *before) != after:
        raise SandboxError("changes: the later snapshot does not descend from the earlier one")
    return [Change(path, ChangeKind(kind)) for path, kind in store.changes(above, before)]


class BubblewrapShell:
    """A Shell of a BubblewrapSandbox."""

    def __init__(self, sandbox: BubblewrapSandbox, number: int) -> None:
        self._sandbox, self._number = sandbox, number

    async def run(self, command: str, *, timeout_s: float = 60.0) -> ShellResult:
        """Run a command; at the deadline it is interrupted and the session lives on."""
        header, body = await self._sandbox._ask(
            "shell.run",
            command.encode("utf-8", "surrogateescape"),
            timeout_s=timeout_s + _REPLY_S,
            shell=self._number,
            deadline_s=timeout_s,
        )
        return ShellResult(
            output=body,
            exit_code=header["exit_code"],
            cwd=header["cwd"],
            timed_out=header["timed_out"],
            restarted=header["restarted"],
            omitted_bytes=header["omitted"],
            duration_s=header["duration_s"],
        )

    async def save(self) -> Mapping[str, Json]:
        """Return the working directory and the exported variables."""
        result = await self.run("env -0")
        pairs = (item.partition(b"=") for item in result.output.split(b"\0") if b"=" in item)
        exported: dict[str, Json] = {
            name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for name, _, value in pairs
        }
        return {"cwd": result.cwd, "env": exported}

    async def close(self) -> None:
        """End the session and its foreground command."""
        with contextlib.suppress(SandboxError):
            await self._sandbox._ask("shell.close", shell=self._number)
