"""Clean rooms: the pristine task snapshot plus declared artifacts, for checks that execute.

The agent's files are read from the final snapshot and sent in as a tar stream, so none of them
touches the host's files, and the agent's live sandbox is not used. Checks are plain functions on a
worker thread; a room passes their calls to the grading loop.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import hashlib
import io
import os
import posixpath
import tarfile
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from agentgym.errors import GuestFileError, SandboxError, VerifierError
from agentgym.protocols import FileTree, Room, Sandbox, SandboxProvider
from agentgym.records import ExecResult, FileStat, Recipe, Snapshot
from agentgym.sandbox.layers.delta_format import set_time
from agentgym.verify.room_cache import CachedRoom, RoomCache, fingerprint

ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "TZ": "UTC",
}
ARTIFACT_BYTES = 64 * 2**20
ARTIFACT_ENTRIES = 20_000
STARTING_S = 60.0
"""Maximum extension of the grading deadlines for rooms that start late, in seconds."""
_PATH_BYTES = 4000
_TRUSTED = (
    "/bin",
    "/dev",
    "/etc/ld.so.preload",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
)
_OWN_PROGRAMS = ("/usr/local/bin", "/usr/local/sbin")
_UNPACK = '/usr/bin/rm -rf -- "$@" && exec /usr/bin/tar -x -p --no-same-owner -f -'
_AHEAD = 2
# Another episode may fill the disk while a room starts.
_STARTS = 3
_FULL = os.strerror(errno.ENOSPC)
_TIME_USED_UP = ExecResult(124, b"", timed_out=True)

T = TypeVar("T")


class CleanRooms:
    """The rooms of one grading: each call opens a fresh one, and all are closed together.

    No two checks share a room, because a program of the agent's may have altered it.

    Args:
        provider: Starts the sandboxes.
        recipe: Recipe of the task's environment; a room never has a network.
        pristine: The task's snapshot before the agent starts.
        after: The files that the agent left.
        commands_s: Seconds for all commands together. A command gets the rest of them; if nothing
            is left, it counts as timed out. A program that hangs is thus a failed check and does
            not exceed the grading deadline.
        expected: Expected number of rooms; they start in advance, two at a time.
        cache: Answers of rooms in other gradings of the same task; this grading adds its own. The
            n-th room with some artifacts uses the answers of the n-th room with the same artifacts.

    Attributes:
        opened: Number of rooms that were asked for.
        waited_s: Seconds that checks waited for rooms to start; neither agent nor check caused
            them.
    """

    def __init__(
        self,
        provider: SandboxProvider,
        recipe: Recipe,
        pristine: Snapshot,
        after: FileTree,
        *,
        commands_s: float,
        expected: int = 0,
        cache: RoomCache | None = None,
    ) -> None:
        self._provider, self._pristine, self._after = provider, pristine, after
        self._recipe = dataclasses.replace(recipe, network="none", user="root")
        self._loop = asyncio.get_running_loop()
        self._until = time.monotonic() + commands_s
        self._sandboxes: list[Sandbox] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._ahead: deque[asyncio.Task[Sandbox]] = deque()
        self._closing: set[asyncio.Task[None]] = set()
        self._expected = expected
        # Most checks of a task ask for the same files, one check after the other.
        self._packed: tuple[tuple[str, ...], bytes] | None = None
        self._cache, self._recalls = cache or RoomCache(), cache is not None
        self._asked: Counter[str] = Counter()
        self._closed = False
        self.opened = 0
        self.waited_s = 0.0
        self._look_ahead()

    def open(self, artifacts: Sequence[str], shared: bool = False) -> Room:
        """Open a room with these artifacts. Called on the worker thread.

        Args:
            artifacts: Paths of guest files and folders.
            shared: Whether answers of a shared room with the same artifacts are used again.

        Raises:
            GuestFileError: An artifact is missing or too large.
            VerifierError: A path is not allowed as an artifact.
        """
        key = artifact_key(artifacts)
        if self._packed is None or self._packed[0] != key:
            self._packed = key, pack_artifacts(self._after, key)
        return self.open_packed(key, self._packed[1], shared)

    def open_packed(self, key: tuple[str, ...], stream: bytes, shared: bool) -> Room:
        """Open a room with packed artifacts. Called on the worker thread.

        Args:
            key: The artifacts, see `artifact_key`.
            stream: The archive from `pack_artifacts`.
            shared: As in `open`.
        """

        def start() -> CleanRoom:
            began_s = time.monotonic()
            try:
                return CleanRoom(self, self.call(lambda: self._start(key, stream)))
            finally:
                self.waited_s += time.monotonic() - began_s

        if not shared and not self._recalls:
            return start()
        content = self._content(key, stream)
        if shared:
            return CachedRoom(self._cache, content, start)
        self._asked[content] += 1
        return CachedRoom(self._cache, f"{content} {self._asked[content]}", start)

    def _content(self, artifacts: tuple[str, ...], stream: bytes) -> str:
        # Within one grading, all streams are packed from the same files, so equal keys mean equal
        # streams.
        files = fingerprint(stream) if self._recalls else hashlib.sha256(stream).hexdigest()
        return repr((self._recipe, self._pristine, artifacts, files))

    def _look_ahead(self) -> None:
        """Start the expected rooms while checks compare and commands run."""
        while len(self._ahead) < min(_AHEAD, self._expected - self.opened):
            start = self._provider.start(self._recipe, self._pristine)
            self._ahead.append(self._loop.create_task(start))

    async def _start(self, artifacts: tuple[str, ...], stream: bytes) -> Sandbox:
        self.opened += 1
        for _ in range(_STARTS - 1):
            try:
                return await self._started(artifacts, stream)
            except SandboxError as error:
                if _FULL not in str(error):
                    raise
        return await self._started(artifacts, stream)

    async def _started(self, artifacts: tuple[str, ...], stream: bytes) -> Sandbox:
        if self._ahead:
            sandbox = await self._ahead.popleft()
        else:
            # It waits while the disk is full.
            sandbox = await self._provider.start(self._recipe, self._pristine)
        self._sandboxes.append(sandbox)
        self._look_ahead()
        if artifacts:
            # Remove what the setup left at these paths first, so that a replaced folder holds only
            # the agent's files. One shell for both steps saves a round trip per room.
            try:
                await _must(sandbox, ["/bin/sh", "-c", _UNPACK, "sh", *artifacts], stream)
            except SandboxError:
                self._sandboxes.remove(sandbox)
                await sandbox.close()
                raise
        return sandbox

    def retire(self) -> None:
        """Close the rooms opened so far, since their check is over. Called on the worker thread."""
        if self._sandboxes:
            self._loop.call_soon_threadsafe(self._retire)

    def _retire(self) -> None:
        while self._sandboxes:
            closing = self._loop.create_task(self._sandboxes.pop().close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def call(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the grading loop. Called on the worker thread."""
        if self._closed:
            # The loop may have ended with the rooms, and then a coroutine for it would never be
            # awaited.
            raise VerifierError("the grading is over; its clean rooms are closed")
        return asyncio.run_coroutine_threadsafe(self._guard(make), self._loop).result()

    async def _guard(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise VerifierError("the grading is over; its clean rooms are closed")
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await make()
        finally:
            self._tasks.discard(task)

    def left_s(self) -> float:
        """Seconds left for commands; zero or less if they are used up."""
        return self._until + min(self.waited_s, STARTING_S) - time.monotonic()

    def grant(self, commands_s: float) -> None:
        """Leave at least so many seconds for commands, whatever earlier ones have used up."""
        self._until = max(self._until, time.monotonic() + commands_s)

    async def close(self) -> None:
        """End all running commands and close every room. The rooms answer no more calls."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for start in self._ahead:
            start.cancel()
        unused = await asyncio.gather(*self._ahead, return_exceptions=True)
        self._sandboxes += [room for room in unused if not isinstance(room, BaseException)]
        self._retire()
        await asyncio.gather(*self._closing)


class CleanRoom:
    """The `agentgym.protocols.Room` over one sandbox.

    A room that has run the agent's program may lie: compare its output on the host, and open
    another room for tools that must tell the truth.
    """

    def __init__(self, rooms: CleanRooms, sandbox: Sandbox) -> None:
        self._rooms, self._sandbox = rooms, sandbox

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> ExecResult:
        """Run a command to its end, with only `ENVIRONMENT` and `env` as its environment."""
        left_s = self._rooms.left_s()
        if left_s <= 0:
            return _TIME_USED_UP
        settings = [f"{name}={value}" for name, value in {**ENVIRONMENT, **(env or {})}.items()]
        command = ["/usr/bin/env", "-i", *settings, *argv]
        return self._rooms.call(
            lambda: self._sandbox.exec(
                command, cwd=cwd, stdin=stdin, timeout_s=min(timeout_s, left_s)
            )
        )

    def read(self, path: str) -> bytes:
        """Return a file of the room. Raises GuestFileError."""
        return self._rooms.call(lambda: self._sandbox.read_file(path))

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Put a file of the grader's own into the room."""
        self._rooms.call(lambda: self._sandbox.write_file(path, data, mode=mode))


def artifact_key(artifacts: Sequence[str]) -> tuple[str, ...]:
    """Return artifacts sorted, without duplicates.

    Raises:
        VerifierError: A path is not allowed as an artifact.
    """
    key = tuple(sorted(set(artifacts)))
    for path in key:
        _check_path(path)
    return key


def pack_artifacts(after: FileTree, artifacts: Sequence[str]) -> bytes:
    """Read files, folders and links into a tar archive; links stay links, modes are kept.

    Raises:
        GuestFileError: An artifact is missing or is a special file, or together they exceed
            `ARTIFACT_BYTES` or `ARTIFACT_ENTRIES`.
    """
    stream, entries, left = io.BytesIO(), 0, ARTIFACT_BYTES
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for artifact in artifacts:
            for path, stat in _below(after, artifact):
                entries += 1
                left -= stat.size if stat.kind == "file" else 0
                if entries > ARTIFACT_ENTRIES or left < 0 or len(os.fsencode(path)) > _PATH_BYTES:
                    raise GuestFileError(
                        f"{artifact}: too large to be graded; artifacts may hold "
                        f"{ARTIFACT_BYTES >> 20} MiB in {ARTIFACT_ENTRIES} entries"
                    )
                _add(archive, path, stat, after)
    return stream.getvalue()


def _below(after: FileTree, artifact: str) -> Iterator[tuple[str, FileStat]]:
    """Yield an artifact and everything below it, under its declared name.

    `FileTree.walk` may return real paths. The agent can turn a folder above an artifact into a link
    to anywhere, even ``/usr``, so those paths are not used.
    """
    waiting = [artifact]
    while waiting:
        path = waiting.pop()
        stat = after.stat(path, follow=False)
        if path == artifact and (stat is None or stat.kind == "other"):
            kind = "not there" if stat is None else "neither a file nor a folder"
            raise GuestFileError(f"{artifact}: is {kind}; a check needs it")
        if stat is None or stat.kind == "other":
            continue
        yield path, stat
        if stat.kind == "dir":
            waiting += [f"{path}/{name}" for name in reversed(after.list(path))]


def _add(archive: tarfile.TarFile, path: str, stat: FileStat, after: FileTree) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mode = stat.mode
    seconds, rest = divmod(stat.mtime_s, 1.0)
    set_time(member, int(seconds) * 10**9 + round(rest * 1e9))
    if stat.kind == "file":
        data = after.read(path, max_bytes=stat.size)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
        return
    member.type = tarfile.DIRTYPE if stat.kind == "dir" else tarfile.SYMTYPE
    member.linkname = stat.target
    archive.addfile(member)


def _check_path(path: str) -> None:
    """Refuse artifacts that would replace files which a room's own commands need."""
    if path != "/" + posixpath.normpath(path).strip("/"):
        raise VerifierError(f"artifact {path!r}: expected an absolute path without '.' and '..'")
    if any(_covers(own, path) for own in _OWN_PROGRAMS):
        return
    for trusted in _TRUSTED:
        if _covers(trusted, path) or _covers(path, trusted):
            raise VerifierError(
                f"artifact {path!r} would replace {trusted!r}, which a clean room's commands "
                "rely on; declare the files that the task is about"
            )


def _covers(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


async def _must(sandbox: Sandbox, argv: Sequence[str], stdin: bytes = b"") -> None:
    result = await sandbox.exec(argv, cwd="/", stdin=stdin)
    if result.exit_code != 0:
        said = result.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SandboxError(f"a clean room cannot take its artifacts: {argv[0]}: {said}")
