"""The digest of the prepared setup from which each episode began.

Each episode has one row.
"""

from __future__ import annotations

import re
from typing import Final

from agentgym.errors import RecordError
from agentgym.record.database import Database

_DIGEST: Final = re.compile("[0-9a-f]{64}")


class Setups:
    """The digests of prepared setups in a run's record.

    Args:
        database: The run's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, episode_id: int, digest: str) -> None:
        """Record the setup of an episode; a resumed episode keeps its first one."""
        self._database.execute(
            "INSERT INTO setups (episode, digest) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (episode_id, digest),
        )

    def find(self, episode_id: int) -> str:
        """Return the digest of an episode's setup, empty if the record has none.

        Raises:
            RecordError: The digest is damaged.
        """
        query = "SELECT digest FROM setups WHERE episode = ?"
        for row in self._database.rows(query, (episode_id,)):
            found = row["digest"]
            if not isinstance(found, str) or not _DIGEST.fullmatch(found):
                raise RecordError("its prepared setup is not a digest")
            return found
        return ""
