"""The null sandbox of environments without a computer: no files, no commands, no preparation.

With it, environments that consist of services alone use the same code as all others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from socket import socket
from typing import NoReturn

from agentgym.errors import GuestFileError, UnsupportedError
from agentgym.protocols import READ_BYTES, FileTree, Shell
from agentgym.records import (
    Audit,
    Bounds,
    Capability,
    Change,
    ExecResult,
    FileStat,
    Problem,
    Process,
    Recipe,
    Snapshot,
    Usage,
)

NAME = "none"
"""Name of the provider in records."""

RECIPE = Recipe(NAME)
NOTHING = Snapshot(NAME, ())
"""The snapshot of every such sandbox."""

_numbers = count(1)


class NoFiles:
    """An empty file tree."""

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return None, because no path exists."""
        return None

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Raise GuestFileError."""
        raise GuestFileError(f"{path}: no such file; the environment has no sandbox")

    def list(self, path: str) -> Sequence[str]:
        """Raise GuestFileError."""
        raise GuestFileError(f"{path}: no such folder; the environment has no sandbox")

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield nothing."""
        return iter(())


class NoSandbox:
    """A Sandbox without files and processes; it costs nothing."""

    def __init__(self) -> None:
        self.id = f"{NAME}-{next(_numbers)}"

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
        """Raise UnsupportedError."""
        _refuse("run commands")

    async def run_as_root(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        """Raise UnsupportedError."""
        _refuse("run commands")

    async def open_shell(
        self, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Shell:
        """Raise UnsupportedError."""
        _refuse("open a shell")

    async def read_file(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Raise GuestFileError."""
        return NoFiles().read(path)

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Raise UnsupportedError."""
        _refuse("keep files")

    async def upload(self, source: Path, target: str) -> None:
        """Raise UnsupportedError."""
        _refuse("keep files")

    async def download(self, source: str, target: Path) -> None:
        """Raise GuestFileError."""
        NoFiles().read(source)

    async def snapshot(self) -> Snapshot:
        """Return the only snapshot."""
        return NOTHING

    async def seal(self) -> Snapshot:
        """Return the only snapshot."""
        return NOTHING

    async def fork(self) -> NoSandbox:
        """Return another such sandbox."""
        return NoSandbox()

    async def restore(self, snapshot: Snapshot) -> None:
        """Do nothing."""

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """Return an empty list."""
        return ()

    @asynccontextmanager
    async def look(self) -> AsyncIterator[FileTree]:
        """Yield an empty file tree."""
        yield NoFiles()

    async def connect(self, port: int) -> socket:
        """Raise UnsupportedError."""
        _refuse("listen on ports")

    async def listen(self, port: int) -> socket:
        """Raise UnsupportedError."""
        _refuse("listen on ports")

    async def processes(self) -> Sequence[Process]:
        """Return an empty list."""
        return ()

    async def audit(self) -> Audit:
        """Return an empty audit."""
        return Audit()

    def begin(self) -> None:
        """Do nothing, because no time limit applies."""

    async def usage(self) -> Usage:
        """Return a usage of zero."""
        return Usage(cpu_s=0.0, memory_mb=0.0, processes=0, disk_mb=0.0)

    async def close(self) -> None:
        """Do nothing."""


class NoSandboxProvider:
    """Starts sandboxes without files and processes."""

    name = NAME
    capabilities = frozenset(Capability)

    def problems(self) -> Sequence[Problem]:
        """Return an empty list: the provider works on every machine."""
        return ()

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> NoSandbox:
        """Return a sandbox without files and processes."""
        return NoSandbox()

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Return an empty file tree."""
        return NoFiles()

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """Return no changes."""
        return ()

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return an empty archive."""
        return b""

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the only snapshot."""
        return NOTHING

    async def find(self, key: str) -> Snapshot | None:
        """Return the only snapshot: it never has to be prepared."""
        return NOTHING

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Return the only snapshot."""
        return NOTHING

    async def discard(self, snapshot: Snapshot) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        f"the environment has no sandbox to {what}; give it one with sandbox = '…' in its env.toml"
    )
