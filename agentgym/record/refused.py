"""What replies cost and held that ended an episode: refused, so no step accounts for them.

One row for each episode that has any.
"""

from __future__ import annotations

from typing import Final

from agentgym.record.database import Database
from agentgym.record.generations import GenerationColumn
from agentgym.record.packing import Packing
from agentgym.record.reading import read
from agentgym.records import Generation, TokenUsage

_COUNTS: Final = ("prompt", "completion", "cached")
_QUERY: Final = "SELECT * FROM refused_replies WHERE episode = ?"


class RefusedReplies:
    """The replies in a run's record that led to no step.

    Args:
        database: The run's.
        packing: How values become columns.
    """

    def __init__(self, database: Database, packing: Packing) -> None:
        self._database = database
        self._generations = GenerationColumn(packing)

    def note(
        self, episode_id: int, usage: TokenUsage, generations: tuple[Generation, ...] | None
    ) -> None:
        """Note an episode's last replies in place of what is noted; none leave no row."""
        self._database.execute("DELETE FROM refused_replies WHERE episode = ?", (episode_id,))
        if usage != TokenUsage() or generations:
            self._database.execute(
                "INSERT INTO refused_replies VALUES (?, ?, ?, ?, ?)",
                (
                    *(episode_id, usage.prompt, usage.completion, usage.cached),
                    self._generations.pack(generations),
                ),
            )

    def usage(self, episode_id: int) -> TokenUsage:
        """Return what an episode's last replies cost.

        Raises:
            ValueError: It is damaged.
        """
        for row in self._database.rows(_QUERY, (episode_id,)):
            counts = {name: row[f"{name}_tokens"] for name in _COUNTS}
            return read(TokenUsage, counts, "refused_replies")
        return TokenUsage()

    def generations(self, episode_id: int) -> tuple[Generation, ...] | None:
        """Return what those replies held; None if that is not known, empty if there are none.

        Raises:
            ValueError, RecordError: It is damaged.
        """
        for row in self._database.rows(_QUERY, (episode_id,)):
            return self._generations.unpack(row["generations"])
        return ()
