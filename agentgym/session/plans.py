"""The episodes that sessions add to a run."""

from __future__ import annotations

import itertools

from agentgym.env.labels import Labels
from agentgym.record.store import EpisodePlan, RunStore


class EpisodePlans:
    """Adds episodes to a run; the sessions of a server share it.

    Args:
        store: The run, open for writing.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._trials = itertools.count(len(store.episodes()))

    async def add(self, task: str, seed: int, caller: str, labels: Labels) -> int:
        """Add an episode and return its number in the run.

        Args:
            task: Name of its task.
            seed: Its seed.
            caller: Name of the caller, which stands for the agent.
            labels: Labels for a trainer.

        Raises:
            RecordError: It cannot be written.
        """
        plan = EpisodePlan(task, seed, next(self._trials), caller, labels.group, labels.metadata)
        return await self._store.threads.finish(self._store.add, plan)
