"""Merges a run that another process recorded into a run: whole episodes with all that they hold.

The rows keep their columns, except the numbers of episodes and the digests that depend on them.
Everything is written in one transaction: the run gets all episodes of the other one, or stays as it
is. An episode that is not planned any more takes no other one in its place, so that a result which
arrives twice is merged once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Final

from agentgym.errors import RecordError
from agentgym.record.blobs import BlobStore
from agentgym.record.database import PLAN_COLUMNS, Database
from agentgym.record.step_rows import COLUMNS, INSERT, copied_row

_PNG: Final = b"\x89PNG"

_PLAYED: Final = (
    *("state", "params", "instruction", "sandbox", "first", "verdict", "error", "log", "audit"),
    *("length", "reset_s", "duration_s"),
)
"""Columns of an episode that are filled by playing it."""

_BELONGING: Final = ("checkpoints", "endings", "setups", "refused_replies")
"""Tables whose rows belong to an episode, beside its steps."""

NoRoom = Callable[[int], str]
"""Returns why no final state of so many bytes is kept any more, or an empty text."""


class Merge:
    """Merges one run into another one.

    Args:
        database: The run, open for writing.
        blobs: Its blobs.
        source: The other run.
        source_blobs: The blobs of the other run.
    """

    def __init__(
        self, database: Database, blobs: BlobStore, source: Database, source_blobs: BlobStore
    ) -> None:
        self._database, self._blobs = database, blobs
        self._source, self._source_blobs = source, source_blobs

    def all(self, planned: Mapping[int, int], no_room: NoRoom) -> dict[int, int]:
        """Merge every episode of the other run.

        Args:
            planned: Planned episodes of the run, by the episodes of the other run that take their
                place. The others are added.
            no_room: Tells which final states are not kept.

        Returns:
            The numbers in the run, by those in the other run.

        Raises:
            RecordError: An episode is not planned any more, is another one, or is not over; or the
                other run is damaged.
        """
        rows = self._source.rows("SELECT * FROM episodes ORDER BY id")
        unkept = self._unkept(no_room)
        self._copy_blobs(
            {row["state"] for row in self._rows("endings") if row["episode"] in unkept}
        )
        numbers = dict[int, int]()
        with self._database.transaction():
            for row in rows:
                if row["state"] != "done":
                    raise RecordError(f"episode {row['id']} of the other run is {row['state']}")
                place = planned.get(row["id"])
                numbers[row["id"]] = (
                    self._add(row, numbers) if place is None else self._take_place(row, place)
                )
            self._copy_steps(numbers)
            for table in _BELONGING:
                self._copy_table(table, numbers, unkept)
        return numbers

    def _take_place(self, row: sqlite3.Row, place: int) -> int:
        """Let an episode take the place of a planned one; return the number of that."""
        query = f"SELECT state, {', '.join(PLAN_COLUMNS)} FROM episodes WHERE id = ?"
        found = self._database.rows(query, (place,))
        if not found or found[0]["state"] != "planned":
            told = found[0]["state"] if found else "unknown"
            raise RecordError(f"episode {place} is {told}; expected one that is planned")
        for name in PLAN_COLUMNS:
            if row[name] != found[0][name]:
                told = f"its {name} is {row[name]!r:.80}, not {found[0][name]!r:.80}"
                raise RecordError(f"the other run has another episode than {place}: {told}")
        filled = ", ".join(f"{name} = ?" for name in _PLAYED)
        values = (*(row[name] for name in _PLAYED), place)
        self._database.execute(f"UPDATE episodes SET {filled} WHERE id = ?", values)
        return place

    def _add(self, row: sqlite3.Row, numbers: Mapping[int, int]) -> int:
        names = (*PLAN_COLUMNS, *_PLAYED, "parent_step", "shared", "forked")
        parent = row["parent"]
        if parent is not None and parent not in numbers:
            raise RecordError(f"the other run is damaged: episode {row['id']} has no parent")
        values = (*(row[name] for name in names), None if parent is None else numbers[parent])
        return self._database.execute(
            f"INSERT INTO episodes ({', '.join(names)}, parent)"
            f" VALUES ({', '.join('?' * len(values))})",
            values,
        )

    def _copy_steps(self, numbers: Mapping[int, int]) -> None:
        query = f"SELECT {', '.join(COLUMNS)}, digest FROM steps WHERE episode = ? ORDER BY step"
        for old, new in numbers.items():
            rows = [copied_row(row, new) for row in self._source.rows(query, (old,))]
            self._database.execute_many(INSERT, rows)

    def _copy_table(
        self, table: str, numbers: Mapping[int, int], unkept: Mapping[int, str]
    ) -> None:
        for row in self._rows(table):
            if row["episode"] not in numbers:
                raise RecordError(f"the other run is damaged: {table} names no episode of it")
            columns = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a sqlite3.Row
            columns["episode"] = numbers[row["episode"]]
            if table == "endings" and (why := unkept.get(row["episode"])):
                columns |= {"state": "", "state_bytes": 0, "unkept": why}
            self._database.execute(
                f"INSERT INTO {table} ({', '.join(columns)})"
                f" VALUES ({', '.join('?' * len(columns))})",
                tuple(columns.values()),
            )

    def _copy_blobs(self, left_out: Collection[str]) -> None:
        """Copy the blobs of the other run; a blob whose transaction fails later does no harm."""
        for name in self._source_blobs.names():
            if name not in left_out:
                data = self._source_blobs.get(name)
                self._blobs.put(data, compress=not data.startswith(_PNG))

    def _unkept(self, no_room: NoRoom) -> dict[int, str]:
        """Return why final states are not kept, by the number of their episode."""
        found, size = dict[int, str](), 0
        for row in self._rows("endings"):
            if not row["state"]:
                continue
            if why := no_room(size + row["state_bytes"]):
                found[row["episode"]] = why
            else:
                size += row["state_bytes"]
        return found

    def _rows(self, table: str) -> list[sqlite3.Row]:
        return self._source.rows(f"SELECT * FROM {table} ORDER BY episode")
