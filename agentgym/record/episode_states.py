"""The states of episodes in a run: a planned one begins, and one that is over can be taken back.

The end itself is in `recorder`.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.record.database import Database
from agentgym.record.endings import Endings
from agentgym.record.lineage import Lineage
from agentgym.record.packing import Packing
from agentgym.record.refused import RefusedReplies
from agentgym.records import Json, Observation, TokenUsage

_IS_NEW = "SELECT 1 FROM episodes WHERE id = ? AND state = 'planned' AND parent IS NULL"
_BEGIN = """
UPDATE episodes SET state = 'running', params = ?, instruction = ?, sandbox = ?, reset_s = ?,
first = ? WHERE id = ?
"""
_REOPEN = """
UPDATE episodes SET state = 'running', verdict = NULL, error = NULL, audit = NULL, length = NULL,
duration_s = 0 WHERE id = ?
"""
_RESET = """
UPDATE episodes SET state = 'planned', params = NULL, instruction = NULL, sandbox = NULL,
first = NULL, verdict = NULL, error = NULL, log = NULL, audit = NULL, length = NULL, reset_s = 0,
duration_s = 0 WHERE id = ?
"""


class EpisodeStates:
    """The states of the episodes of one run.

    Args:
        database: The run.
        packing: What goes where in it.
        lineage: Steps that forks share.
        endings: Times and kept final states.
        refused: Completions that led to no step.
    """

    def __init__(
        self,
        database: Database,
        packing: Packing,
        lineage: Lineage,
        endings: Endings,
        refused: RefusedReplies,
    ) -> None:
        self._database, self._packing, self._lineage = database, packing, lineage
        self._endings, self._refused = endings, refused

    def is_new(self, episode_id: int) -> bool:
        """Return whether an episode is planned and shares no steps, so that it has no record."""
        return bool(self._database.rows(_IS_NEW, (episode_id,)))

    def begin(
        self,
        episode_id: int,
        *,
        params: Mapping[str, Json],
        instruction: str,
        sandbox: str,
        reset_s: float,
        first: Observation | None,
    ) -> None:
        """Mark an episode as running; `first` is None if the reset failed."""
        pack = self._packing
        seen = None if first is None else pack.pack_observation(first, pack.pack_picture(first))
        values = pack.pack(params), pack.pack(instruction), sandbox, reset_s, seen
        self._database.execute(_BEGIN, (*values, episode_id))

    def reopen(self, episode_id: int) -> None:
        """Take back the end of an episode; its steps stay."""
        with self._database.transaction():
            self._database.execute("DELETE FROM checkpoints WHERE episode = ?", (episode_id,))
            self._refused.note(episode_id, TokenUsage(), None)
            self._database.execute(_REOPEN, (episode_id,))

    def reset(self, episode_id: int) -> None:
        """Put an episode back to planned and remove its steps; its history and its forks stay."""
        with self._database.transaction():
            self._lineage.hand_down(episode_id)
            self._database.execute("DELETE FROM steps WHERE episode = ?", (episode_id,))
            self._database.execute("DELETE FROM checkpoints WHERE episode = ?", (episode_id,))
            self._endings.remove(episode_id)
            self._database.execute("DELETE FROM setups WHERE episode = ?", (episode_id,))
            self._refused.note(episode_id, TokenUsage(), None)
            self._database.execute(_RESET, (episode_id,))
