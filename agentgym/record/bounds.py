"""Bounds a query on a run's database, because the database may come from a stranger.

In a damaged file a query can find one row again and again; a foreign schema can hold views and
triggers that never end. See "Defense Against The Dark Arts" in the SQLite documentation.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym.errors import RecordError

ROWS_BYTES: Final = 256 << 20
"""Largest result of one query, in bytes."""

VALUE_BYTES: Final = 32 << 20
"""Largest value in bytes; larger ones are blobs, and the database holds their names."""

_ROW_BYTES: Final = 16
_SLACK_BYTES: Final = 16 << 20
"""Bytes that a query may return beyond the file's size: the newest steps are still in the log."""

_WORK: Final = 10_000_000
_WORK_A_BYTE: Final = 10
_LOOK_EVERY: Final = 1_000_000
_FILL: Final = 16
"""Largest ratio of a sound file's content to its blocks on a compressing file system."""

# Features of SQLite that a hostile file could otherwise use.
DEFENCES: Final = """
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA cache_size = -8192;
"""

SchemaEntry = tuple[str, str, str]
"""Type, name and text of a table or an index."""


@dataclass(slots=True)
class Spent:
    """The work and the size of the results of queries that read one table in parts.

    Attributes:
        work: Instructions of SQLite's virtual machine, about.
        size: Bytes of the rows that they have returned.
    """

    work: int = 0
    size: int = 0


class QueryBounds:
    """Bounds the work and the results of a connection's statements.

    Args:
        connection: Connection to the database; its limits are set.
        path: Path of the database, for messages and for its size.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._path = path
        self._spent = Spent()
        self._allowed = 0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        connection.set_progress_handler(self._look, _LOOK_EVERY)

    def begin(self, spent: Spent | None = None) -> None:
        """Begin a statement; it adds to what the statements before it have spent, if any."""
        self._spent = spent or Spent()

    @property
    def exceeded(self) -> bool:
        """Whether the last statement was ended because it did more work than a sound file needs."""
        return 0 < self._allowed < self._spent.work

    def collect(self, rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
        """Return the rows of a query.

        Raises:
            RecordError: The rows are too large.
        """
        found: list[sqlite3.Row] = []
        size, allowed, spent = 0, _SLACK_BYTES, self._spent
        for row in rows:
            taken = _ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
            size, spent.size = size + taken, spent.size + taken
            if spent.size > allowed:
                # No queries that belong together return a part of the file twice.
                allowed = _SLACK_BYTES + 2 * self._size()
            if spent.size > allowed or size > ROWS_BYTES:
                most = min(allowed, ROWS_BYTES)
                raise RecordError(
                    f"{self._path} is damaged: a query returns more than {most} bytes"
                )
            found.append(row)
        return found

    def _look(self) -> bool:
        self._spent.work += _LOOK_EVERY
        if self._spent.work > self._allowed:
            self._allowed = _WORK + _WORK_A_BYTE * self._size()
        return self._spent.work > self._allowed

    def _size(self) -> int:
        """Return the size of the database in bytes, without the holes of a sparse file."""
        log = self._path.with_name(f"{self._path.name}-wal")
        files = [path.stat() for path in (self._path, log) if path.exists()]
        return sum(min(file.st_size, file.st_blocks * 512 * _FILL) for file in files)


@functools.cache
def schema_made_by(script: str) -> frozenset[SchemaEntry]:
    """Return all schema entries that a script creates."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset(map(schema_entry, rows))


def schema_entry(row: Iterable[object]) -> SchemaEntry:
    """Return a row of the schema in comparable form: without blanks and comments."""
    kind, name, sql = row
    text = " ".join(re.sub(r"--[^\n]*", "", sql).split()) if isinstance(sql, str) else ""
    return str(kind)[:20], str(name)[:60], text
