"""Records of calls of stateful services: replies, audit entries, and row changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

from agentgym.errors import ServiceError
from agentgym.records.values import Json

Actor: TypeAlias = Literal["agent", "user", "world", "setup"]
"""The caller of a service: the agent, the simulated user, an event of the task, or its setup."""

RowChangeKind: TypeAlias = Literal["added", "changed", "removed"]

Mark: TypeAlias = Literal["opened", "owner"]
"""The one who may clear a mark: a caller who has opened the row, or its owner alone."""

_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call.

    Attributes:
        result_json: The result as JSON text; empty if the call failed.
        error: Error of a failed call, else None.
        images: Names of the pictures in the result.
    """

    result_json: str = ""
    error: ServiceError | None = None
    images: tuple[str, ...] = ()

    @property
    def result(self) -> Any:
        """The result, as an independent copy."""
        return json.loads(self.result_json) if self.result_json else None

    @property
    def json(self) -> str:
        """The envelope that all transports send: ``{"result": …}`` or ``{"error": {…}}``."""
        if self.error is None:
            return f'{{"result":{self.result_json}}}'
        error = self.error
        return json.dumps(
            {"error": {"code": error.code, "message": error.message, "field": error.field}}
        )


@dataclass(frozen=True, slots=True)
class RowRef:
    """A row that a call changed.

    Attributes:
        table: Name of the table.
        rowid: Its rowid.
        kind: Whether it was added, changed or removed.
        row: Its columns after the call, if other people see the table (`TableSchema.seen`); None
            for other tables and for a removed row. Very long texts are cut.
    """

    table: str
    rowid: int
    kind: RowChangeKind
    row: Mapping[str, Any] | None = None

    def to_json(self) -> list[Json]:
        """Return table, rowid and kind, and the columns if they are known."""
        known: list[Json] = [] if self.row is None else [dict(self.row)]
        return [self.table, self.rowid, self.kind, *known]


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table as the services describe it.

    Attributes:
        columns: Its columns.
        key: Columns of its primary key; empty if only the rowid names a row.
        texts: Columns of free text.
        seen: Columns that other people see as soon as they are written.
        marks: Columns that are 1 while a row asks for attention, and who may clear them.
        computed: Columns whose value the service computes while the column that it is mapped to
            holds something, such as a cell's value and its formula.
        discarded: Values of the rows that their author has thrown away before others saw them; a
            name of a table in place of a value demands such a row of that table, by its id.
    """

    columns: Sequence[str]
    key: Sequence[str] = ()
    texts: Sequence[str] = ()
    seen: Sequence[str] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    discarded: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call in the audit.

    Attributes:
        sequence: Number of the entry, counted from 0.
        now: Logical time, ISO 8601 in UTC.
        actor: Caller.
        tool: Name of the tool as it was called.
        arguments_json: The arguments; cut if they are very long.
        result_json: The result, cut likewise; empty if the call failed.
        code: Code of the error; empty if the call succeeded.
        error: Message for the caller.
        field: The argument that the error concerns.
        raised: For ``internal``: the exception in the service's code, for its author.
        before: Hash of the state before the call.
        after: Hash of the state after the call.
        changed: The rows that differ.
    """

    sequence: int
    now: str
    actor: Actor
    tool: str
    arguments_json: str
    result_json: str
    code: str
    error: str
    field: str
    raised: str
    before: str
    after: str
    changed: tuple[RowRef, ...]

    @property
    def arguments(self) -> Any:
        """The arguments as they were given."""
        return json.loads(self.arguments_json)

    @property
    def result(self) -> Any:
        """The result; None if the call failed."""
        return json.loads(self.result_json) if self.result_json else None

    @property
    def ok(self) -> bool:
        """Whether the call was answered without an error."""
        return not self.code

    def to_json(self) -> dict[str, Json]:
        """Return a JSON object of the fields."""
        changed: list[Json] = [row.to_json() for row in self.changed]
        return {**{name: getattr(self, name) for name in _FIELDS}, "changed": changed}


_FIELDS: Final = tuple(f.name for f in fields(AuditEntry) if f.name != "changed")


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that differs between two states.

    Attributes:
        table: Name of the table.
        key: Its primary key, or its rowid if the table has no primary key.
        kind: Added, changed or removed.
        before: The columns that differ (every column of a removed row); None for an added row.
        after: The same columns in the later state; None for a removed row.
        row: Every column that counts, in the later state, or in the earlier one if the row was
            removed.
        rowids: Its rowid in the earlier and in the later state, if it exists there; one if both
            are the same.
    """

    table: str
    key: tuple[Any, ...]
    kind: RowChangeKind
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    row: Mapping[str, Any]
    rowids: tuple[int, ...]

    def __str__(self) -> str:
        """Return a line: ``tickets_ticket 17: status 'open' → 'closed'``."""
        name = f"{self.table} {', '.join(map(str, self.key))}"
        if self.before is not None and self.after is not None:
            after = self.after
            parts = [f"{c} {_short(v)} → {_short(after[c])}" for c, v in self.before.items()]
            return f"{name}: {', '.join(parts)}"
        row = self.after if self.before is None else self.before
        parts = [f"{column} {_short(value)}" for column, value in (row or {}).items()]
        return f"{name} {self.kind}: {', '.join(parts)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
