"""Evidence without a sandbox: files, steps and services that a test or a known case lists.

`MemoryTree` is a complete FileTree over a mapping: what a check sees in it, it sees in a
snapshot with the same files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentgym.errors import GuestFileError, UnsupportedError
from agentgym.protocols import READ_BYTES, Judge, Room
from agentgym.records import (
    Actor,
    Change,
    ChangeKind,
    Connection,
    FileStat,
    Json,
    Process,
    Step,
    WebRequest,
)
from agentgym.services.backend import Backend, ServiceSet
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.service_state import ServicesSeen

_MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class File:
    """A regular file of a `MemoryTree`."""

    data: bytes
    mode: int = 0o644
    mtime_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory of a `MemoryTree`; needed only if it is empty or its mode matters."""

    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link of a `MemoryTree`."""

    target: str


@dataclass(frozen=True, slots=True)
class Device:
    """An entry that is not a file, directory or link, such as a FIFO."""

    mode: int = 0o644


Entry: TypeAlias = File | Folder | Link | Device


class MemoryTree:
    """A FileTree over a mapping from absolute paths to entries.

    Args:
        entries: Text and bytes become files of mode 0644; missing parents are created.

    Example:
        >>> MemoryTree({"/srv/a": "hi", "/srv/b": Link("a")}).read("/srv/b")
        b'hi'
    """

    def __init__(self, entries: Mapping[str, Entry | bytes | str]) -> None:
        self.entries: dict[str, Entry] = {"/": Folder()}
        self._names: dict[str, list[str]] = {}
        for path, entry in entries.items():
            if isinstance(entry, str):
                entry = entry.encode()
            self.entries[path] = File(entry) if isinstance(entry, bytes) else entry
            parent = posixpath.dirname(path)
            while parent not in self.entries:
                self.entries[parent] = Folder()
                parent = posixpath.dirname(parent)
        for path in sorted(self.entries.keys() - {"/"}):
            self._names.setdefault(posixpath.dirname(path), []).append(posixpath.basename(path))

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return the entry at a path, or None if the path does not exist."""
        entry = self.entries.get(self._real(path, follow))
        match entry:
            case None:
                return None
            case File(data, mode, mtime_s):
                return FileStat("file", mode, len(data), mtime_s=mtime_s, ctime_s=mtime_s)
            case Folder(mode):
                return FileStat("dir", mode)
            case Link(target):
                return FileStat("link", 0o777, target=target)
            case Device(mode):
                return FileStat("other", mode)

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes."""
        entry = self.entries.get(self._real(path, follow=True))
        if entry is None:
            raise GuestFileError(f"{path}: No such file or directory")
        if not isinstance(entry, File):
            raise GuestFileError(f"{path}: is not a regular file")
        if len(entry.data) > max_bytes:
            raise GuestFileError(f"{path}: has {len(entry.data)} bytes, more than {max_bytes}")
        return entry.data

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        real = self._real(path, follow=True)
        if not isinstance(self.entries.get(real), Folder):
            raise GuestFileError(f"{path}: is not a directory")
        return self._names.get(real, [])

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        base = self._real(path, follow=True).rstrip("/")
        for name in self.list(path):
            child = f"{base}/{name}"
            stat = self.stat(child, follow=False)
            assert stat is not None
            yield child, stat
            if stat.kind == "dir":
                yield from self.walk(child)

    def _real(self, path: str, follow: bool) -> str:
        """Resolve links inside the root; return an empty string for a loop."""
        todo = [part for part in path.split("/") if part not in ("", ".")]
        real, links = "/", 0
        while todo:
            name = todo.pop(0)
            if name == "..":
                real = posixpath.dirname(real)
                continue
            here = posixpath.join(real, name)
            entry = self.entries.get(here)
            if isinstance(entry, Link) and (todo or follow):
                links += 1
                if links > _MAX_LINKS:
                    return ""
                todo = [p for p in entry.target.split("/") if p not in ("", ".")] + todo
                real = "/" if entry.target.startswith("/") else real
            else:
                real = here
        return real


def tree_changes(before: MemoryTree, after: MemoryTree) -> list[Change]:
    """List the paths that differ, sorted, as a sandbox would."""
    changes = []
    for path in sorted(before.entries.keys() | after.entries.keys()):
        old, new = before.entries.get(path), after.entries.get(path)
        if old is None or new is None:
            changes.append(Change(path, ChangeKind.DELETED if new is None else ChangeKind.ADDED))
        elif old != new:
            changes.append(Change(path, ChangeKind.MODIFIED))
    return changes


def evidence(
    after: Mapping[str, Entry | bytes | str],
    before: Mapping[str, Entry | bytes | str] | None = None,
    *,
    params: Mapping[str, Json] | None = None,
    gold: Mapping[str, bytes] | None = None,
    steps: Sequence[Step] = (),
    answer: str | None = None,
    gave_up: str | None = None,
    processes: Sequence[Process] = (),
    connections: Sequence[Connection] = (),
    killed_for_memory: int | None = None,
    requests: Sequence[WebRequest] = (),
    page_state: Mapping[str, Json] | None = None,
    judge: Judge | None = None,
    services: ServicesSeen | None = None,
) -> EpisodeEvidence:
    """Return the evidence of an episode that began with `before` and ended with `after`.

    It has no clean room, since a check that executes something needs a sandbox. It has a judge and
    services (see `play_services`) only if they are given.

    Example:
        >>> seen = evidence({"/srv/report.txt": "10.0.0.7"}, gold={"ip": b"10.0.0.7"})
        >>> seen.after.read("/srv/report.txt") == seen.gold("ip")
        True
    """
    start, end = MemoryTree(before or {}), MemoryTree(after)
    return EpisodeEvidence(
        task="test/checks-v1",
        seed=0,
        params=params or {},
        steps=steps,
        answer=answer,
        gave_up=gave_up,
        before=start,
        after=end,
        changes=tree_changes(start, end),
        processes=processes,
        connections=connections,
        gold_files=gold or {},
        open_room=_no_room,
        killed_for_memory=killed_for_memory,
        requests=requests,
        page_state=page_state or {},
        judge_with=judge,
        services=services,
    )


def play_services(
    services: ServiceSet,
    calls: Sequence[tuple[Actor, str, Mapping[str, Json]]],
    rows: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> ServicesSeen:
    """Return the state and the audit of services after some calls, which are really made.

    Args:
        services: The service folder, as `agentgym.services.find_services` finds it.
        calls: Actor, tool and arguments of each call; a call may be refused.
        rows: Rows that the setup adds to the data of seed 1, by table.

    Raises:
        ServiceError: A row cannot be added.
    """
    backend = Backend(services, services.template(1))
    try:
        with backend.amend("setup", "setup") as database:
            for table, some in (rows or {}).items():
                for row in some:
                    database.insert(table, **row)
        before = backend.snapshot()
        live = Backend(services, before)
        try:
            for actor, tool, arguments in calls:
                live.call(tool, arguments, actor)
            after, audit = live.snapshot(), tuple(live.audit)
        finally:
            live.close()
    finally:
        backend.close()
    return ServicesSeen(before, lambda: after, audit)


def _no_room(artifacts: tuple[str, ...], shared: bool) -> Room:
    raise UnsupportedError("this evidence was made from mappings; a clean room needs a sandbox")
