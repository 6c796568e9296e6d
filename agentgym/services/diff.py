"""Differences between two states, row by row, in a form for people."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from agentgym.records import RowChange
from agentgym.services.layout import Table, quoted
from agentgym.services.state import Snapshot

_Key: TypeAlias = tuple[Any, ...]
_Row: TypeAlias = tuple[int | None, Mapping[str, Any] | None]
_NO_ROW: Final[_Row] = (None, None)
"""Rowid and columns of a missing row."""


def diff(before: Snapshot, after: Snapshot) -> tuple[RowChange, ...]:
    """Return the rows that differ, by table and key. Volatile columns are ignored.

    Args:
        before: The earlier state.
        after: A later one of the same services.
    """
    changes: list[RowChange] = []
    was, now = before.index.tables(), after.index.tables()
    tables = [table for table in before.layout.tables if was[table.name] != now[table.name]]
    if not tables:
        return ()
    with _opened(before, after) as both:
        for table in tables:
            old, new = _read(both, table, "main", "later"), _read(both, table, "later", "main")
            changes += _compare(table, old, new)
    return tuple(changes)


def _compare(
    table: Table, old: Mapping[_Key, _Row], new: Mapping[_Key, _Row]
) -> Iterator[RowChange]:
    for key in sorted(old.keys() | new.keys(), key=_order):
        (was, a), (at, b) = old.get(key, _NO_ROW), new.get(key, _NO_ROW)
        rowids = tuple(dict.fromkeys(one for one in (was, at) if one is not None))
        if a is None:
            assert b is not None
            yield RowChange(table.name, key, "added", None, b, b, rowids)
        elif b is None:
            yield RowChange(table.name, key, "removed", a, None, a, rowids)
        elif a != b:
            columns = [column for column in a if a[column] != b[column]]
            before, after = ({column: row[column] for column in columns} for row in (a, b))
            yield RowChange(table.name, key, "changed", before, after, b, rowids)


def _read(connection: sqlite3.Connection, table: Table, here: str, there: str) -> dict[_Key, _Row]:
    """Return the rows of a table in one database that have no equal in the other."""
    shown = [column for column in table.columns if column in table.hashed]
    key = table.key or ("rowid",)
    names = ", ".join(f"one.{quoted(name)}" for name in ("rowid", *shown, *key))
    # The key by the table's own collation finds the row in the index; equal means byte by byte.
    equal = [f"other.{quoted(name)} IS one.{quoted(name)}" for name in key]
    equal += [
        f"other.{quoted(name)} IS one.{quoted(name)} COLLATE BINARY" for name in (*key, *shown)
    ]
    rows = connection.execute(
        f"SELECT {names} FROM {here}.{quoted(table.name)} AS one WHERE NOT EXISTS "
        f"(SELECT 1 FROM {there}.{quoted(table.name)} AS other WHERE {' AND '.join(equal)})"
    )
    end = 1 + len(shown)
    return {row[end:]: (row[0], dict(zip(shown, row[1:end], strict=True))) for row in rows}


@contextmanager
def _opened(before: Snapshot, after: Snapshot) -> Iterator[sqlite3.Connection]:
    """Open two states in one connection, as the databases `main` and `later`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(before.data)
        connection.execute("ATTACH ':memory:' AS later")
        connection.deserialize(after.data, name="later")
        yield connection
    finally:
        connection.close()


def _order(key: tuple[Any, ...]) -> list[tuple[str, Any]]:
    # Keys of one table may mix types, as SQLite's columns do.
    return [(type(part).__name__, repr(part) if part is None else part) for part in key]
