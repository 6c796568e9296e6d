"""The trajectory of an episode in the table `steps`: the rows of its parents, then its own.

A fork stores only the steps that it took itself. The earlier ones are read from its parent, and
from the parent of that one, so a tree of episodes holds every step once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from agentgym.errors import RecordError
from agentgym.record.database import Database
from agentgym.record.reading import expect
from agentgym.record.step_rows import INSERT, copied_row

_LAST = 2**63 - 1

_MOST_PARENTS = 1_000
"""Largest number of episodes before an episode: each of them is read to read it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an episode.

    Attributes:
        parent: Id of the episode from which it branches off, None without one.
        at: Number of steps that the parent had then.
        shared: Number of steps that are read from the parent.
        forked: Whether it began in a live fork; else its first steps were executed again.
    """

    parent: int | None
    at: int
    shared: int
    forked: bool


class Lineage:
    """Reads trajectories through the parents of episodes.

    Args:
        database: The run's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, episode_id: int, columns: str = "*") -> list[sqlite3.Row]:
        """Return the rows of all steps of a trajectory, in order.

        Raises:
            ValueError, RecordError: An origin is damaged.
        """
        query = f"SELECT {columns} FROM steps WHERE episode = ? AND step >= ? AND step < ?"
        found = list[sqlite3.Row]()
        for segment in reversed([*self._segments(episode_id)]):
            found += self._database.rows(f"{query} ORDER BY step", segment)
        return found

    def ancestry(self, episode_id: int) -> list[int]:
        """Return an episode and all episodes whose steps it shares, the episode first.

        Raises:
            ValueError, RecordError: An origin is damaged.
        """
        return [segment[0] for segment in self._segments(episode_id)]

    def may_have_fork(self, episode_id: int) -> bool:
        """Return whether a fork of an episode could be read: so few come before the episode.

        Raises:
            ValueError, RecordError: An origin is damaged.
        """
        return sum(1 for _ in self._origins(episode_id)) <= _MOST_PARENTS

    def forks(self, episode_id: int) -> tuple[int, ...]:
        """Return the numbers of steps after which a trajectory went on in a fork, ascending.

        Raises:
            ValueError, RecordError: An origin is damaged.
        """
        found, end = list[int](), _LAST
        for origin in self._origins(episode_id):
            if origin.forked and origin.at <= end:
                found.append(origin.at)
            end = min(end, origin.at)
        return tuple(reversed(found))

    def hand_down(self, episode_id: int) -> None:
        """Give the forks of an episode copies of the steps that they share with it.

        The episode may lose its steps then. The caller holds the transaction.
        """
        own = self._origin(episode_id).shared
        query = "SELECT id, shared FROM episodes WHERE parent = ? AND shared > ?"
        for child in self._database.rows(query, (episode_id, own)):
            rows = self._database.rows(
                "SELECT * FROM steps WHERE episode = ? AND step < ?", (episode_id, child["shared"])
            )
            copies = [copied_row(row, child["id"]) for row in rows]
            self._database.execute_many(INSERT, copies)
            values = (own, child["id"])
            self._database.execute("UPDATE episodes SET shared = ? WHERE id = ?", values)

    def _segments(self, episode_id: int) -> Iterator[tuple[int, int, int]]:
        """Yield episode, first and last step (exclusive) of each part, the last part first."""
        end = _LAST
        for origin in self._origins(episode_id):
            yield episode_id, min(origin.shared, end), end
            end = min(origin.shared, end)
            if not end or origin.parent is None:
                return
            episode_id = origin.parent

    def _origins(self, episode_id: int) -> Iterator[Origin]:
        """Yield the origin of an episode, of its parent, and so on."""
        following = episode_id
        for _ in range(_MOST_PARENTS + 1):
            origin = self._origin(following)
            yield origin
            if origin.parent is not None and not 0 < origin.parent < following:
                # An episode is added after its parent, so this walk ends.
                raise RecordError(f"the parent of episode {following} is {origin.parent}")
            if origin.parent is None:
                return
            following = origin.parent
        raise RecordError(f"more than {_MOST_PARENTS} episodes come before it")

    def _origin(self, episode_id: int) -> Origin:
        query = "SELECT parent, parent_step, shared, forked FROM episodes WHERE id = ?"
        rows = self._database.rows(query, (episode_id,))
        if not rows:
            raise RecordError(f"there is no episode {episode_id}, of which one is a branch")
        return origin_of(rows[0])


def origin_of(row: sqlite3.Row) -> Origin:
    """Return the origin in a row of the table `episodes`.

    Raises:
        ValueError: The row is damaged; the message names the field.
    """
    parent = expect(row["parent"], "parent", int | None)
    at = expect(row["parent_step"], "parent_step", int | None) or 0
    shared, forked = expect(row["shared"], "shared", int), expect(row["forked"], "forked", int)
    if not 0 <= shared <= at or (parent is None and at):
        raise ValueError(f"shared: expected 0 to {at} steps of a parent, got {shared}")
    return Origin(parent, at, shared, bool(forked))
