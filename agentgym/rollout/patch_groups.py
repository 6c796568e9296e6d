"""Recorded attempts as groups for scorers of patches: the patches at one task with one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgym import plugins
from agentgym.errors import AgentGymError
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import PatchAttempt, PatchProblem
from agentgym.rollout.patches import recorded_patch
from agentgym.rollout.trust import Named
from agentgym.swe.diff import write_diff
from agentgym.swe.repair import repair_of, text_of
from agentgym.task.load import find_task


@dataclass(frozen=True, slots=True)
class AttemptGroup:
    """The attempts at one task with one seed.

    Attributes:
        problem: The issue.
        seed: Seed of the episodes.
        episodes: Ids of the episodes.
        attempts: Their patches, in the same order.
    """

    problem: PatchProblem
    seed: int
    episodes: tuple[int, ...]
    attempts: tuple[PatchAttempt, ...]


async def attempt_groups(
    store: RunStore, rows: Sequence[EpisodeRow], named: Named, tell: Callable[[str], None]
) -> list[AttemptGroup]:
    """Return the scored attempts of episodes in groups.

    Args:
        store: The run.
        rows: Episodes of it. Those without a score, and of other tasks, are left out and told.
        named: Names that the user gave in addition to the run.
        tell: Gets a line for each attempt that is left out.

    Raises:
        RecordError: The record is damaged.
    """
    found: dict[tuple[str, int], list[tuple[int, PatchAttempt]]] = {}
    problems: dict[tuple[str, int], PatchProblem] = {}
    for row in rows:
        if row.verdict is None or not row.verdict.scored:
            tell(f"episode {row.id}: left out, it has no score")
            continue
        key = (row.plan.task, row.plan.seed)
        try:
            attempt = await _attempt(store, row, named)
            if key not in problems:
                problems[key] = _problem(row, named)
        except AgentGymError as error:
            tell(f"episode {row.id}: left out: {error}")
            continue
        found.setdefault(key, []).append((row.id, attempt))
    return [
        AttemptGroup(
            problems[key], key[1], tuple(id for id, _ in own), tuple(each for _, each in own)
        )
        for key, own in found.items()
    ]


def _problem(row: EpisodeRow, named: Named) -> PatchProblem:
    task = find_task(named.task(row.plan.task))
    repair = repair_of(task)
    return PatchProblem(task.id, row.instruction, {} if repair is None else repair.before)


async def _attempt(store: RunStore, row: EpisodeRow, named: Named) -> PatchAttempt:
    assert row.verdict is not None, "attempt_groups has seen to it"
    provider = plugins.make_provider(named.provider(row.sandbox))
    try:
        patch = await recorded_patch(store, row, provider, named)
    finally:
        await provider.close()
    after = {change.path: text_of(change.after) for change in patch.changes}
    return PatchAttempt(write_diff(patch), after, row.verdict.outcome)
