"""Iterates over the steps of recorded episodes, for trainers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path

from agentgym.record.episode_rows import EpisodeRow
from agentgym.record.store import RunStore
from agentgym.records import Step


def read_steps(
    folder: str | PathLike[str], *, scored: bool = False
) -> Iterator[tuple[EpisodeRow, Step]]:
    """Yield every recorded step of a run with its episode.

    A fork or a branch begins with the steps of its parent: ``step.index < episode.parent[1]``. One
    step is in memory at a time. Arrays are numpy arrays: ``step.decision.generations``.

    Args:
        folder: The run folder.
        scored: Leave out episodes that have no score (yet).

    Raises:
        RecordError: The folder holds no run, or the run is damaged.

    Example:
        >>> for episode, step in read_steps("runs/demo"):  # doctest: +SKIP
        ...     print(episode.plan.task, step.index, step.action.tool)
    """
    with closing(RunStore.open(Path(folder))) as store:
        for episode in store.episodes():
            if scored and (episode.verdict is None or not episode.verdict.scored):
                continue
            for step in store.iter_steps(episode.id):
                yield episode, step
