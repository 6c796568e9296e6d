"""The layout of a state: its tables, the columns that count, and its empty database.

It defines what a ``schema.sql`` may contain. Triggers report every changed row to the function
``agentgym_changed``; they are part of the schema, since creating them anew in each fork would
take longer than the fork.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.errors import ServiceError, close_matches
from agentgym.records import Json, Mark

CHANGED: Final = "agentgym_changed"

UNSTEADY: Final = re.compile(
    r"\bcurrent_(?:time|date|timestamp)\b|\brandom(?:blob)?\s*\(|'now'|\bunixepoch\s*\(\s*\)"
    r"|\b(?:date|time|datetime|julianday)\s*\(\s*\)",
    re.IGNORECASE,
)
"""SQL whose result depends on the time of day or on randomness."""

_ROWIDS: Final = ("rowid", "oid", "_rowid_")

_FREE: Final = re.compile(r"free\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the state.

    Attributes:
        name: ``<service>_<noun>``.
        columns: Every column, in the order of the schema.
        hashed: The columns that count, sorted by name.
        key: Columns of the primary key; empty if only the rowid names a row.
        texts: Columns of free text: their declared type begins with FREE, such as FREE TEXT.
        seen: Columns that other people see as soon as they are written.
        marks: Columns that are 1 while a row asks for attention, and who may clear them.
        computed: Columns computed while another column holds something.
        discarded: Values of the rows that their author has thrown away.
        select_row: SQL for the counting columns of one row, by rowid.
        select_all: SQL for rowid and counting columns of every row.
    """

    name: str
    columns: tuple[str, ...]
    hashed: tuple[str, ...]
    key: tuple[str, ...]
    texts: tuple[str, ...]
    seen: tuple[str, ...]
    marks: Mapping[str, Mark]
    computed: Mapping[str, str]
    discarded: Mapping[str, Json]
    select_row: str
    select_all: str


@dataclass(frozen=True, slots=True)
class View:
    """A view over tables of the state, for reading.

    Attributes:
        name: ``<service>_<noun>``.
        columns: All columns, in the order of the schema.
    """

    name: str
    columns: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Columns by which its rows are sorted: all, because a view has no key."""
        return self.columns


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables and views of all services that share a state, and their empty database."""

    tables: tuple[Table, ...]
    views: tuple[View, ...]
    empty: bytes


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def lay_out(
    schemas: Mapping[str, str],
    volatile: Mapping[str, Sequence[str]],
    seen: Mapping[str, Sequence[str]],
    marks: Mapping[str, Mapping[str, Mark]],
    computed: Mapping[str, Mapping[str, str]],
    discarded: Mapping[str, Mapping[str, Json]],
) -> Layout:
    """Create the tables of all services.

    Args:
        schemas: SQL by service; it creates tables, views and indexes, and may insert rows.
        volatile: Columns by table that no hash includes.
        seen: Columns by table that other people see as soon as they are written.
        marks: Marks by table and column.
        computed: Columns by table that are computed while another column holds something.
        discarded: Values by table and column of the rows that their author has thrown away.

    Raises:
        ServiceError: A schema is not valid SQL, names a table or view outside its service,
            depends on the time of day, or creates a table without rowid or an unreadable view; or a
            column of the other arguments is unknown.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        # SQLite cannot serialise a database to which nothing was ever written.
        connection.execute("PRAGMA user_version = 1")
        for service, sql in schemas.items():
            _create(connection, service, sql)
        tables = tuple(
            _table(
                connection,
                name,
                volatile=volatile.get(name, ()),
                seen=seen.get(name, ()),
                marks=marks.get(name, {}),
                computed=computed.get(name, {}),
                discarded=discarded.get(name, {}),
            )
            for name in _names(connection, "table")
        )
        views = tuple(_view(connection, name) for name in _names(connection, "view"))
        named: dict[str, Mapping[str, Iterable[str]]] = {"volatile": volatile, "seen": seen}
        named |= {"marks": marks, "computed": computed, "discarded": discarded}
        for what, columns in named.items():
            _check_columns(tables, what, columns)
        for number, table in enumerate(tables):
            _report_changes(connection, number, table)
        return Layout(tables, views, connection.serialize())
    finally:
        connection.close()


def _create(connection: sqlite3.Connection, service: str, sql: str) -> None:
    found = UNSTEADY.search(sql)
    if found:
        raise _broken(service, f"{found[0]!r} differs from run to run; pass self.now instead")
    known = _kinds(connection)
    try:
        connection.executescript(sql)
    except sqlite3.Error as error:
        raise _broken(service, str(error)) from error
    for kind, name, made in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind == "trigger":
            raise _broken(service, f"trigger {name!r}: put rules into the methods")
        if made and made.split(None, 2)[1].lower() == "virtual":
            raise _broken(service, f"{name!r} is virtual; expected an ordinary table")
    for name, kind in _kinds(connection).items():
        if name not in known and not name.startswith(f"{service}_"):
            raise _broken(service, f"{kind} {name!r}: expected a name like '{service}_{name}'")


def _kinds(connection: sqlite3.Connection) -> dict[str, str]:
    """Return by name whether it is a table or a view."""
    rows = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return dict(rows.fetchall())


def _names(connection: sqlite3.Connection, kind: str) -> list[str]:
    return [name for name, known in _kinds(connection).items() if known == kind]


def _view(connection: sqlite3.Connection, name: str) -> View:
    try:
        cursor = connection.execute(f"SELECT * FROM {quoted(name)} LIMIT 0")
    except sqlite3.OperationalError as error:
        raise _broken(name, str(error)) from None
    return View(name, tuple(column[0] for column in cursor.description))


def _table(
    connection: sqlite3.Connection,
    name: str,
    *,
    volatile: Sequence[str],
    seen: Sequence[str],
    marks: Mapping[str, Mark],
    computed: Mapping[str, str],
    discarded: Mapping[str, Json],
) -> Table:
    rows = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    columns = tuple(row[1] for row in rows)
    key = tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])
    texts = tuple(row[1] for row in rows if _FREE.match(row[2]))
    if any(row[1].lower() in _ROWIDS for row in rows):
        raise _broken(name, "has a column with the name of SQLite's rowid; choose another")
    try:
        connection.execute(f"SELECT rowid FROM {quoted(name)}")
    except sqlite3.OperationalError:
        raise _broken(
            name, "is WITHOUT ROWID; changes are tracked by rowid, so leave that out"
        ) from None
    hashed = tuple(sorted(set(columns) - set(volatile)))
    if not hashed:
        raise _broken(name, "has only volatile columns; expected one that counts")
    wanted = ", ".join(map(quoted, hashed))
    select_row = f"SELECT {wanted} FROM {quoted(name)} WHERE rowid = ?"
    select_all = f"SELECT rowid, {wanted} FROM {quoted(name)}"
    return Table(
        name,
        columns,
        hashed,
        key,
        texts,
        tuple(seen),
        dict(marks),
        dict(computed),
        dict(discarded),
        select_row,
        select_all,
    )


def _check_columns(tables: Sequence[Table], what: str, named: Mapping[str, Iterable[str]]) -> None:
    columns = {table.name: table.columns for table in tables}
    for name, listed in named.items():
        for column in listed:
            if column not in columns.get(name, ()):
                near = close_matches(column, columns.get(name, ()))
                guess = f"; did you mean {near[0]!r}?" if near else ""
                raise _broken(name, f"{what}: no column named {column!r}{guess}")


def _report_changes(connection: sqlite3.Connection, number: int, table: Table) -> None:
    # A statement that sets only volatile columns, such as the time of the last look, changes
    # nothing that counts. A statement can name the rowid in three ways.
    counting = ", ".join(map(quoted, sorted({*table.hashed, *table.key, *_ROWIDS})))
    for verb, of, rows in (
        ("INSERT", "", "NEW.rowid"),
        ("UPDATE", f"OF {counting}", "OLD.rowid, NEW.rowid"),
        ("DELETE", "", "OLD.rowid"),
    ):
        connection.execute(
            f"CREATE TRIGGER {quoted(f'agentgym_{verb}_{table.name}'.lower())} "
            f"AFTER {verb} {of} ON {quoted(table.name)} "
            f"BEGIN SELECT {CHANGED}({number}, {rows}); END"
        )


def _broken(where: str, what: str) -> ServiceError:
    return ServiceError("internal", f"schema of {where!r}: {what}")
