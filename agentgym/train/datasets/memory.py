"""Bounds what a data set keeps in memory until it is written.

The rows of a stranger's run may all name one blob of few bytes, so its size says nothing.
"""

from __future__ import annotations

from typing import Final

from agentgym.errors import RecordError
from agentgym.record.step_memory import memory_for_steps, memory_of_step
from agentgym.train.datasets.episodes import RecordedEpisode
from agentgym.train.samples import EpisodeTokens

_TOKEN_BYTES: Final = 100
"""Memory of a token: an id, its mask, its log-probability and its completion, as Python values."""


class MemoryBudget:
    """Half of this machine's memory, for all episodes of a data set together."""

    def __init__(self) -> None:
        self._left = memory_for_steps()

    def take_steps(self, episode: RecordedEpisode) -> None:
        """Count the steps of an episode.

        Raises:
            RecordError: The episodes take more memory than there is.
        """
        self._take(sum(map(memory_of_step, episode.steps)))

    def take_tokens(self, tokens: EpisodeTokens) -> None:
        """Count token ids.

        Raises:
            RecordError: The episodes take more memory than there is.
        """
        self._take(_TOKEN_BYTES * sum(len(one.ids) for one in tokens.sequences))

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise RecordError(
                "the episodes of this data set take more than half of this machine's memory; "
                "choose fewer with --tasks or --agents"
            )
