"""The episodes that sessions add to a run."""

from __future__ import annotations

from collections import Counter

from agentgym.env.labels import Labels
from agentgym.record.store import EpisodePlan, RunStore


class EpisodePlans:
    """Adds episodes to a run; the sessions of a server share it.

    Args:
        store: The run, open for writing.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        # A fork has the trial of its parent.
        plans = (row.plan for row in store.episodes() if row.parent is None)
        self._trials = Counter((plan.task, plan.agent) for plan in plans)

    def add(self, task: str, seed: int, caller: str, labels: Labels) -> int:
        """Add an episode and return its number in the run; to be called on the run's thread.

        Args:
            task: Name of its task.
            seed: Its seed.
            caller: Name of the caller, which stands for the agent.
            labels: Labels for a trainer.

        Raises:
            RecordError: It cannot be written.
        """
        trial = self._trials[task, caller]
        plan = EpisodePlan(task, seed, trial, caller, labels.group, labels.metadata)
        number = self._store.add(plan)
        self._trials[task, caller] += 1
        return number
