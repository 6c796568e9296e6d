"""Protocols of isolated computers: shells, sandboxes, file trees, and their providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from socket import socket
from typing import Protocol, runtime_checkable

from agentgym.errors import UnsupportedError
from agentgym.records import (
    Audit,
    Bounds,
    Capability,
    Change,
    ExecResult,
    FileStat,
    Json,
    Problem,
    Process,
    Recipe,
    ShellResult,
    Snapshot,
    Usage,
)


class Shell(Protocol):
    """A persistent `bash` session, in which later commands see the state of earlier ones."""

    @property
    def cwd(self) -> str:
        """Working directory after the last command, as far as it is known."""
        ...

    async def run(self, command: str, *, timeout_s: float = 60.0) -> ShellResult:
        """Run a command; at the deadline it is interrupted and the session continues."""
        ...

    async def save(self) -> Mapping[str, Json]:
        """Return what a fork can restore: working directory and exported variables."""
        ...

    async def close(self) -> None:
        """End the session and its foreground command."""
        ...


class Sandbox(Protocol):
    """A running isolated computer. Guest paths are absolute strings."""

    @property
    def id(self) -> str:
        """Name unique within this host."""
        ...

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
        user: str | None = None,
    ) -> ExecResult:
        """Run one command to its end; by default in the recipe's `workdir`.

        By default it runs as the recipe's user. A command that cannot be found exits with 127.
        """
        ...

    async def run_as_root(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> ExecResult:
        """Run one command to its end as root, whatever the recipe's user."""
        ...

    async def open_shell(
        self, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Shell:
        """Start a persistent shell session."""
        ...

    async def read_file(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes. Raises GuestFileError."""
        ...

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file and create its parent directories. Raises GuestFileError.

        Without `mode` an existing file keeps its own, and a new one gets 0644.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file or folder to the guest path `target`."""
        ...

    async def download(self, source: str, target: Path) -> None:
        """Copy a guest file or folder to the host path `target`."""
        ...

    async def snapshot(self) -> Snapshot:
        """Freeze the files as they are; processes continue. Costs what changed since the start."""
        ...

    async def seal(self) -> Snapshot:
        """End all processes, keep the files as a snapshot, and close. Copies nothing."""
        ...

    async def fork(self) -> Sandbox:
        """Start another sandbox from the present files."""
        ...

    async def restore(self, snapshot: Snapshot) -> None:
        """End all processes and continue from an earlier snapshot."""
        ...

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        ...

    def look(self) -> AbstractAsyncContextManager[FileTree]:
        """Pause the sandbox and offer its present files; it continues at the exit.

        The files are read from outside; nothing of the guest is executed. Commands and writes wait
        for the exit: do not await them meanwhile. After the exit the tree cannot be read; the exit
        waits for reads in progress.
        """
        ...

    async def connect(self, port: int) -> socket:
        """Return a socket connected to a TCP port of the guest's loopback."""
        ...

    async def listen(self, port: int) -> socket:
        """Return a socket that listens on a TCP port of the guest's loopback; it does not block."""
        ...

    async def processes(self) -> Sequence[Process]:
        """List live guest processes, without the supervisor."""
        ...

    async def audit(self) -> Audit:
        """Return the audit, which is recorded out of the guest's reach."""
        ...

    def begin(self) -> None:
        """Count the wall time from now; a pool calls it when it hands a sandbox out."""
        ...

    async def usage(self) -> Usage:
        """Return what was used, and the mechanism that enforces each limit."""
        ...

    async def close(self) -> None:
        """End everything and remove every trace of it. Never raises, may be called twice."""
        ...


READ_BYTES = 2 * 2**20
"""Default of the largest file that `FileTree.read` reads, in bytes."""


class FileTree(Protocol):
    """The files of a snapshot, read from outside: nothing of the guest is executed.

    Symbolic links are followed inside the guest's root and never out of it. A tree is
    synchronous, because task authors read it from plain functions.
    """

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return the kind and metadata of a path, or None if it does not exist."""
        ...

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes.

        Args:
            path: The file.
            max_bytes: Largest size; a larger file is a GuestFileError. Raise it only as needed,
                because a check's memory is many times the size of a file.

        Raises:
            GuestFileError: The path is absent, of another kind or too large.
        """
        ...

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory. Raises GuestFileError."""
        ...

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, without following links."""
        ...


@runtime_checkable
class SandboxProvider(Protocol):
    """Starts sandboxes and keeps their snapshots. Entry points: `agentgym.sandboxes`."""

    name: str
    capabilities: frozenset[Capability]

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks to run the provider; empty if it can run."""
        ...

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> Sandbox:
        """Start a sandbox, from a snapshot or from the recipe's own root."""
        ...

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        ...

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List the changes from one snapshot to another."""
        ...

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still complete."""
        ...

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Keep a snapshot under a key beyond this process; the first one under a key stays."""
        ...

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept. Never raises."""
        ...

    async def close(self) -> None:
        """Close every open sandbox and drop snapshots that were not kept."""
        ...


@runtime_checkable
class StateKeeper(Protocol):
    """An optional ability of providers: convert a snapshot into bytes, and bytes into a snapshot.

    Without it the final states of episodes are not kept.
    """

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return the difference of a snapshot from the one it came from, as an archive.

        Raises:
            SandboxError: The archive exceeds the bounds, or the snapshots are not related.
        """
        ...

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot of an archive of `save_delta`; the caller discards it.

        Raises:
            SandboxError: The archive is damaged, or exceeds the bounds.
        """
        ...


@runtime_checkable
class ImagePlacer(Protocol):
    """A provider that copies the image of a recipe to a place of its own before the first start."""

    async def place(self, recipe: Recipe) -> None:
        """Copy the image unless it is there; a large one takes minutes."""
        ...


def state_keeper(provider: object) -> StateKeeper:
    """Return a provider as a `StateKeeper`.

    Raises:
        UnsupportedError: The provider lacks this ability.
    """
    if not isinstance(provider, StateKeeper):
        name = getattr(provider, "name", type(provider).__name__)
        raise UnsupportedError(f"sandbox {name!r} has no save_delta, so it keeps no states")
    return provider
