"""The measures that step graders stated for the episodes of a run, averaged by agent.

A grading of other steps than the recorded ones does not count. A mean is over the episodes in which
a measure is defined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.record.store import EpisodeRow, RunStore

_MOST: Final = 60
"""Largest number of measures of a grader."""

_MOST_GRADERS: Final = 20


@dataclass(frozen=True, slots=True)
class MeasureTable:
    """The measures of one grader.

    Attributes:
        grader: Spec of the grader.
        graded: Number of graded episodes by agent.
        means: By name of the measure and agent, the mean and the number of its episodes.
    """

    grader: str
    graded: Mapping[str, int]
    means: Mapping[str, Mapping[str, tuple[float, int]]]


def measure_tables(store: RunStore, rows: Sequence[EpisodeRow]) -> list[MeasureTable]:
    """Return a table for each grader that stated measures, by its name.

    Of many graders the first ones have a table, and of many measures the first ones are in it.

    Raises:
        RecordError: A grading is damaged.
    """
    graded: dict[str, dict[str, int]] = {}
    values: dict[str, dict[str, dict[str, list[float]]]] = {}
    for row in rows:
        for grading in store.history.newest_gradings(row.id):
            is_known = grading.grader in graded or len(graded) < _MOST_GRADERS
            if (stated := grading.measured) is None or not is_known:
                continue
            count = graded.setdefault(grading.grader, {})
            count[row.plan.agent] = count.get(row.plan.agent, 0) + 1
            by_name = values.setdefault(grading.grader, {})
            for name, value in stated.measures.items():
                if name not in by_name and len(by_name) >= _MOST:
                    continue
                by_agent = by_name.setdefault(name, {})
                if value is not None:
                    by_agent.setdefault(row.plan.agent, []).append(value)
    return [
        MeasureTable(
            grader,
            graded[grader],
            {
                name: {agent: (math.fsum(v) / len(v), len(v)) for agent, v in by_agent.items()}
                for name, by_agent in by_name.items()
            },
        )
        for grader, by_name in sorted(values.items())
    ]
