"""What differs between two states, row by row, as a person would tell it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentgym.records import RowChange
from agentgym.services.layout import Table, quoted
from agentgym.services.state import Snapshot


def diff(before: Snapshot, after: Snapshot) -> tuple[RowChange, ...]:
    """Return the rows that differ, by table and key. Volatile columns are not looked at.

    Args:
        before: The earlier state.
        after: A later one of the same services.
    """
    changes: list[RowChange] = []
    with _opened(before) as old, _opened(after) as new:
        for table in before.layout.tables:
            if before.index.tables()[table.name] != after.index.tables()[table.name]:
                changes += _compare(table, _read(old, table), _read(new, table))
    return tuple(changes)


def _compare(
    table: Table, old: dict[tuple[Any, ...], Any], new: dict[tuple[Any, ...], Any]
) -> Iterator[RowChange]:
    for key in sorted(old.keys() | new.keys(), key=_order):
        a, b = old.get(key), new.get(key)
        if a is None:
            yield RowChange(table.name, key, "added", None, b)
        elif b is None:
            yield RowChange(table.name, key, "removed", a, None)
        elif a != b:
            columns = [column for column in a if a[column] != b[column]]
            yield RowChange(
                table.name,
                key,
                "changed",
                {column: a[column] for column in columns},
                {column: b[column] for column in columns},
            )


def _read(connection: sqlite3.Connection, table: Table) -> dict[tuple[Any, ...], Any]:
    shown = [column for column in table.columns if column in table.hashed]
    names = ", ".join(map(quoted, (*shown, *(table.key or ("rowid",)))))
    rows = connection.execute(f"SELECT {names} FROM {quoted(table.name)}")
    return {row[len(shown) :]: dict(zip(shown, row[: len(shown)], strict=True)) for row in rows}


@contextmanager
def _opened(snapshot: Snapshot) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(snapshot.data)
        yield connection
    finally:
        connection.close()


def _order(key: tuple[Any, ...]) -> list[tuple[str, Any]]:
    # Keys of one table may mix types, as SQLite's columns do.
    return [(type(part).__name__, repr(part) if part is None else part) for part in key]
