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


class QueryBounds:
    """Bounds the work and the results of a connection's statements.

    Args:
        connection: Connection to the database; its limits are set.
        path: Path of the database, for messages and for its size.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._path = path
        self._work = 0
        self._allowed = 0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        connection.set_progress_handler(self._look, _LOOK_EVERY)

    def begin(self) -> None:
        """Reset the count of work for a new statement."""
        self._work = 0

    @property
    def exceeded(self) -> bool:
        """Whether the last statement was ended because it did more work than a sound file needs."""
        return 0 < self._allowed < self._work

    def collect(self, rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
        """Return the rows of a query.

        Raises:
            RecordError: The rows are too large.
        """
        found: list[sqlite3.Row] = []
        size, allowed = 0, min(_SLACK_BYTES, ROWS_BYTES)
        for row in rows:
            size += _ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
            if size > allowed:
                # No query returns a part of the file twice.
                allowed = min(ROWS_BYTES, _SLACK_BYTES + 2 * self._size())
            if size > allowed:
                raise RecordError(
                    f"{self._path} is damaged: a query returns more than {allowed} bytes"
                )
            found.append(row)
        return found

    def _look(self) -> bool:
        self._work += _LOOK_EVERY
        if self._work > self._allowed:
            self._allowed = _WORK + _WORK_A_BYTE * self._size()
        return self._work > self._allowed

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
