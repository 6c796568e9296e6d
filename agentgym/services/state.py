"""The state of services: one SQLite database in memory, its hash, snapshots and forks.

Snapshots are SQLite's own serialised form, so taking or restoring one copies some hundred
kilobytes, whatever happened before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from agentgym.errors import ServiceError
from agentgym.services.budget import STEPS_AT_A_TIME
from agentgym.services.hashing import RowPatch, StateHash, row_digest
from agentgym.services.layout import CHANGED, UNSTEADY, Layout, quoted

Value: TypeAlias = None | int | float | str | bytes

_VERBS: Final = ("select", "insert", "update", "delete", "replace", "with")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state that can be restored; ``bytes(snapshot)`` is a SQLite database.

    Attributes:
        data: The database.
        now: Time of the state's clock, ISO 8601 in UTC.
        layout: The tables in it.
        index: The digests of its rows.
    """

    data: bytes = field(repr=False)
    now: str
    layout: Layout = field(repr=False)
    index: StateHash = field(repr=False, compare=False)

    def __bytes__(self) -> bytes:
        return self.data

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        return str(self.index)

    def to_read(self) -> Snapshot:
        """Return the state for a reader, who needs no digests of rows."""
        return replace(self, index=self.index.sums())


class Rows:
    """A service's access to the database: statements on rows, and nothing else.

    Schema changes, transactions and pragmas are refused, and so is SQL whose result differs
    from run to run. Values are passed as parameters.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: set[str] = set()
        self._names: dict[str, list[str]] = {}

    def execute(self, sql: str, *values: Value) -> sqlite3.Cursor:
        """Run one statement with values for its ``?``.

        Raises:
            ServiceError: A number exceeds 64 bits, or the statement is of a refused kind.
        """
        if sql not in self._known:
            self._check(sql)
        try:
            return self._connection.execute(sql, values)
        except OverflowError:
            raise ServiceError(
                "invalid", "a number is beyond 64 bits; expected a smaller one"
            ) from None

    def all(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """Return every row as a dict of its columns."""
        cursor = self.execute(sql, *values)
        names = self._columns(sql, cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def one(self, sql: str, *values: Value) -> dict[str, Any] | None:
        """Return the first row as a dict; None if the result is empty."""
        cursor = self.execute(sql, *values)
        row = cursor.fetchone()
        names = self._columns(sql, cursor)
        cursor.close()
        return None if row is None else dict(zip(names, row, strict=True))

    def value(self, sql: str, *values: Value) -> Any:
        """Return the first column of the first row; None if the result is empty."""
        cursor = self.execute(sql, *values)
        row = cursor.fetchone()
        cursor.close()
        return None if row is None else row[0]

    def column(self, sql: str, *values: Value) -> list[Any]:
        """Return the first column of every row."""
        return [row[0] for row in self.execute(sql, *values)]

    def insert(self, table: str, **values: Value) -> int:
        """Add a row and return its rowid."""
        names, marks = ", ".join(map(quoted, values)), ", ".join("?" * len(values))
        sql = f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})"
        rowid = self.execute(sql, *values.values()).lastrowid
        assert rowid is not None
        return rowid

    def _columns(self, sql: str, cursor: sqlite3.Cursor) -> list[str]:
        names = self._names.get(sql)
        if names is None:
            names = self._names[sql] = [column[0] for column in cursor.description]
        return names

    def _check(self, sql: str) -> None:
        words = sql.split(None, 1)
        if not words or words[0].lower() not in _VERBS:
            raise ServiceError(
                "internal", f"a service's SQL begins with {', '.join(_VERBS)}; got {sql[:60]!r}"
            )
        if found := UNSTEADY.search(sql):
            raise ServiceError(
                "internal", f"SQL: {found[0]!r} differs from run to run; pass self.now instead"
            )
        self._known.add(sql)


class State:
    """A live database.

    Args:
        snapshot: Initial state.
        step: Called every `STEPS_AT_A_TIME` steps of a statement; True interrupts it.
        most_bytes: Largest size of the database.

    Attributes:
        rows: The services' access to it.
    """

    def __init__(self, snapshot: Snapshot, step: Callable[[], bool], most_bytes: int) -> None:
        self.layout = snapshot.layout
        self._step, self._most_bytes = step, most_bytes
        self._index = snapshot.index.copy()
        self._connection, self._noted = _open(snapshot, step, most_bytes)
        self.rows = Rows(self._connection)

    @property
    def hash(self) -> str:
        """Hash of the committed state, 64 hex digits."""
        return str(self._index)

    def begin(self) -> None:
        """Open the transaction of one call."""
        self._noted.clear()
        self._connection.execute("BEGIN")

    def patches(self) -> list[RowPatch]:
        """Return the rows that the open transaction has changed in columns that the hash covers."""
        if not self._noted:
            return []
        connection, tables = self._connection, self.layout.tables
        return self._index.compare(
            {
                key: connection.execute(tables[key[0]].select_row, (key[1],)).fetchone()
                for key in dict.fromkeys(self._noted)
            }
        )

    def commit(self, patches: list[RowPatch]) -> None:
        """Commit the transaction."""
        self._connection.execute("COMMIT")
        self._index.apply(patches)

    def rollback(self) -> None:
        """Undo the transaction."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def snapshot(self, now: str) -> Snapshot:
        """Return the committed state."""
        return Snapshot(self._connection.serialize(), now, self.layout, self._index.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the state by a snapshot."""
        connection, noted = _open(snapshot, self._step, self._most_bytes)
        self.close()
        self._connection, self._noted = connection, noted
        self._index = snapshot.index.copy()
        self.rows = Rows(connection)

    def interrupt(self) -> None:
        """Interrupt the statement that another thread runs."""
        self._connection.interrupt()

    def close(self) -> None:
        """Release the memory."""
        self._connection.close()


def hash_from_scratch(layout: Layout, data: bytes) -> StateHash:
    """Read every row of a database and return its index."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(data)
        return StateHash(
            [table.name for table in layout.tables],
            {
                (number, row[0]): row_digest(row[1:])
                for number, table in enumerate(layout.tables)
                for row in connection.execute(table.select_all)
            },
        )
    finally:
        connection.close()


def _open(
    snapshot: Snapshot, step: Callable[[], bool], most_bytes: int
) -> tuple[sqlite3.Connection, list[tuple[int, int]]]:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.deserialize(snapshot.data)
    noted: list[tuple[int, int]] = []
    # The connection holds the function, so the function must not hold the state in turn.
    connection.create_function(CHANGED, -1, _noting(noted))
    for pragma in ("foreign_keys = ON", "recursive_triggers = ON", "cache_size = -64"):
        connection.execute(f"PRAGMA {pragma}")
    page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {most_bytes // page_bytes}")
    connection.set_progress_handler(step, STEPS_AT_A_TIME)
    return connection, noted


def _noting(noted: list[tuple[int, int]]) -> Callable[..., None]:
    def note(table: int, *rowids: int) -> None:
        for rowid in rowids:
            noted.append((table, rowid))

    return note
