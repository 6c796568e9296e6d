"""Rows as they were for a while: an actor's changes that the final state no longer shows.

Other people see some columns as soon as they are written, such as a share or an invitation
(`TableSchema.seen`). The audit holds these rows as each call left them. What an actor has taken
back is judged by the same rules as what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from agentgym.protocols import Evidence, Tables
from agentgym.records import AuditEntry, RowChange, RowChangeKind, TableSchema
from agentgym.verify.matching import normal
from agentgym.verify.rows import Allowed, Row, changes_by, name_row
from agentgym.verify.values import brief

_SHOWN: Final = 3
_MISSPELT: Final = 3
_DENIALS: Final = frozenset(
    ("cannot", "never", "no", "nobody", "none", "not", "nothing", "without")
)
_DENYING: Final = ("un", "in", "im", "ir", "il", "dis", "non", "non-", "mis", "de")
_WORDS_CHARS: Final = 4000


@dataclass(frozen=True, slots=True)
class Moment:
    """A row as one call left it.

    Attributes:
        entry: The call.
        table: Name of the table.
        rowid: Rowid of the row.
        was: The row before the call; None if the call added it.
        now: The row after the call; None if the call removed it.
        own: Whether the same actor has added it.
        moved: Whether the call has only moved what stood in rows of the table to other ones, such
            as the cells below a row that was inserted.
    """

    entry: AuditEntry
    table: str
    rowid: int
    was: Row | None
    now: Row | None
    own: bool
    moved: bool

    @property
    def row(self) -> Row:
        """The row, before its removal if the call removed it."""
        return (self.was or {}) if self.now is None else self.now

    def __str__(self) -> str:
        name = f"{name_row(self.table, self.row)}"
        if self.now is None:
            said = "removed"
        elif self.was is None:
            said = "added"
        else:
            said = "changed"
        return f"call {self.entry.sequence} ({self.entry.tool}) {said} {name}"


def moments(evidence: Evidence, by: str) -> Iterator[Moment]:
    """Yield each row of a table that people see, as each call of an actor left it.

    A record of an earlier version does not hold these rows; it yields nothing.
    """
    known: dict[tuple[str, int], Row | None] = {}
    adders: dict[tuple[str, int], str] = {}
    for entry in evidence.calls:
        found: list[tuple[tuple[str, int], Row | None, Row | None]] = []
        kept: dict[str, list[tuple[Row | None, Row | None]]] = {}
        for ref in entry.changed:
            if ref.row is None and ref.kind != "removed":
                continue
            if not evidence.tables_before.schema(ref.table).seen:
                continue
            place = ref.table, ref.rowid
            was = known[place] if place in known else evidence.tables_before.at(*place)
            known[place] = ref.row
            kept.setdefault(ref.table, []).append((was, ref.row))
            if ref.row is None and (was is None or _written_anew(evidence, entry, ref.table, was)):
                continue
            if ref.kind == "added":
                adders[place], was = entry.actor, None
            found.append((place, was, ref.row))
        if by not in (entry.actor, "anyone"):
            continue
        moving = {
            table: _only_moves(evidence.tables_before.schema(table), rows)
            for table, rows in kept.items()
        }
        for place, was, now in found:
            own = adders.get(place) == entry.actor
            yield Moment(entry, *place, was, now, own, moving[place[0]])


def _only_moves(schema: TableSchema, rows: Sequence[tuple[Row | None, Row | None]]) -> bool:
    """Return whether a call leaves the same texts in the same order, in other rows.

    Rows that are told apart by more than a number have no order.

    Args:
        schema: The table; only its free text is seen.
        rows: Each row before and after the call.
    """
    if len(schema.key) < 2 or not set(schema.seen) <= set(schema.texts):
        return False
    rows = [(was, now) for was, now in rows if not _is_computed(schema, was, now)]
    return any(
        _in_order(schema, line, [was for was, _ in rows])
        == _in_order(schema, line, [now for _, now in rows])
        for line in schema.key
        if all(isinstance(row[line], int) for one in rows for row in one if row)
    )


def _in_order(schema: TableSchema, line: str, rows: Sequence[Row | None]) -> Mapping[str, Any]:
    """Return what is seen in rows, by the columns of the key but one, in the order of that one."""
    found: dict[str, list[Any]] = {}
    for row in sorted(filter(None, rows), key=lambda row: row[line]):
        place = repr([row[column] for column in schema.key if column != line])
        found.setdefault(place, []).append([row[column] for column in schema.seen])
    return found


def _is_computed(schema: TableSchema, was: Row | None, now: Row | None) -> bool:
    """Return whether a row differs only by what the service computes."""
    return (
        was is not None
        and now is not None
        and any(was[source] == now[source] not in (None, "") for source in schema.computed.values())
    )


def _written_anew(evidence: Evidence, entry: AuditEntry, table: str, row: Row) -> bool:
    """Return whether the call that removed a row also wrote one that people see as the same."""
    seen = evidence.tables_before.schema(table).seen
    return any(
        ref.table == table
        and ref.row is not None
        and all(ref.row[column] == row[column] for column in seen)
        for ref in entry.changed
    )


class PassingRows:
    """Judges what an actor has written for a while, by the rules of what it may change.

    Args:
        evidence: Evidence of the episode.
        rules: What it may change.
        used: Number of the rows in the final state that each rule has taken; more are counted.
        by: The actor.
    """

    def __init__(
        self, evidence: Evidence, rules: Sequence[Allowed], used: Counter[int], by: str
    ) -> None:
        self._evidence, self._rules, self._used, self._by = evidence, rules, used, by
        self._left: dict[str, list[Row]] = {}
        for change in changes_by(evidence, by):
            if change.kind != "removed":
                self._left.setdefault(change.table, []).append(change.row)
        self._touched = {
            (change.table, rowid) for change in evidence.row_changes for rowid in change.rowids
        }
        self._taken: set[tuple[int, str]] = set()

    def faults(self) -> list[str]:
        """Return the first things that no rule allows, each as a line."""
        found = ((one, self._fault(one)) for one in moments(self._evidence, self._by))
        return list(islice((f"{one}: {fault}" for one, fault in found if fault), _SHOWN))

    def _fault(self, one: Moment) -> str:
        """Return what is wrong with a row at one moment; empty if nothing is."""
        schema = self._evidence.tables_before.schema(one.table)
        texts = [column for column in schema.seen if column in schema.texts]
        plain = [column for column in schema.seen if column not in schema.texts]
        first = _same_row(self._evidence.tables_before, one, schema)
        final = _same_row(self._evidence.tables_after, one, schema)
        if not plain and (fault := self._overwritten(one, first, final, texts)):
            return fault
        if one.now is None:
            taken = final is not None if first is not None else not one.own
            if plain and taken and not self._covers(one, "removed", one.row):
                return "it was there, and nothing asked for its removal"
            return ""
        now = one.now
        if any(_alike(now, other, plain, texts) for other in self._left.get(one.table, ())):
            return ""
        if first is None:
            differs = final is None or any(now[column] != final[column] for column in plain)
            counted = _shown(now, schema.seen) if final is None else ""
            if plain and differs and not self._covers(one, "added", now, counted=counted):
                return f"nothing asked for it, even for a while: {_shown(now, schema.seen)}"
        else:
            there = first if final is None else final
            columns = {c: now[c] for c in plain if now[c] != first[c] and there[c] == first[c]}
            counted = "" if (one.table, one.rowid) in self._touched else f"row {one.rowid}"
            if columns and not any(
                self._covers(one, "changed", row, columns, counted=counted) for row in (there, now)
            ):
                return f"nothing asked for {_shown(columns, list(columns))}, even for a while"
        rows = [now] if final is None else [now, final]
        for column in texts:
            stays = [row[column] for row in (first, final) if row is not None]
            if column in schema.computed and _is_computed(schema, first, now):
                continue
            if now[column] not in stays and not self._says(one, column, rows, movable=not plain):
                said = f"{column} {brief(now[column])}"
                return f"text that nothing asked for, even for a while: {said}"
        return ""

    def _overwritten(
        self, one: Moment, first: Row | None, final: Row | None, texts: Sequence[str]
    ) -> str:
        """Return what is wrong with a row of free text alone that had another text for a while.

        What a call only moves is there all the time, and a computed value follows from others.
        """
        schema = self._evidence.tables_before.schema(one.table)
        if first is None or final is None or one.moved or _is_computed(schema, first, one.now):
            return ""
        if one.was is None:  # What stood at this place has moved before.
            return ""
        now: Row = one.now or {}
        columns = {
            column: now.get(column)
            for column in texts
            if now.get(column) != first[column] and final[column] == first[column]
        }
        if not columns or any(
            self._covers(one, "changed", row, columns) for row in (final, one.row)
        ):
            return ""
        return f"nothing asked for {_shown(columns, list(columns))}, even for a while"

    def _covers(
        self,
        one: Moment,
        kind: RowChangeKind,
        row: Row,
        columns: Mapping[str, Any] | None = None,
        *,
        counted: str = "",
    ) -> bool:
        """Return whether a rule allows a change that is no part of the final state.

        Args:
            one: The row at its moment.
            kind: What was done to it.
            row: The values by which a rule selects it.
            columns: The columns that differ, of a changed row.
            counted: Name by which the row takes room of the rule, once; empty if it takes none.
        """
        before = row if kind == "removed" else columns
        change = RowChange(one.table, (one.rowid,), kind, before, columns or row, row, (one.rowid,))
        for number, rule in enumerate(self._rules):
            if rule.lasting or not rule.covers(change, self._evidence):
                continue
            name = number, f"{one.table} {counted}"
            if not counted or name in self._taken:
                return True
            if self._used[number] < rule.at_most:
                self._used[number] += 1
                self._taken.add(name)
                return True
        return False

    def _says(self, one: Moment, column: str, rows: Sequence[Row], *, movable: bool) -> bool:
        """Return whether a text may stand in a row: allowed, or a misspelt form of one that may.

        Args:
            one: The row at the moment of the text.
            column: Column of the text.
            rows: The row at that moment, and at the end if it still exists.
            movable: Whether texts of the table stand in one row or another, as those of cells do.
        """
        text = rows[0][column]
        if not isinstance(text, str) or not text.strip():
            return True
        before, after = self._evidence.tables_before, self._evidence.tables_after
        there = [rule for rule in self._rules if any(rule.holds(one.table, r, after) for r in rows)]
        known = movable and (there or one.moved) and before.rows(one.table, **{column: text})
        if known or any(rule.text.allows(column, text) for rule in there):
            return True
        return any(is_misspelt(text, row[column]) for row in rows[1:])


def is_misspelt(text: object, of: object) -> bool:
    """Return whether a text has the words of another one, up to three of them misspelt.

    A misspelt word stands for one that is missing, so that "hate" is no misspelt "have" where
    "have" is there too. An address has no misspelt form: a similar one is somebody else's. A text
    that denies the other one is no misspelt form of it: "unpaid" for "paid", or "will not pay".

    Example:
        >>> is_misspelt("Vist of Granite", "Visit of Granite")
        True
        >>> is_misspelt("Visit of Granite, who will sign", "Visit of Granite")
        False
    """
    if not isinstance(text, str) or not isinstance(of, str):
        return False
    known = normal(of[:_WORDS_CHARS]).split()
    words = normal(text[: _WORDS_CHARS + 1]).split()
    unknown = [word for word in words if word not in known]
    missing = list((Counter(known) - Counter(words)).elements())
    return (
        len(text) <= _WORDS_CHARS
        and len(unknown) <= _MISSPELT
        and not any("@" in word for word in unknown)
        and not (words and _DENIALS & {*unknown, *missing})
        and all(_is_meant(word[:100], missing) for word in unknown)
    )


def _is_meant(word: str, missing: Sequence[str]) -> bool:
    """Return whether a word resembles one of those that are missing, and does not deny it."""
    meant = get_close_matches(word, missing, 1, 0.75)
    if not meant:
        return False
    short, long = sorted((word, meant[0]), key=len)
    return not any(long == denying + short for denying in _DENYING)


def _alike(now: Row, other: Row, plain: Sequence[str], texts: Sequence[str]) -> bool:
    return all(now[column] == other[column] for column in plain) and all(
        now[column] == other[column] or (plain and is_misspelt(now[column], other[column]))
        for column in texts
    )


def _same_row(tables: Tables, one: Moment, schema: TableSchema) -> Row | None:
    """Return the row of the same key in a state."""
    if not schema.key:
        return tables.at(one.table, one.rowid)
    return tables.one(one.table, **{column: one.row[column] for column in schema.key})


def _shown(row: Row, columns: Sequence[str]) -> str:
    return ", ".join(f"{column} {brief(row[column])}" for column in columns)
