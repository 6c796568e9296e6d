"""Read-only access to the rows of a snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from agentgym.errors import NotFoundError, VerifierError
from agentgym.records import Json, TableSchema
from agentgym.services.layout import Layout, Table, View, quoted
from agentgym.services.state import Snapshot


def select(layout: Layout, table: str, columns: Sequence[str]) -> str:
    """Return the SQL for the rows of a table or view in which columns have given values.

    Args:
        layout: Tables and views of the state.
        table: Name of one of them.
        columns: Columns whose values are the parameters, in this order.

    Raises:
        NotFoundError: The state has no such table, view or column.
    """
    known = _table(layout, table)
    for column in columns:
        if column not in known.columns:
            raise NotFoundError(f"column of {table}", column, known.columns)
    conditions = " AND ".join(f"{quoted(column)} IS ?" for column in columns) or "1"
    order = ", ".join(map(quoted, known.key)) or "rowid"
    return f"SELECT * FROM {quoted(table)} WHERE {conditions} ORDER BY {order}"


def _table(layout: Layout, name: str) -> Table | View:
    tables: dict[str, Table | View] = {view.name: view for view in layout.views}
    tables |= {table.name: table for table in layout.tables}
    if name not in tables:
        raise NotFoundError("table", name, tables)
    return tables[name]


class SnapshotTables:
    """The `agentgym.protocols.Tables` of a snapshot; it opens the database on first use.

    Args:
        snapshot: The state.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._opened: sqlite3.Connection | None = None

    def names(self) -> Sequence[str]:
        """Return the names of the tables, without the views over them."""
        return [table.name for table in self._snapshot.layout.tables]

    def columns(self, table: str) -> Sequence[str]:
        """Return the names of the columns of a table or view.

        Raises:
            VerifierError: The state has no such table or view.
        """
        try:
            return list(_table(self._snapshot.layout, table).columns)
        except NotFoundError as error:
            raise VerifierError(str(error)) from None

    def schema(self, table: str) -> TableSchema:
        """Return what the services say about a table or view.

        Raises:
            VerifierError: The state has no such table or view.
        """
        try:
            known = _table(self._snapshot.layout, table)
        except NotFoundError as error:
            raise VerifierError(str(error)) from None
        if isinstance(known, View):
            return TableSchema(known.columns)
        return TableSchema(
            known.columns,
            known.key,
            known.texts,
            known.seen,
            known.marks,
            known.computed,
            known.discarded,
        )

    def at(self, table: str, rowid: int) -> dict[str, Json] | None:
        """Return the row with a rowid; None if it does not exist.

        Raises:
            VerifierError: The state has no such table.
        """
        try:
            known = _table(self._snapshot.layout, table)
        except NotFoundError as error:
            raise VerifierError(str(error)) from None
        sql = f"SELECT * FROM {quoted(known.name)} WHERE rowid = ?"
        found = self._connection().execute(sql, (rowid,)).fetchone()
        return None if found is None else dict(zip(known.columns, found, strict=True))

    def rows(self, table: str, **where: Json) -> list[dict[str, Json]]:
        """Return the rows of a table or view whose columns have these values.

        They are sorted by the primary key of a table, or else by all columns of a view.

        Raises:
            VerifierError: The state has no such table or column.
        """
        try:
            sql = select(self._snapshot.layout, table, list(where))
        except NotFoundError as error:
            raise VerifierError(str(error)) from None
        values: list[Any] = list(where.values())
        try:
            cursor = self._connection().execute(sql, values)
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError, OverflowError) as error:
            raise VerifierError(f"{table}: expected plain values, got {where}: {error}") from None
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def one(self, table: str, **where: Json) -> dict[str, Json] | None:
        """Return the only matching row; None if no row matches.

        Raises:
            VerifierError: Several rows match, or the table or column does not exist.
        """
        found = self.rows(table, **where)
        if len(found) > 1:
            raise VerifierError(f"{table}: expected one row where {where}, got {len(found)}")
        return found[0] if found else None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            # Checks run on a thread of their own, one after the other.
            opened = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            opened.deserialize(self._snapshot.data)
            self._opened = opened
        return self._opened
