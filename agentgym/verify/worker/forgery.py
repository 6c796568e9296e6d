"""Forged evidence, as a hostile agent would leave it: files, answers, rows and output.

A check runs first on true evidence, to learn which paths it reads. Then each path is emptied,
replaced, retyped or made huge or deep, and the check runs again. A sound check always returns a
result.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agentgym.errors import GuestFileError, VerifierError
from agentgym.protocols import READ_BYTES, FileTree, Tables
from agentgym.records import Change, ChangeKind, ExecResult, FileStat, Json, TableSchema
from agentgym.verify.checking import blame_grader

MOST_PATHS = 6
_DEEP = 50_000
_NAMES = 20_000


@functools.cache
def _contents() -> Mapping[str, bytes]:
    """Return contents of files by name; they take 5 MB, and most processes forge nothing."""
    return {
        "empty": b"",
        "blanks": b" \n\t\n" * 500,
        "NUL bytes": b"\0" * 5_000,
        "no UTF-8": b"\xff\xfe\xed\xa0\x80" * 500,
        "[]": b"[]",
        "null": b"null",
        "5.0": b"5.0",
        "NaN": b"NaN",
        "a long number": b"9" * 5_000,
        "deep lists": b"[" * 2 * _DEEP,
        "deep objects": b'{"a":' * _DEEP,
        "one huge line": b"a" * (READ_BYTES - 1),
        "a huge line of blanks": b" " * (READ_BYTES // 4) + b"x",
        "very many lines": b"a,b\n" * (READ_BYTES // 8),
    }


def retyped(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a text with its values converted to other types."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        lines = text.splitlines()
        yield "cut in half", data[: len(data) // 2]
        yield "lines doubled", "".join(f"{line}\n{line}\n" for line in lines).encode()
        yield "no separators", text.replace(",", " ").replace("=", " ").replace(":", " ").encode()
        yield "only separators", "".join(",=:;\n" for _ in lines).encode()
        yield "numbers as 5.0", "".join("5.0" if c.isdigit() else c for c in text).encode()
        return
    for name, alter in _ALTER.items():
        yield name, json.dumps(_mapped(value, alter)).encode()


def _mapped(value: Any, alter: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(inner, alter) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, alter) for inner in value]
    return alter(value)


_ALTER: Mapping[str, Callable[[Any], Any]] = {
    "numbers as texts": lambda value: str(value) if isinstance(value, (int, float)) else value,
    "texts as numbers": lambda value: 7 if isinstance(value, str) else value,
    "values as null": lambda value: None,
    "values as lists": lambda value: [value],
    "values as objects": lambda value: {"value": value},
    "long numbers": lambda value: 10**400 if isinstance(value, int) else value,
}


@dataclass(eq=False)
class WatchedTree:
    """A tree that notes which paths are read."""

    tree: FileTree
    seen: dict[str, None] = field(default_factory=dict)

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path."""
        self.seen[path] = None
        return self.tree.stat(path, follow=follow)

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a file's bytes."""
        self.seen[path] = None
        return self.tree.read(path, max_bytes=max_bytes)

    def list(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""
        self.seen[path] = None
        return self.tree.list(path)

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield what is below a directory."""
        self.seen[path] = None
        for child, stat in self.tree.walk(path):
            if stat.kind == "file" and len(self.seen) < MOST_PATHS:
                self.seen[child] = None
            yield child, stat


@dataclass(eq=False)
class ForgedTree:
    """A tree with one path replaced."""

    tree: FileTree
    path: str
    kind: str
    data: bytes = b""

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path."""
        if path != self.path:
            return None if self._is_below(path) else self.tree.stat(path, follow=follow)
        if self.kind == "absent" or (self.kind == "link" and follow):
            return None
        return FileStat(self.kind, 0o644, len(self.data), self.path, 0.0)

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a file's bytes."""
        if self._is_below(path):
            raise GuestFileError(f"{path}: Not a directory")
        if path != self.path:
            return self.tree.read(path, max_bytes=max_bytes)
        if self.kind != "file":
            raise GuestFileError(f"{path}: is a {self.kind}")
        if len(self.data) > max_bytes:
            raise GuestFileError(f"{path}: {len(self.data)} bytes, over the {max_bytes} allowed")
        return self.data

    def list(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""
        if path == self.path and self.kind == "dir":
            return []
        if path == self.path or self._is_below(path):
            raise GuestFileError(f"{path}: Not a directory")
        return self.tree.list(path)

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield what is below a directory."""
        if path == self.path or self._is_below(path):
            if self.kind == "dir":
                return
            raise GuestFileError(f"{path}: Not a directory")
        for child, stat in self.tree.walk(path):
            if child == self.path:
                forged = self.stat(child, follow=False)
                if forged is not None:
                    yield child, forged
            elif not self._is_below(child):
                yield child, stat

    def _is_below(self, path: str) -> bool:
        return path.startswith(f"{self.path.rstrip('/')}/")


@dataclass(frozen=True)
class ForgedTables:
    """Rows whose values are altered."""

    tables: Tables
    alter: Callable[[Any], Any]

    def rows(self, table: str, **where: Json) -> list[dict[str, Json]]:
        """Return the rows of a table."""
        found = self.tables.rows(table, **where)
        return [{name: self.alter(value) for name, value in row.items()} for row in found]

    def one(self, table: str, **where: Json) -> dict[str, Json] | None:
        """Return the only such row."""
        found = self.tables.one(table, **where)
        return found and {name: self.alter(value) for name, value in found.items()}

    def names(self) -> Sequence[str]:
        """Return the names of the tables."""
        return self.tables.names()

    def columns(self, table: str) -> Sequence[str]:
        """Return the columns of a table."""
        return self.tables.columns(table)

    def schema(self, table: str) -> TableSchema:
        """Return what the services say about a table."""
        return self.tables.schema(table)

    def at(self, table: str, rowid: int) -> dict[str, Json] | None:
        """Return the row with a rowid."""
        found = self.tables.at(table, rowid)
        return found and {name: self.alter(value) for name, value in found.items()}


_ROWS: Mapping[str, Callable[[Any], Any]] = {
    "rows with empty texts": lambda value: "" if isinstance(value, str) else value,
    "rows with huge texts": lambda value: value * 2_000 if isinstance(value, str) else value,
    "rows with blanks": lambda value: " \n" if isinstance(value, str) else value,
    "rows with other numbers": lambda value: -(2**62) if isinstance(value, int) else value,
}


@dataclass(frozen=True)
class ForgedRoom:
    """A clean room in which every program prints the same; with None no program runs."""

    said: bytes | None

    def run(self, argv: Sequence[str], **options: object) -> ExecResult:
        """Return the same output for every command. Raises GuestFileError."""
        return ExecResult(0, self._text())

    def read(self, path: str) -> bytes:
        """Return the same bytes for every file. Raises GuestFileError."""
        return self._text()

    def _text(self) -> bytes:
        if self.said is None:
            raise GuestFileError("nothing is executed over forged evidence")
        return self.said

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Do nothing."""


class ForgedEvidence:
    """Evidence with some parts replaced."""

    def __init__(self, evidence: object, said: bytes | None, **replaced: object) -> None:
        self._evidence, self._said = evidence, said
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evidence, name)

    def room(self, artifacts: Sequence[str] = (), *, shared: bool = False) -> ForgedRoom:
        """Open no room: no program is run."""
        return ForgedRoom(self._said)

    def judge(self, *asked: object, **options: object) -> None:
        """Refuse: no judge is asked."""
        raise blame_grader(VerifierError("no judge is asked about forged evidence"))


Forgery: TypeAlias = tuple[str, Callable[[], object]]


def forgeries(evidence: Any, check: Callable[[object], object], programs: bool) -> list[Forgery]:
    """Return forgeries of evidence by name; each is made when it is called.

    Args:
        evidence: The true evidence.
        check: Runs the check; the files that it reads are forged.
        programs: Whether the output of programs in clean rooms is forged too. Without it a check
            ends when it runs a program; an agent can often not change the output of its programs.
    """
    watched = WatchedTree(evidence.after)
    quiet = b"" if programs else None
    check(ForgedEvidence(evidence, quiet, after=watched))
    found: list[Forgery] = []

    def add(name: str, said: bytes | None = quiet, **replaced: object) -> None:
        found.append((name, lambda: ForgedEvidence(evidence, said, **replaced)))

    for path in list(watched.seen)[:MOST_PATHS]:
        for kind in ("absent", "dir", "link", "other"):
            add(f"{path}: {kind}", after=ForgedTree(evidence.after, path, kind))
        for name, data in [*_contents().items(), *_retyped_file(evidence.after, path)]:
            add(f"{path}: {name}", after=ForgedTree(evidence.after, path, "file", data))
    for name, data in _contents().items():
        if programs:
            add(f"a program prints: {name}", data)
        add(f"the answer: {name}", answer=data.decode("utf-8", "replace"))
    add("no answer", answer=None)
    add("no steps", steps=())
    add("no processes", processes=())
    add("no changes", changes=())
    deep = "/d" * 1_500
    many = [Change(f"{deep}/{number}", ChangeKind.ADDED) for number in range(500)]
    many += [Change(f"/srv/{number}", ChangeKind.ADDED) for number in range(_NAMES)]
    add("very many changes, some of them deep", changes=many)
    if getattr(evidence, "has_services", False):
        for name, alter in _ROWS.items():
            add(name, tables_after=ForgedTables(evidence.tables_after, alter))
        add("no calls", calls=())
    return found


def _retyped_file(tree: FileTree, path: str) -> list[tuple[str, bytes]]:
    try:
        return list(retyped(tree.read(path)))
    except GuestFileError:
        return []
