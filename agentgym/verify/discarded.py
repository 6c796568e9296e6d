"""Rows that their author has thrown away before others saw them, such as drafts in the trash.

Services declare by which values such a row is known (`TableSchema.discarded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentgym.protocols import Evidence
from agentgym.records import RowChange
from agentgym.verify.rows import adding_actors


class DiscardedRows:
    """Finds the rows that an actor has added and thrown away.

    Args:
        evidence: Evidence of the episode.
        by: The actor.
    """

    def __init__(self, evidence: Evidence, by: str) -> None:
        self._tables, self._names = evidence.tables_after, evidence.tables_after.names()
        self._added = {
            place for place, actor in adding_actors(evidence).items() if by in (actor, "anyone")
        }

    def holds(self, change: RowChange) -> bool:
        """Return whether a change added such a row."""
        own = any((change.table, rowid) in self._added for rowid in change.rowids)
        return change.kind == "added" and own and self._thrown_away(change.table, change.row)

    def _thrown_away(self, table: str, row: Mapping[str, Any]) -> bool:
        known = self._tables.schema(table).discarded
        return bool(known) and all(self._fits(row[name], value) for name, value in known.items())

    def _fits(self, value: Any, wanted: Any) -> bool:
        if not isinstance(wanted, str) or wanted not in self._names:
            return bool(value == wanted)
        other = self._tables.one(wanted, id=value)
        return other is not None and self._thrown_away(wanted, other)
