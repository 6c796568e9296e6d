"""Isolated computers: shells, sandboxes, their files, and who starts them."""

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
    """A persistent `bash` session: what one command sets, the next one sees."""

    @property
    def cwd(self) -> str:
        """Where it is, as far as its last command told."""
        ...

    async def run(self, command: str, *, timeout_s: float = 60.0) -> ShellResult:
        """Run a command; at the deadline it is interrupted and the session lives on."""
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
        """Run one command to its end, in the recipe's `workdir` where no other is given.

        It runs as the recipe's user where no other is given. A command that cannot be found
        exits with 127.
        """
        ...

    async def run_as_root(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> ExecResult:
        """Run one command to its end as root, whoever the recipe's commands run as."""
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
        """Write a file, making its parents. Raises GuestFileError.

        Without `mode` a file that is there keeps its own, and a new one gets 0644.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file or folder to the guest path `target`."""
        ...

    async def download(self, source: str, target: Path) -> None:
        """Copy a guest file or folder to the host path `target`."""
        ...

    async def snapshot(self) -> Snapshot:
        """Freeze the files as they are; processes go on. Costs what changed since the start."""
        ...

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close. Copies nothing."""
        ...

    async def fork(self) -> Sandbox:
        """Start another sandbox from the files as they are now."""
        ...

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and go on from an earlier snapshot."""
        ...

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        ...

    def look(self) -> AbstractAsyncContextManager[FileTree]:
        """Stop what runs inside, offer its files as they are now, let it go on at the exit.

        The files are read from outside; nothing of the guest is executed. Commands and writes
        wait for the exit: await none meanwhile. After the exit the tree refuses to be read; who
        is reading it then is waited for.
        """
        ...

    async def connect(self, port: int) -> socket:
        """Return a socket connected to a TCP port of the guest's loopback."""
        ...

    async def processes(self) -> Sequence[Process]:
        """List live guest processes, the supervisor left out."""
        ...

    async def audit(self) -> Audit:
        """Return what was recorded where the guest cannot reach."""
        ...

    def begin(self) -> None:
        """Count the wall time from now: for a pool, when it hands a sandbox out."""
        ...

    async def usage(self) -> Usage:
        """Say what was used and who enforces which limit."""
        ...

    async def close(self) -> None:
        """End everything and remove every trace. Never raises, may be called twice."""
        ...


READ_BYTES = 2 * 2**20
"""What `FileTree.read` reads where nobody asks for more."""


class FileTree(Protocol):
    """The files of a snapshot, read from outside: nothing of the guest is executed.

    Symbolic links are followed inside the guest's root and never out of it. A tree is
    synchronous, because task authors read it from plain functions.
    """

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path, or None where nothing is."""
        ...

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes.

        Args:
            path: The file.
            max_bytes: A larger file is a GuestFileError. Who expects more says it:
                what a check makes of a file takes many times its size.

        Raises:
            GuestFileError: It is absent, of another kind or too large.
        """
        ...

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory. Raises GuestFileError."""
        ...

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        ...


@runtime_checkable
class SandboxProvider(Protocol):
    """Starts sandboxes and keeps their snapshots. Entry points: `agentgym.sandboxes`."""

    name: str
    capabilities: frozenset[Capability]

    def problems(self) -> Sequence[Problem]:
        """Say what this machine lacks to run the provider; empty where it can run."""
        ...

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> Sandbox:
        """Start a sandbox, from a snapshot or from the recipe's own root."""
        ...

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        ...

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed from one snapshot to another."""
        ...

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still whole."""
        ...

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key; the first keeper wins."""
        ...

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept. Never raises."""
        ...

    async def close(self) -> None:
        """Close every sandbox that is still open and drop what was not kept."""
        ...


@runtime_checkable
class StateKeeper(Protocol):
    """What a provider can do beside: turn a snapshot into bytes, and bytes into a snapshot.

    Without it the final states of episodes are not kept.
    """

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return what a snapshot has beyond the one it came from, as an archive.

        Raises:
            SandboxError: It is larger than the bounds, or does not come from the other.
        """
        ...

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot of which `save_delta` made an archive; to be discarded.

        Raises:
            SandboxError: The archive is damaged, or larger than the bounds.
        """
        ...


def state_keeper(provider: object) -> StateKeeper:
    """Return a provider as what keeps states.

    Raises:
        UnsupportedError: It cannot.
    """
    if not isinstance(provider, StateKeeper):
        name = getattr(provider, "name", type(provider).__name__)
        raise UnsupportedError(f"sandbox {name!r} has no save_delta, so it keeps no states")
    return provider
