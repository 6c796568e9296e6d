"""Judges recorded episodes again with the present verifier.

It judges the final state that the run has kept, and executes nothing. On demand it executes the
recorded actions again; if they lead to another state, a verdict on that would belong to another
episode, and the old verdict stays. An error of the verifier never replaces a score.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from agentgym.env.outcome import failed
from agentgym.errors import ReplayError
from agentgym.protocols import SandboxProvider
from agentgym.record import codec
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Audit, Verdict
from agentgym.rollout.reexecution import Divergence, recorded_periods, reexecute
from agentgym.rollout.repetition import is_broken
from agentgym.rollout.replay import SeenEnd, compare_ends, recorded_environment
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.task.load import find_task
from agentgym.verify.version import verifier_version

_JUDGED = ("scored", "error:verifier")
"""Statuses of episodes that ran to their end."""


class Fate(StrEnum):
    """The result of regrading for an episode's verdict."""

    REPLACED = "replaced"
    CURRENT = "current"
    KEPT = "kept"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Regrading:
    """The result of judging an episode again.

    Attributes:
        episode: Id of the episode.
        fate: Replaced; current, if the present verifier gave the old verdict; kept, for a reason;
            or skipped, because there is no whole episode to judge.
        reason: Reason why the old verdict was kept or the episode skipped, else empty.
        old: The verdict before, None if the episode had no verdict.
        new: The verdict that replaced it.
    """

    episode: int
    fate: Fate
    reason: str = ""
    old: Verdict | None = None
    new: Verdict | None = None


async def regrade_episode(
    store: RunStore,
    row: EpisodeRow,
    provider: SandboxProvider,
    *,
    force: bool = False,
    rerun: bool = False,
    named: Named = NOTHING_NAMED,
) -> Regrading:
    """Judge one episode again and record the verdict, with the old one in its history.

    Args:
        store: The run, open for writing.
        row: The episode.
        provider: Starts the sandbox.
        force: Judge the episode even if the present verifier has judged it.
        rerun: Execute its actions again and judge the result, even if its final state was kept.
        named: Names that the user gave in addition to the run.

    Returns:
        The result. Every failure becomes the reason why the old verdict was kept.

    Raises:
        RecordError: The record is damaged or cannot be written.
    """
    old = row.verdict
    if old is None or row.first is None or old.status not in _JUDGED:
        seen = row.state if old is None else old.status
        told = f"it is {seen}: there is no whole episode to judge"
        if not store.settings.get("recorded_by"):
            told += "; run: agentgym eval --resume"
        return Regrading(row.id, Fate.SKIPPED, told, old)
    if is_broken(old):
        return Regrading(row.id, Fate.KEPT, "its actions broke it: there is no end to judge", old)
    try:
        version = verifier_version(find_task(named.task(row.plan.task)))
        if old.verifier == version and not force:
            return Regrading(row.id, Fate.CURRENT, "", old)
        judge = _judge_rerun if rerun else _judge_kept
        judged = await judge(store, row, provider, named)
    except Exception as error:  # noqa: BLE001 - the boundary that classifies it
        ending = failed(error)
        return Regrading(row.id, Fate.KEPT, f"{ending.verdict.status}: {ending.error}", old)
    if isinstance(judged, Divergence):
        return Regrading(row.id, Fate.KEPT, f"re-execution diverged at {judged}", old)
    if not judged.scored:
        broken = next((c.message for c in judged.checkpoints if c.status == "error"), "")
        told = f"the present verifier gives no score: {judged.status} {broken}".rstrip()
        return Regrading(row.id, Fate.KEPT, told, old)
    store.history.replace_verdict(
        *(row.id, old, row.error, judged),
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        why=f"judged again {'on demand' if old.verifier == version else 'by another verifier'}"
        + (", on a re-execution" if rerun else ""),
    )
    return Regrading(row.id, Fate.REPLACED, "", old, judged)


async def _judge_kept(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named
) -> Verdict:
    """Judge the kept final state of an episode.

    Raises:
        ReplayError: No state was kept, or the task now begins with another world.
    """
    kept = store.endings.find(row.id)
    if kept is None or not kept.state:
        why = "the run is older than the keeping of final states"
        if find_task(named.task(row.plan.task)).foreign is not None:
            why = "tests of another format judge a live sandbox, which cannot be kept"
        elif kept is not None:
            why = kept.unkept or "it was not judged by agentgym's checks"
        raise ReplayError(
            f"its final state was not kept ({why}); to execute its actions again and judge what "
            f"they leave, run: agentgym regrade {store.folder} --episode {row.id} --rerun"
        )
    async with recorded_environment(store, row, provider, named) as environment:
        params = environment.task.instance(row.plan.seed).params
        if codec.canonical(params) != codec.canonical(row.params):
            raise ReplayError(
                f"the task fills its slots otherwise today: {codec.canonical(params)[:200]}, "
                f"recorded {codec.canonical(row.params)[:200]}; go back to the task as it was"
            )
        audit, state = row.audit or Audit(), store.endings.state(kept)
        steps = store.steps(row.id)
        return await environment.judge_kept(row.plan.seed, steps, audit, kept.evidence, state)


async def _judge_rerun(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named
) -> Verdict | Divergence:
    """Execute an episode's actions again and judge the result."""
    assert row.verdict is not None, "regrade_episode has seen to it"
    async with recorded_environment(store, row, provider, named) as environment:
        episode = await environment.start(row.plan.seed)
        end = SeenEnd(recorded_periods(store, row), episode)
        episode.on_end = end
        executed = await reexecute(
            *(episode, row, store.steps(row.id)),
            recorded_in=end.recorded_in,
            strict=True,
            forks=store.forks(row.id),
        )
        if executed.first is not None and executed.divergence is not None:
            return executed.first
        seen = executed.transition.verdict if executed.transition else None
        judged = seen or await executed.episode.finish()
        kept = store.endings.find(row.id)
        recorded = {} if kept is None else kept.evidence
        fields = ("state_hash",) if row.verdict.state_hash and judged.state_hash else ()
        found = compare_ends(row.verdict, judged, executed, recorded, end.evidence, fields=fields)
        return judged if found.divergence is None else found.first or found.divergence
