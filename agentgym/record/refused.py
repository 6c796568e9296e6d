"""The refused replies that ended an episode, and their tokens; they belong to no step.

Each episode with such replies has one row.
"""

from __future__ import annotations

from typing import Final

from agentgym.record.database import Database
from agentgym.record.generations import GenerationColumn
from agentgym.record.packing import Packing
from agentgym.record.prompts import RecentTokens
from agentgym.record.reading import read
from agentgym.records import Generation, TokenUsage

_COUNTS: Final = ("prompt", "completion", "cached")
_NO_STEP: Final = -1
_QUERY: Final = "SELECT * FROM refused_replies WHERE episode = ?"


class RefusedReplies:
    """The replies in a run's record that led to no step.

    Args:
        database: The run's database.
        packing: Packs values into columns.
    """

    def __init__(self, database: Database, packing: Packing) -> None:
        self._database = database
        self._generations = GenerationColumn(packing)

    def note(
        self, episode_id: int, usage: TokenUsage, generations: tuple[Generation, ...] | None
    ) -> None:
        """Replace the record of an episode's last replies; without replies there is no row."""
        self._database.execute("DELETE FROM refused_replies WHERE episode = ?", (episode_id,))
        if usage != TokenUsage() or generations:
            self._database.execute(
                "INSERT INTO refused_replies VALUES (?, ?, ?, ?, ?)",
                (
                    *(episode_id, usage.prompt, usage.completion, usage.cached),
                    self._generations.pack(generations, _NO_STEP, RecentTokens()),
                ),
            )

    def usage(self, episode_id: int) -> TokenUsage:
        """Return the tokens of an episode's last replies.

        Raises:
            ValueError: The row is damaged.
        """
        for row in self._database.rows(_QUERY, (episode_id,)):
            counts = {name: row[f"{name}_tokens"] for name in _COUNTS}
            return read(TokenUsage, counts, "refused_replies")
        return TokenUsage()

    def generations(self, episode_id: int) -> tuple[Generation, ...] | None:
        """Return those replies; None if they are not known, empty if the episode has none.

        Raises:
            ValueError, RecordError: The row is damaged.
        """
        for row in self._database.rows(_QUERY, (episode_id,)):
            return self._generations.unpack(row["generations"], _NO_STEP, RecentTokens())
        return ()
