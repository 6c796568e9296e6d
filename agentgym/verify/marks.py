"""Marks of rows: columns that are 1 while a row asks for attention, such as a mail that is unread.

Services declare them (`TableSchema.marks`). Who clears a mark says that the row needs no more
attention, so an actor may do that only for rows that it has opened, or that a rubric selects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgym.protocols import Evidence
from agentgym.records import RowChange, TableSchema
from agentgym.verify.rows import Allowed, name_row


class ClearedMarks:
    """Finds marks that an actor has cleared and should not have.

    Args:
        evidence: Evidence of the episode.
        by: The actor.
    """

    def __init__(self, evidence: Evidence, by: str) -> None:
        self._evidence, self._by = evidence, by
        self._opened: dict[str, frozenset[str]] = {}

    def fault(self, change: RowChange, rules: Sequence[Allowed]) -> str:
        """Return the cleared marks that no rule allows, as text; empty if all are allowed.

        Args:
            change: The change.
            rules: The rules that allow the change itself. One that selects rows by their values
                allows every mark to be cleared; any other one allows it for rows that the actor
                has opened.
        """
        before, after = change.before or {}, change.after or {}
        schema = self._evidence.tables_after.schema(change.table)
        cleared = [m for m in schema.marks if before.get(m) and m in after and not after[m]]
        if not cleared or any(rule.rows.where for rule in rules):
            return ""
        said = f"{name_row(change.table, change.row)}: {', '.join(cleared)} was cleared, and "
        if any(schema.marks[mark] == "owner" for mark in cleared):
            return f"{said}nothing asked for that"
        if _name(change.row, schema) in self._opened_rows(change.table, schema):
            return ""
        return f"{said}the {self._by} never opened it"

    def _opened_rows(self, table: str, schema: TableSchema) -> frozenset[str]:
        """Return the rows that a call has shown to the actor with all their texts."""
        if table not in self._opened:
            needed = {*schema.key, *schema.texts}
            self._opened[table] = frozenset(
                _name(shown, schema)
                for entry in self._evidence.calls
                if self._by in (entry.actor, "anyone") and entry.ok
                for shown in _objects(entry.result)
                if needed <= shown.keys()
            )
        return self._opened[table]


def _name(row: Mapping[str, Any], schema: TableSchema) -> str:
    return repr([row[column] for column in schema.key])


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every JSON object in a value."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
