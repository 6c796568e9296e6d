"""A cache of clean rooms' answers, so that nothing runs twice.

The module owns the rule for a valid answer: the room held the same files, and the same operations
came before it in the same order. Rooms start from sealed files and have no network, so a repeated
run is assumed to give the same answer. A check that must test this opens two rooms.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentgym.protocols import Room
from agentgym.records import ExecResult

_RECENT_S = 3600.0


class RoomCache:
    """Answers of rooms by their history; thread-safe.

    The cache lives for one grading, or in `agentgym task check` for the many episodes of one task.
    """

    def __init__(self) -> None:
        self._answers: dict[str, object] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def turn(self, history: str) -> threading.Lock:
        """Return the lock to hold while asking: a second asker waits for the first's answer."""
        with self._lock:
            return self._turns.setdefault(history, threading.Lock())

    def recall(self, history: str) -> tuple[object, ...]:
        """Return (answer,), or an empty tuple if the answer is not known."""
        with self._lock:
            return (self._answers[history],) if history in self._answers else ()

    def keep(self, history: str, answer: object) -> None:
        """Store an answer."""
        with self._lock:
            self._answers[history] = answer


class CachedRoom:
    """An `agentgym.protocols.Room` that starts only for a question without a cached answer.

    Args:
        cache: The cached answers.
        content: Identifies all initial files of the room.
        open_room: Starts the room; the operations that were answered from the cache run in it
            first.
    """

    def __init__(self, cache: RoomCache, content: str, open_room: Callable[[], Room]) -> None:
        self._cache, self._history, self._open = cache, content, open_room
        self._room: Room | None = None
        self._skipped: list[Callable[[Room], object]] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> ExecResult:
        """Run a command to its end, or return its cached result."""
        argv, env = tuple(argv), dict(env or {})

        def ask(room: Room) -> ExecResult:
            return room.run(argv, cwd=cwd, stdin=stdin, env=env, timeout_s=timeout_s)

        what = ("run", argv, cwd, _digest(stdin), sorted(env.items()), timeout_s)
        # The end of the grading cut it short, so its result says nothing about the command.
        result: ExecResult = self._answer(
            what, ask, lambda seen: not seen.timed_out or seen.duration_s >= 0.9 * timeout_s
        )
        return result

    def read(self, path: str) -> bytes:
        """Return a file of the room. Raises GuestFileError."""
        data: bytes = self._answer(("read", path), lambda room: room.read(path))
        return data

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Put a file of the grader's own into the room."""
        what = ("write", path, _digest(data), mode)
        self._answer(what, lambda room: room.write(path, data, mode=mode))

    def _answer(
        self,
        what: object,
        ask: Callable[[Room], Any],
        holds: Callable[[Any], bool] = lambda seen: True,
    ) -> Any:
        self._history = _digest(f"{self._history} {what!r}".encode())
        with self._cache.turn(self._history):
            if self._room is None and (known := self._cache.recall(self._history)):
                self._skipped.append(ask)
                return known[0]
            seen = ask(self._started())
            if holds(seen):
                self._cache.keep(self._history, seen)
            return seen

    def _started(self) -> Room:
        if self._room is None:
            self._room = self._open()
            for ask in self._skipped:
                ask(self._room)
            self._skipped.clear()
        return self._room


def fingerprint(archive: bytes, now_s: float | None = None) -> str:
    """Return the digest of a tar archive; of times within the last hour, only their order counts.

    Equal episodes run at different times, and programs that compare times ask which is later. An
    older time was set explicitly and is kept as it is.

    Args:
        archive: The content of a room.
        now_s: Present time in seconds since 1970; None for the clock.
    """
    recent_s = (time.time() if now_s is None else now_s) - _RECENT_S
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        members = [(member, _content(opened, member)) for member in opened]
    order = {at: rank for rank, at in enumerate(sorted({member.mtime for member, _ in members}))}
    digest = hashlib.sha256()
    for member, content in members:
        at = ("rank", order[member.mtime]) if member.mtime >= recent_s else ("at", member.mtime)
        what = (member.name, member.type, member.mode, member.linkname, *at, content)
        digest.update(f"{what!r}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = archive.extractfile(member) if member.isfile() else None
    return "" if file is None else _digest(file.read())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
