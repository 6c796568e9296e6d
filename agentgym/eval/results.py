"""`results.json`, schema ``agentgym.results/1``: a pure function of the run record.

Only scored episodes count in means; errors are counted separately and never as zero. An episode
whose policy failed is scored, and its `error` says how it failed. If episodes are missing, `bounds`
holds the number that would result if all of them scored 0, or all scored 1; agents are ranked by
the lower one, so an episode without a score improves no rank. Forks and branches of an episode are
not part of the plan: `branches` lists them beside the episodes of their task, and no number counts
them. A `ci95` is null if the scored tasks agree, or are fewer than two: the spread is then unknown.
`robustness` is the mean score of the episodes in which a fault fired, null if no fault fired:
robustness is only measured under faults. `path_efficiency` compares the steps of passed episodes
with those of the solution, which the run has to have played, too. `calls_by_surface` counts the
calls that each surface has executed, so that the use of tools and of a screen can be compared.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from agentgym import __version__
from agentgym.errors import RecordError
from agentgym.eval.judges import kinship_warnings
from agentgym.eval.settings import Settings, read_settings
from agentgym.eval.statistics import (
    Estimate,
    estimate_mean,
    estimate_pass,
    pass_at_k,
    pass_hat_k,
)
from agentgym.record.folder import RunFolder
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import CheckpointResult, StepEvent, StepEventKind, Verdict

SCHEMA = "agentgym.results/1"
SOLUTION = "oracle"
"""The agent that plays a task's own solution."""


def build_results(store: RunStore, episodes: Sequence[EpisodeRow] | None = None) -> dict[str, Any]:
    """Return the content of `results.json`; for an unfinished run, what is known so far.

    The agents of the summary are ordered by the lower bound of their mean score, best first.

    Args:
        store: The record of the run.
        episodes: All its episodes, if they have been read already.

    Raises:
        RecordError: The record is damaged.
    """
    settings = read_settings(store)  # validates what is written below against the schema
    every = store.episodes() if episodes is None else episodes
    rows = [row for row in every if row.parent is None]
    trials = 1 + max((row.plan.trial for row in rows), default=0)
    if not 0 < trials <= max(1, len(rows)):
        raise RecordError(f"{store.folder} is damaged: {len(rows)} episodes, one of trial {trials}")
    shortest = _shortest(rows)
    # A run may have 100,000 tasks or agents: each is looked up, not searched for in all episodes.
    by_task: dict[str, list[EpisodeRow]] = {row.plan.task: [] for row in rows}
    for row in every:
        by_task.setdefault(row.plan.task, []).append(row)
    by_agent: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        by_agent.setdefault(row.plan.agent, []).append(row)
    happened = _by_episode(store.events())
    summary = {agent: _summary(own, trials, happened, shortest) for agent, own in by_agent.items()}
    return {
        "schema": SCHEMA,
        "agentgym": __version__,
        "complete": all(row.verdict is not None for row in rows),
        "settings": dict(store.settings),
        "warnings": kinship_warnings(settings),
        "summary": dict(sorted(summary.items(), key=lambda item: _rank(item[1]))),
        "tasks": [
            {
                "task": task,
                **_fallbacks(settings, task),
                "setups": _setups([row for row in by_task[task] if row.parent is None]),
                "episodes": [
                    _episode(row, row.verdict)
                    for row in by_task[task]
                    if row.parent is None and row.verdict is not None
                ],
                **_branches(by_task[task]),
            }
            for task in dict.fromkeys(row.plan.task for row in rows)
        ],
    }


def write_results(results: dict[str, Any], path: Path) -> None:
    """Write `results.json`.

    Raises:
        RecordError: The disk is full or the folder cannot be written.
    """
    with whole_file(path) as file:
        try:
            file.write(json.dumps(results, indent=2) + "\n")
        except RecursionError as error:
            raise RecordError(f"{path}: the record holds values nested too deeply") from error


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Write a text file atomically: a reader sees the old file or the whole new one.

    Raises:
        RecordError: The file cannot be written; the old file is unchanged.
    """
    try:
        with (
            RunFolder(path.parent).replacing(path.name) as binary,
            io.TextIOWrapper(binary, encoding="utf-8", errors="replace") as file,
        ):
            yield file
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from error


def _shortest(rows: Sequence[EpisodeRow]) -> dict[tuple[str, int], int]:
    """Return the fewest steps of a passed episode of the solution, by task and seed."""
    found: dict[tuple[str, int], int] = {}
    for row in rows:
        if row.plan.agent == SOLUTION and _is_passed(row) and row.steps > 0:
            key = (row.plan.task, row.plan.seed)
            found[key] = min(row.steps, found.get(key, row.steps))
    return found


def _by_episode(events: Iterable[tuple[int, StepEvent]]) -> dict[int, list[StepEvent]]:
    found: dict[int, list[StepEvent]] = {}
    for episode, event in events:
        found.setdefault(episode, []).append(event)
    return found


def _path_efficiency(
    rows: Sequence[EpisodeRow], shortest: Mapping[tuple[str, int], int]
) -> float | None:
    """Return the mean over the tasks of the solution's steps by those of the passed episodes."""
    shares: dict[str, list[float]] = {}
    for row in rows:
        best = shortest.get((row.plan.task, row.plan.seed))
        if best is not None and _is_passed(row) and row.steps > 0:
            shares.setdefault(row.plan.task, []).append(min(1.0, best / row.steps))
    return estimate_mean(list(shares.values())).mean


def _summary(
    rows: Sequence[EpisodeRow],
    k: int,
    events: Mapping[int, Sequence[StepEvent]],
    shortest: Mapping[tuple[str, int], int],
) -> dict[str, Any]:
    """Summarise the rows of one agent, planned with `k` trials of every task.

    Args:
        rows: Episodes of the agent.
        k: Trials of every task.
        events: Events around all agents by the id of their episode.
        shortest: Steps of the solution by task and seed.
    """
    own = {row.id: events.get(row.id, ()) for row in rows}
    faulted = {
        episode
        for episode, happened in own.items()
        if any(event.kind is StepEventKind.FAULT for event in happened)
    }
    turns = [
        event.turn for happened in own.values() for event in happened if event.turn is not None
    ]
    done = [row for row in rows if row.verdict is not None]
    scored: dict[str, list[Verdict]] = {row.plan.task: [] for row in rows}
    tried: dict[str, list[float]] = {row.plan.task: [] for row in rows}
    for row in rows:
        if row.verdict is not None and _is_scored(row):
            scored[row.plan.task].append(row.verdict)
            if row.id in faulted:
                tried[row.plan.task].append(row.verdict.score)
    verdicts = [verdict for group in scored.values() for verdict in group]
    outcomes = [[verdict.outcome for verdict in group] for group in scored.values()]
    at_k = estimate_pass(pass_at_k, outcomes, k)
    return {
        "episodes": len(done),
        "unfinished": len(rows) - len(done),
        "scored": len(verdicts),
        "errors": len(done) - len(verdicts),
        "errors_by_status": _errors(done),
        "policy_failures": sum(bool(row.error) for row in done if _is_scored(row)),
        "k": k,
        "tasks": len(scored),
        "tasks_left_out_at_k": at_k.left_out,
        **_estimate("mean_score", estimate_mean([[v.score for v in g] for g in scored.values()])),
        **_estimate("pass@1", estimate_pass(pass_at_k, outcomes, 1)),
        **_estimate("pass@k", at_k),
        **_estimate("pass^k", estimate_pass(pass_hat_k, outcomes, k)),
        **_bounds(rows, k),
        "mean_bonus": _mean_bonus(scored.values()),
        "faulted": sum(map(len, tried.values())),
        **_estimate("robustness", estimate_mean(list(tried.values()))),
        "user_turns": len(turns),
        "user_turns_not_understood": sum(not turn.understood for turn in turns),
        "safety_violations": sum(len(verdict.safety_violations) for verdict in verdicts),
        "uncontrollable": sum(len(verdict.uncontrollable) for verdict in verdicts),
        "words_judged": sum(verdict.words == "judged" for verdict in verdicts),
        "words_not_judged": sum(verdict.words == "not judged" for verdict in verdicts),
        "steps": sum(row.steps for row in done),
        "calls_by_surface": _calls_by_surface(done),
        "path_efficiency": _path_efficiency(done, shortest),
        "tokens": _tokens(done),
        "duration_s": round(sum(row.duration_s for row in done), 3),
    }


def _calls_by_surface(rows: Iterable[EpisodeRow]) -> dict[str, int]:
    calls: Counter[str] = Counter()
    for row in rows:
        if row.audit is not None:
            calls.update(row.audit.surface_calls)
    return dict(sorted(calls.items()))


def _setups(rows: Sequence[EpisodeRow]) -> dict[str, list[str]]:
    """Return the digests of the prepared setups that a task's episodes started from, by seed.

    Each seed has one, unless the setup differs from run to run or has been changed.
    """
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.prepared:
            found.setdefault(str(row.plan.seed), set()).add(row.prepared)
    return {seed: sorted(of_seed) for seed, of_seed in found.items()}


def _fallbacks(settings: Settings, task: str) -> dict[str, Any]:
    used = settings.image_fallbacks.get(task)
    return {"image_fallbacks": dict(used)} if used else {}


def _is_scored(row: EpisodeRow) -> bool:
    return row.verdict is not None and row.verdict.scored


def _is_passed(row: EpisodeRow) -> bool:
    return row.verdict is not None and row.verdict.scored and bool(row.verdict.outcome)


def _errors(rows: Sequence[EpisodeRow]) -> dict[str, int]:
    """Count the episodes without a score by the boundary that failed."""
    counts = Counter(row.verdict.status for row in rows if row.verdict and not _is_scored(row))
    return dict(sorted(counts.items()))


def _bounds(rows: Sequence[EpisodeRow], k: int) -> dict[str, list[float | None]]:
    """Return the headline numbers with every missing episode scored 0, and scored 1."""
    ends = []
    for missing in (Verdict("scored", False, 0.0), Verdict("scored", True, 1.0)):
        groups: dict[str, list[Verdict]] = {row.plan.task: [] for row in rows}
        for row in rows:
            seen = row.verdict if row.verdict is not None and row.verdict.scored else missing
            groups[row.plan.task].append(seen)
        outcomes = [[verdict.outcome for verdict in group] for group in groups.values()]
        ends.append(
            {
                "mean_score": estimate_mean([[v.score for v in g] for g in groups.values()]),
                "pass@1": estimate_pass(pass_at_k, outcomes, 1),
                "pass@k": estimate_pass(pass_at_k, outcomes, k),
                "pass^k": estimate_pass(pass_hat_k, outcomes, k),
            }
        )
    low, high = ends
    return {f"{name}_bounds": [low[name].mean, high[name].mean] for name in low}


def _mean_bonus(groups: Iterable[Sequence[Verdict]]) -> float | None:
    """Return the mean over the tasks that offer a bonus; None if no task does."""
    offered = [[v.bonus for v in group if v.bonus is not None] for group in groups]
    return estimate_mean([group for group in offered if group]).mean


def _rank(summary: dict[str, Any]) -> tuple[bool, float]:
    low, _ = summary["mean_score_bounds"]
    return summary["mean_score"] is None, -(low or 0.0)


def _estimate(name: str, estimate: Estimate) -> dict[str, Any]:
    interval = None if estimate.ci95 is None else list(estimate.ci95)
    return {name: estimate.mean, f"{name}_ci95": interval}


def _tokens(rows: Sequence[EpisodeRow]) -> dict[str, int]:
    return {
        "prompt": sum(row.usage.prompt for row in rows),
        "completion": sum(row.usage.completion for row in rows),
        "total": sum(row.usage.total for row in rows),
    }


def _episode(row: EpisodeRow, verdict: Verdict) -> dict[str, Any]:
    episode: dict[str, Any] = {
        "id": row.id,
        "task": row.plan.task,
        "seed": row.plan.seed,
        "trial": row.plan.trial,
        "agent": row.plan.agent,
        "status": verdict.status,
        "outcome": verdict.outcome if verdict.scored else None,
        "score": verdict.score if verdict.scored else None,
        "process": verdict.process if verdict.scored else None,
        "bonus": verdict.bonus if verdict.scored else None,
        "safety_violations": list(verdict.safety_violations),
        "uncontrollable": list(verdict.uncontrollable),
        "verifier": verdict.verifier,
        "checkpoints": [_checkpoint(checkpoint) for checkpoint in verdict.checkpoints],
        "steps": row.steps,
        "calls_by_surface": _calls_by_surface([row]),
        "duration_s": round(row.duration_s, 3),
        "reset_s": round(row.reset_s, 4),
        "tokens": _tokens([row]),
    }
    if row.plan.group is not None:
        episode["group"] = row.plan.group
    if row.plan.metadata is not None:
        episode["metadata"] = dict(row.plan.metadata)
    if row.error:
        episode["error"] = row.error
    if verdict.words:
        episode["words"] = verdict.words
    return episode


def _branches(rows: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return the forks and branches of a task's episodes, which are not counted."""
    found = [
        {
            **_episode(row, row.verdict),
            "parent": row.parent[0],
            "parent_step": row.parent[1],
            "forked": row.forked,
        }
        for row in rows
        if row.parent is not None and row.verdict is not None
    ]
    return {"branches": found} if found else {}


def _checkpoint(checkpoint: CheckpointResult) -> dict[str, Any]:
    """Return a node without its message, which the record keeps: it may quote the agent."""
    return {
        "id": checkpoint.id,
        "phase": checkpoint.phase.value,
        "status": checkpoint.status.value,
        "score": checkpoint.score,
        "weight": checkpoint.weight,
        "depth": checkpoint.depth,
        "gate": checkpoint.gate,
        "bonus": checkpoint.bonus,
        "controllable": checkpoint.controllable,
        "step": checkpoint.step,
        "channels": list(checkpoint.channels),
    }
