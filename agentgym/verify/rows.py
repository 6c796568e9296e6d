"""Rows of services in rubrics: selected by values, and attributed to actors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from agentgym.errors import NotFoundError, VerifierError
from agentgym.protocols import Evidence, Tables
from agentgym.records import RowChange
from agentgym.records.pattern import fits_glob
from agentgym.verify.free_text import FreeText, free_text
from agentgym.verify.matching import Matcher, fits, matchers, show_matchers
from agentgym.verify.values import Bounds, brief

Row: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[str, int]
"""A table and a rowid."""

ACTORS: Final = ("agent", "user", "world", "anyone")
_KINDS: Final = ("added", "changed", "removed")
_SHOWN: Final = 3
_FIELDS: Final = (
    *("table", "where", "was", "having", "kind", "columns", "at_most"),
    *("texts", "any_text", "lasting"),
)


def changes_by(evidence: Evidence, by: str) -> list[RowChange]:
    """Return the rows that differ since the setup and that an actor changed.

    Raises:
        VerifierError: The actor does not exist.
    """
    check_actor(by)
    if by == "anyone":
        return list(evidence.row_changes)
    first, last = _touched(evidence, by)
    return [change for change in evidence.row_changes if _was(change) & first or _is(change) & last]


def _added_by(evidence: Evidence, by: str) -> list[RowChange]:
    """Return the rows that an actor added, without rows that others added and it changed."""
    check_actor(by)
    added = [change for change in evidence.row_changes if change.kind == "added"]
    if by == "anyone":
        return added
    adders = adding_actors(evidence)
    return [one for one in added if any(adders.get(place) == by for place in _is(one))]


def adding_actors(evidence: Evidence) -> dict[Place, str]:
    """Return who has added the row that a rowid names at the end, of rows added since the setup."""
    return {
        (ref.table, ref.rowid): entry.actor
        for entry in evidence.calls
        for ref in entry.changed
        if ref.kind == "added"
    }


def _touched(evidence: Evidence, by: str) -> tuple[set[Place], set[Place]]:
    """Return where an actor has touched rows of the setup, and rows of the final state.

    SQLite gives the rowid of a removed row to a later one, which is another row.
    """
    first, last, anew = set[Place](), set[Place](), set[Place]()
    for entry in evidence.calls:
        for ref in entry.changed:
            place = ref.table, ref.rowid
            if ref.kind == "added":
                anew.add(place)
                last.discard(place)
            if entry.actor == by:
                last.add(place)
                first |= {place} - anew
    return first, last


def _was(change: RowChange) -> set[Place]:
    """Return where a changed or removed row was at the setup."""
    return set() if change.kind == "added" else {(change.table, change.rowids[0])}


def _is(change: RowChange) -> set[Place]:
    """Return where an added or changed row is at the end."""
    return set() if change.kind == "removed" else {(change.table, change.rowids[-1])}


def check_actor(by: object) -> None:
    """Refuse an unknown actor.

    Raises:
        VerifierError: The name is not an actor.
    """
    if by not in ACTORS:
        raise VerifierError(str(NotFoundError("by", str(by), ACTORS)))


@dataclass(frozen=True, slots=True)
class Related:
    """A demand for rows of another table: their number and their values.

    Attributes:
        on: Column of the other table, mapped to the column of the row that it equals.
    """

    table: str
    on: Mapping[str, str]
    where: Mapping[str, Matcher]
    bounds: Bounds

    def __str__(self) -> str:
        return f"{self.bounds} of {self.table} ({show_matchers(self.where) or 'any'})"

    def holds(self, row: Row, tables: Tables) -> bool:
        """Return whether a row has the demanded number of such rows."""
        keys = {}
        for column, own in self.on.items():
            if own not in row:
                raise VerifierError(f"having.on.{column}: {NotFoundError('column', own, row)}")
            keys[column] = row[own]
        check_columns(tables, self.table, self.where)
        found = [other for other in tables.rows(self.table, **keys) if fits(other, self.where)]
        return self.bounds.hold(len(found))


@dataclass(frozen=True, slots=True)
class Selector:
    """A selection of rows of a table.

    Attributes:
        table: Name of the table; a glob when changes are selected.
        where: Matchers by column.
        having: Demanded rows of other tables.
    """

    table: str
    where: Mapping[str, Matcher]
    having: Sequence[Related]

    def __str__(self) -> str:
        parts = [show_matchers(self.where), *map(str, self.having)]
        return f"{self.table} ({', '.join(filter(None, parts)) or 'any'})"

    def rows(self, tables: Tables) -> list[Row]:
        """Return the selected rows of a state, by primary key."""
        check_columns(tables, self.table, self.where)
        plain = {name: one.plain for name, one in self.where.items() if one.plain is not None}
        found = tables.rows(self.table, **plain)
        return [row for row in found if self.fits(row, tables)]

    def added(self, evidence: Evidence, by: str) -> list[Row]:
        """Return the selected rows that an actor added since the setup.

        Raises:
            VerifierError: There is no such table or column, or it is a view, whose rows have no
                actor.
        """
        tables = evidence.tables_after
        if self.table not in tables.names():
            raise VerifierError(str(NotFoundError("table", self.table, tables.names())))
        check_columns(tables, self.table, self.where)
        return [
            change.row
            for change in _added_by(evidence, by)
            if change.table == self.table and self.fits(change.row, tables)
        ]

    def fits(self, row: Row, tables: Tables) -> bool:
        """Return whether a row is selected."""
        return fits(row, self.where) and all(one.holds(row, tables) for one in self.having)

    def closest(self, rows: Sequence[Row], tables: Tables) -> str:
        """Return the mismatch of the closest row, among rows that are not selected."""
        lacks = {n: self._lacks(row, tables) for n, row in enumerate(rows)}
        if not lacks:
            return f"{self}: there is none"
        best = min(lacks, key=lambda n: len(lacks[n]))
        return f"{self}: there is none; {name_row(self.table, rows[best])}: {lacks[best][0]}"

    def _lacks(self, row: Row, tables: Tables) -> list[str]:
        columns = [fault for name, one in self.where.items() if (fault := fault_of(row, name, one))]
        return columns + [f"has not {one}" for one in self.having if not one.holds(row, tables)]


def selector(table: object, where: object = None, having: object = None) -> Selector:
    """Read a selection of rows from a rubric.

    Raises:
        VerifierError: An argument does not have the expected form.
    """
    if not isinstance(table, str) or not table:
        raise VerifierError(f"table: expected the name of a table, got {table!r}")
    return Selector(table, matchers("where", where or {}), [_related(one) for one in _list(having)])


def fault_of(row: Row, column: str, wanted: Matcher) -> str:
    """Return the mismatch of a column of a row; empty if it matches."""
    if fits(row, {column: wanted}):
        return ""
    return f"{column} is {brief(row.get(column))}, expected {wanted}"


def check_columns(tables: Tables, table: str, wanted: Iterable[str]) -> None:
    """Refuse columns that a table or view does not have.

    Raises:
        VerifierError: The table, view or column does not exist.
    """
    known = tables.columns(table)
    for column in wanted:
        if column not in known:
            raise VerifierError(str(NotFoundError(f"column of {table}", column, known)))


@dataclass(frozen=True, slots=True)
class Allowed:
    """A rule for allowed changes of rows.

    Attributes:
        rows: The selected rows; values are those after the change, or before a removal.
        kinds: Allowed kinds: added, changed, removed.
        columns: Columns that may change; None for any.
        at_most: Maximum number of rows.
        text: Free texts that a changed row may hold.
        lasting: Whether it allows only what is left at the end, and nothing that was taken back.
        was: Values by column that a row had at the setup; a row that is new has none.
    """

    rows: Selector
    kinds: Sequence[str]
    columns: Sequence[str] | None
    at_most: int
    text: FreeText
    lasting: bool = False
    was: Mapping[str, Matcher] = field(default_factory=dict)

    def covers(self, change: RowChange, evidence: Evidence) -> bool:
        """Return whether the rule allows a change, apart from its free texts."""
        if not fits_glob(change.table, self.rows.table) or change.kind not in self.kinds:
            return False
        other = set(change.after or ()) if change.kind == "changed" else set()
        if self.columns is not None and not other <= set(self.columns):
            return False
        if self.was and not self._fitted(change, evidence.tables_before):
            return False
        removed = change.kind == "removed"
        return self.rows.fits(
            change.row, evidence.tables_before if removed else evidence.tables_after
        )

    def _fitted(self, change: RowChange, before: Tables) -> bool:
        """Return whether the row was at the setup what `was` says."""
        row = before.at(change.table, change.rowids[0])
        return row is not None and fits(row, self.was)

    def holds(self, table: str, row: Row, tables: Tables) -> bool:
        """Return whether the rule selects a row, whatever was done to it."""
        return fits_glob(table, self.rows.table) and self.rows.fits(row, tables)

    def check(self, tables: Tables) -> None:
        """Refuse tables and columns that do not exist.

        Raises:
            VerifierError: A glob matches no table, or no matching table has a column.
        """
        names = [name for name in tables.names() if fits_glob(name, self.rows.table)]
        if not names:
            raise VerifierError(str(NotFoundError("table", self.rows.table, tables.names())))
        known = {column for name in names for column in tables.columns(name)}
        for column in (*self.rows.where, *self.was, *(self.columns or ()), *self.text.columns):
            if column not in known:
                what = f"column of {self.rows.table}"
                raise VerifierError(str(NotFoundError(what, column, known)))


def allowed(table: object) -> Allowed:
    """Read an allowed change from a rubric.

    Raises:
        VerifierError: It does not have the expected form.
    """
    if not isinstance(table, Mapping) or not set(table) <= set(_FIELDS):
        raise VerifierError(f"allowed: expected tables of {', '.join(_FIELDS)}; got {table!r}")
    kind, columns = table.get("kind", list(_KINDS)), table.get("columns")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    for one in kinds:
        if one not in _KINDS:
            raise VerifierError(f"allowed.kind: {NotFoundError('kind', str(one), _KINDS)}")
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Sequence)):
        raise VerifierError(f"allowed.columns: expected a list of columns, got {columns!r}")
    rows = selector(table.get("table"), table.get("where"), table.get("having"))
    most = Bounds(0, table.get("at_most", 1)).at_most
    assert most is not None
    joined = [own for one in rows.having if one.bounds.at_least for own in one.on.values()]
    text = free_text(table.get("texts", {}), table.get("any_text", ()), rows.where, joined)
    lasting = table.get("lasting", False)
    if not isinstance(lasting, bool):
        raise VerifierError(f"allowed.lasting: expected true or false, got {brief(lasting)}")
    was = matchers("was", table.get("was", {}))
    if was and "added" in kinds:
        raise VerifierError('allowed.was: a row that is added was nothing before; set "kind"')
    return Allowed(rows, kinds, columns, most, text, lasting, was)


def show_changes(changes: Sequence[RowChange]) -> str:
    """Return the first few changes, each as a line of the services' diff."""
    named = "; ".join(_cut(str(change)) for change in changes[:_SHOWN])
    more = len(changes) - _SHOWN
    return f"{named}; and {more} more" if more > 0 else named


def show_rows(table: str, rows: Sequence[Row]) -> str:
    """Return the number of rows and the names of the first: ``2: tickets_ticket 17, 18``.

    Rows without an `id` are named by their first columns.
    """
    named = ", ".join(_name(row) for row in rows[:_SHOWN])
    return f"{len(rows)}: {table} {named}{', …' if len(rows) > _SHOWN else ''}" if rows else "none"


def name_row(table: str, row: Row) -> str:
    """Return the name of a row in messages: ``tickets_ticket 17``."""
    return f"{table} {_name(row)}"


def _name(row: Row) -> str:
    if "id" in row:
        return str(row["id"])
    return "/".join(str(value)[:40] for value in list(row.values())[:3])


def _cut(text: str) -> str:
    return text if len(text) <= 240 else f"{text[:239]}…"


def _related(table: object) -> Related:
    known = ("table", "on", "where", "at_least", "at_most")
    if not isinstance(table, Mapping) or not set(table) <= set(known):
        raise VerifierError(f"having: expected tables of {', '.join(known)}; got {table!r}")
    name, on = table.get("table"), table.get("on")
    if not isinstance(name, str) or not isinstance(on, Mapping) or not on:
        raise VerifierError(
            f"having: expected a table and on = {{ theirs = 'own' }}; got {table!r}"
        )
    most = table.get("at_most")
    bounds = Bounds(table.get("at_least", 1 if most is None else 0), most)
    return Related(name, dict(on), matchers("having.where", table.get("where", {})), bounds)


def _list(value: object) -> list[object]:
    if value is None:
        return []
    if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
        raise VerifierError(f"having: expected a list of tables, got {brief(value)}")
    return list(value)
