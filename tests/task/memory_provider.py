"""A sandbox provider in memory: files are a dictionary, programs are Python functions.

It keeps what the protocol promises about files: `/run` is in no snapshot, a closed sandbox does
nothing any more, what is kept under a key stays. It isolates nothing and runs no real program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from agentgym.errors import GuestFileError, SandboxDiedError
from agentgym.records import (
    Capability,
    Change,
    ChangeKind,
    ExecResult,
    FileStat,
    Recipe,
    Snapshot,
)


class MemoryTree:
    """The files of a snapshot, as far as a digest reads them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        data = self._files.get(path)
        return None if data is None else FileStat("file", 0o644, len(data))

    def read(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        return self._files[path]


Program = Callable[["MemorySandbox", Sequence[str], Mapping[str, str]], Awaitable[ExecResult]]


class MemorySandbox:
    """Runs what the provider's `programs` hold under a command's first word."""

    def __init__(self, provider: MemoryProvider, files: dict[str, bytes]) -> None:
        self.provider = provider
        self.files = files
        self.folders: set[str] = set()
        self.closed = False

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> ExecResult:
        self._check()
        self.provider.calls.append((tuple(argv), timeout_s))
        program = self.provider.programs.get(argv[0])
        return await program(self, argv, env or {}) if program else ExecResult(127, b"", b"")

    async def upload(self, source: Path, target: str) -> None:
        self._check()
        for path in source.rglob("*"):
            if path.is_file():
                self.files[f"{target}/{path.relative_to(source).as_posix()}"] = path.read_bytes()

    async def download(self, source: str, target: Path) -> None:
        self._check()
        if source not in self.folders:
            raise GuestFileError(f"{source}: no such folder")
        target.mkdir()
        for name, data in self.files.items():
            if name.startswith(f"{source}/"):
                path = target / name.removeprefix(f"{source}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    async def changes(self, since: Snapshot | None = None) -> list[Change]:
        self._check()
        found = sorted(path for path in self.files if not path.startswith("/run/"))
        return [Change(path, ChangeKind.ADDED) for path in found]

    async def seal(self) -> Snapshot:
        self._check()
        await self.close()
        name = f"layer-{len(self.provider.layers)}"
        kept = {path: data for path, data in self.files.items() if not path.startswith("/run/")}
        self.provider.layers[name] = kept
        return Snapshot(self.provider.name, (name,))

    async def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.closed:
            raise SandboxDiedError("the sandbox is closed")


class MemoryProvider:
    """Starts memory sandboxes; tests put programs into `programs`."""

    name = "memory"
    capabilities = frozenset({Capability.SNAPSHOT})

    def __init__(self) -> None:
        self.layers: dict[str, dict[str, bytes]] = {}
        self.kept: dict[str, Snapshot] = {}
        self.sandboxes: list[MemorySandbox] = []
        self.calls: list[tuple[tuple[str, ...], float]] = []
        self.programs: dict[str, Program] = {"mkdir": _mkdir, "rm": _rm}

    async def open_tree(self, snapshot: Snapshot) -> MemoryTree:
        return MemoryTree(self.layers[snapshot.layers[0]])

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> MemorySandbox:
        files = dict(self.layers[snapshot.layers[0]]) if snapshot else {}
        sandbox = MemorySandbox(self, files)
        self.sandboxes.append(sandbox)
        return sandbox

    async def find(self, key: str) -> Snapshot | None:
        return self.kept.get(key)

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        return self.kept.setdefault(key, snapshot)


async def _mkdir(sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]) -> ExecResult:
    sandbox.folders.add(argv[-1])
    return ExecResult(0, b"")


async def _rm(sandbox: MemorySandbox, argv: Sequence[str], env: Mapping[str, str]) -> ExecResult:
    for target in argv[2:]:
        sandbox.folders.discard(target)
        for name in [name for name in sandbox.files if name.startswith(f"{target}/")]:
            del sandbox.files[name]
    return ExecResult(0, b"")
