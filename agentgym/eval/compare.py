"""Compares agents, of one run or of several, over the tasks and seeds that all of them played.

Two agents are compared in pairs: on the same task with the same seed, as Miller 2024
(arXiv:2411.00640) recommends. Most of the spread between episodes is a spread between tasks, which
the difference within a pair does not have. Intervals are clustered by task, as in `results.json`.

A pair compares nothing if its task was judged by other checks or began in another state; it is left
out. An episode without a score is missing data: its pairs are left out, too, and the bounds say how
far all such episodes could move the difference. Pairs of two other agents stay.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentgym.errors import ConfigError, NotFoundError
from agentgym.eval.settings import Settings, read_settings
from agentgym.eval.statistics import Estimate, estimate_mean
from agentgym.record.store import EpisodeRow, RunStore

SCHEMA: Final = "agentgym.comparison/1"

_DECIDING: Final = (
    *("sandbox", "image_fallbacks", "max_steps", "timeout_s", "offline", "judge", "user"),
    *("surfaces", "agentgym"),
)
"""Settings that may change a score."""
_EQUAL: Final = 1e-9
"""Scores of a task that differ less are equal."""

Cell = tuple[str, int]
"""A task and a seed."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One agent of one run.

    Attributes:
        name: Spec of the agent; with the run, if several runs have an agent of that spec.
        agent: Spec of the agent.
        run: Folder of the run.
        settings: Settings of the run.
        cells: Its planned episodes by task and seed; several where a seed was played again.
    """

    name: str
    agent: str
    run: Path
    settings: Settings
    cells: Mapping[Cell, Sequence[EpisodeRow]]

    def is_called(self, text: str) -> bool:
        """Return whether a text is its name or its spec."""
        return text in (self.name, self.agent)


@dataclass(frozen=True, slots=True)
class Standing:
    """One agent on the pairs on which every agent has a score.

    Attributes:
        score: Mean score.
        passed: Share of passed episodes.
        by_task: Mean score of each task.
    """

    score: Estimate
    passed: Estimate
    by_task: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """One agent minus the baseline, in pairs on which both have a score.

    Attributes:
        pairs: Number of these pairs.
        score: Difference of the mean scores.
        passed: Difference of the shares of passed episodes.
        bounds: Smallest and largest difference of the mean scores that the episodes without a score
            could make.
        better: Number of tasks with a higher mean score than the baseline's.
        equal: Number of tasks with the same.
        worse: Number of tasks with a lower one.
    """

    pairs: int
    score: Estimate
    passed: Estimate
    bounds: tuple[float, float]
    better: int
    equal: int
    worse: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agents on what all of them played.

    Attributes:
        baseline: Name of the agent with which the others are compared.
        pairs: Number of tasks and seeds on which every agent has a score.
        tasks: Number of tasks among them.
        unscored: By name of an agent, the number of its episodes without a score on what is
            compared; without the agents that have none.
        left_out: Why other tasks and seeds are left out, with their number.
        unlike: Settings that differ between the runs, each with its values.
        begun_unlike: Number of compared tasks and seeds whose first observation, with the
            instruction in it, is not the same everywhere.
        standings: Every agent by name, the best first.
        differences: Every agent but the baseline by name.
    """

    baseline: str
    pairs: int
    tasks: int
    unscored: Mapping[str, int]
    left_out: Mapping[str, int]
    unlike: Mapping[str, Sequence[Any]]
    begun_unlike: int
    standings: Mapping[str, Standing]
    differences: Mapping[str, Difference]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, schema ``agentgym.comparison/1``."""
        return {"schema": SCHEMA, **asdict(self)}


def read_contestants(folders: Sequence[Path], agents: Sequence[str] = ()) -> list[Contestant]:
    """Read the agents of runs, in the order of the runs.

    Args:
        folders: The run folders; none may be named twice.
        agents: Specs or names of the agents to compare; all if empty.

    Raises:
        ConfigError: A folder is named twice, or fewer than two agents are left.
        NotFoundError: No run has an agent of that name.
        RecordError: A folder holds no run, or it is damaged.
    """
    real = [folder.resolve() for folder in folders]
    if len(set(real)) < len(real):
        raise ConfigError("a run is named twice; name each run once")
    found = [contestant for folder in folders for contestant in _of_run(folder)]
    specs = Counter(contestant.agent for contestant in found)
    named = [
        replace(one, name=f"{one.agent} ({one.run})") if specs[one.agent] > 1 else one
        for one in found
    ]
    for agent in agents:
        if not any(one.is_called(agent) for one in named):
            raise NotFoundError("agent in these runs", agent, specs)
    chosen = [one for one in named if not agents or any(map(one.is_called, agents))]
    if len(chosen) < 2:
        raise ConfigError("a comparison needs at least two agents, of one run or of several")
    return chosen


def compare(contestants: Sequence[Contestant], baseline: str = "") -> Comparison:
    """Compare agents with one of them.

    Args:
        contestants: At least two agents.
        baseline: Name of the one with which the others are compared, or its spec if no other one
            has it; empty: the first.

    Raises:
        ConfigError: The agents have no task and seed in common that can be compared, or several
            have the baseline's spec.
        NotFoundError: No agent has the baseline's name.
    """
    base = _baseline(contestants, baseline or contestants[0].name)
    common, left_out = _common(contestants)
    if not common:
        why = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise ConfigError(f"there is no task and seed on which the agents can be compared: {why}")
    whole = [cell for cell in common if all(_scores(one, cell) for one in contestants)]
    standings = {one.name: _standing(one, whole) for one in contestants}
    ranked = sorted(standings.items(), key=lambda item: -(item[1].score.mean or 0.0))
    return Comparison(
        baseline=base.name,
        pairs=len(whole),
        tasks=len({task for task, _ in whole}),
        unscored={one.name: count for one in contestants if (count := _unscored(one, common))},
        left_out=left_out,
        unlike=_unlike(contestants),
        begun_unlike=sum(_begun_unlike(contestants, cell) for cell in common),
        standings=dict(ranked),
        differences={
            one.name: _difference(one, base, common) for one in contestants if one is not base
        },
    )


def _baseline(contestants: Sequence[Contestant], name: str) -> Contestant:
    called = [one for one in contestants if one.is_called(name)]
    if not called:
        raise NotFoundError(
            "agent to compare with", name, dict.fromkeys(one.name for one in contestants)
        )
    if len(called) > 1:
        names = ", ".join(repr(one.name) for one in called)
        raise ConfigError(f"{len(called)} runs have an agent {name!r}; name one of them: {names}")
    return called[0]


def _of_run(folder: Path) -> Iterator[Contestant]:
    store = RunStore.open(folder)
    try:
        settings = read_settings(store)
        rows = [row for row in store.episodes() if row.parent is None]
    finally:
        store.close()
    by_agent: dict[str, dict[Cell, list[EpisodeRow]]] = {}
    for row in rows:
        cells = by_agent.setdefault(row.plan.agent, {})
        cells.setdefault((row.plan.task, row.plan.seed), []).append(row)
    for agent, cells in by_agent.items():
        yield Contestant(agent, agent, folder, settings, cells)


def _common(contestants: Sequence[Contestant]) -> tuple[list[Cell], dict[str, int]]:
    """Return what can be compared, and how much cannot, by reason."""
    every = dict.fromkeys(cell for one in contestants for cell in one.cells)
    common: list[Cell] = []
    left_out: dict[str, int] = {}
    for cell in every:
        reason = _obstacle(contestants, cell)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
        else:
            common.append(cell)
    return common, left_out


def _obstacle(contestants: Sequence[Contestant], cell: Cell) -> str:
    """Return why a task and seed cannot be compared; empty if it can."""
    if any(cell not in one.cells for one in contestants):
        return "not played by every agent"
    rows = [row for one in contestants for row in one.cells[cell]]
    if len({row.verdict.verifier for row in rows if row.verdict and row.verdict.scored}) > 1:
        return "judged by different versions of the checks (agentgym regrade judges them again)"
    begun = [row for row in rows if row.first is not None]
    if any(row.params != begun[0].params for row in begun):
        return "with different parameters of the task"
    if len({row.prepared for row in begun if row.prepared}) > 1:
        return "begun from different states of the setup"
    return ""


def _begun_unlike(contestants: Sequence[Contestant], cell: Cell) -> bool:
    """Return whether the first observations of a task and seed differ, as after an edit of it."""
    rows = [row for one in contestants for row in one.cells[cell]]
    return len({row.instruction for row in rows if row.first is not None}) > 1


def _scores(contestant: Contestant, cell: Cell) -> list[tuple[float, bool]]:
    """Return the score and the outcome of the scored episodes."""
    verdicts = [row.verdict for row in contestant.cells[cell]]
    return [(each.score, each.outcome) for each in verdicts if each is not None and each.scored]


def _unscored(contestant: Contestant, cells: Sequence[Cell]) -> int:
    return sum(len(contestant.cells[cell]) - len(_scores(contestant, cell)) for cell in cells)


def _means(contestant: Contestant, cell: Cell) -> tuple[float, float]:
    """Return the mean score and the share of passed episodes of a cell that has scores."""
    scores, outcomes = zip(*_scores(contestant, cell), strict=True)
    return math.fsum(scores) / len(scores), sum(outcomes) / len(outcomes)


def _grouped(values: Mapping[Cell, float]) -> dict[str, list[float]]:
    by_task: dict[str, list[float]] = {}
    for (task, _), value in values.items():
        by_task.setdefault(task, []).append(value)
    return by_task


def _standing(contestant: Contestant, cells: Sequence[Cell]) -> Standing:
    means = {cell: _means(contestant, cell) for cell in cells}
    scores = _grouped({cell: score for cell, (score, _) in means.items()})
    passed = _grouped({cell: share for cell, (_, share) in means.items()})
    return Standing(
        estimate_mean(list(scores.values())),
        estimate_mean(list(passed.values())),
        {task: math.fsum(group) / len(group) for task, group in scores.items()},
    )


def _difference(contestant: Contestant, base: Contestant, common: Sequence[Cell]) -> Difference:
    """Return a contestant minus the baseline, on tasks and seeds that both played."""
    pairs = {
        cell: (_means(contestant, cell), _means(base, cell))
        for cell in common
        if _scores(contestant, cell) and _scores(base, cell)
    }
    scores = _grouped({cell: own[0] - other[0] for cell, (own, other) in pairs.items()})
    passed = _grouped({cell: own[1] - other[1] for cell, (own, other) in pairs.items()})
    by_task = [math.fsum(group) / len(group) for group in scores.values()]
    ends = [
        math.fsum(
            _filled(contestant, cell, missing) - _filled(base, cell, 1.0 - missing)
            for cell in common
        )
        / len(common)
        for missing in (0.0, 1.0)
    ]
    return Difference(
        len(pairs),
        estimate_mean(list(scores.values()), least=-1.0),
        estimate_mean(list(passed.values()), least=-1.0),
        (ends[0], ends[1]),
        better=sum(value > _EQUAL for value in by_task),
        equal=sum(abs(value) <= _EQUAL for value in by_task),
        worse=sum(value < -_EQUAL for value in by_task),
    )


def _filled(contestant: Contestant, cell: Cell, missing: float) -> float:
    """Return the mean score of a cell in which every episode without a score has this one."""
    scores = [score for score, _ in _scores(contestant, cell)]
    planned = len(contestant.cells[cell])
    return (math.fsum(scores) + missing * (planned - len(scores))) / planned


def _unlike(contestants: Sequence[Contestant]) -> dict[str, list[Any]]:
    """Return the settings that differ, with the value of each run."""
    runs = {one.run: one.settings for one in contestants}
    found = {}
    for name in _DECIDING:
        values = [getattr(settings, name) for settings in runs.values()]
        if any(value != values[0] for value in values):
            found[name] = values
    return found
