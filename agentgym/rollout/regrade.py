"""Judging recorded episodes again with the verifier of today.

The recorded actions are executed again in a fresh sandbox, and what they leave is judged. Where the
re-execution shows anything else than the record, its verdict would be about another episode: the
old one stays. An error of the verifier never replaces a score.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Verdict
from agentgym.rollout.replay import open_environment
from agentgym.rollout.retrace import Divergence, recorded_periods, retrace
from agentgym.rollout.run import failed
from agentgym.task.load import find_task
from agentgym.verify.version import verifier_version

_JUDGED = ("scored", "error:verifier")
"""Verdicts on episodes that were played to their end."""


class Fate(StrEnum):
    """What became of an episode's verdict."""

    REPLACED = "replaced"
    CURRENT = "current"
    KEPT = "kept"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Regrading:
    """How judging an episode again went.

    Attributes:
        episode: Its id.
        fate: Replaced; current, as the present verifier gave it before; kept, for a reason; or
            skipped, for there is no whole episode to judge.
        reason: Why the old verdict was kept or the episode skipped, else empty.
        old: The verdict before, None where there was none.
        new: The verdict that replaced it.
    """

    episode: int
    fate: Fate
    reason: str = ""
    old: Verdict | None = None
    new: Verdict | None = None


async def regrade_episode(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, *, force: bool = False
) -> Regrading:
    """Judge one episode again and record the verdict, with the old one in its history.

    Args:
        store: The run, open for writing.
        row: The episode.
        provider: Where the sandbox comes from.
        force: Judge it also where the present verifier has.

    Returns:
        What became of the verdict. Whatever is broken is the reason why it was kept.

    Raises:
        RecordError: The record is damaged or cannot be written.
    """
    old = row.verdict
    if old is None or row.first is None or old.status not in _JUDGED:
        seen = row.state if old is None else old.status
        told = f"it is {seen}: there is no whole episode to judge; run: agentgym eval --resume"
        return Regrading(row.id, Fate.SKIPPED, told, old)
    try:
        version = verifier_version(find_task(row.plan.task))
        if old.verifier == version and not force:
            return Regrading(row.id, Fate.CURRENT, "", old)
        judged = await _judge(store, row, provider)
    except Exception as error:  # noqa: BLE001 - the boundary that classifies it
        ending = failed(error)
        return Regrading(row.id, Fate.KEPT, f"{ending.verdict.status}: {ending.error}", old)
    difference = judged if isinstance(judged, Divergence) else _other_state(old, judged)
    if difference is not None:
        return Regrading(row.id, Fate.KEPT, f"re-execution diverged at {difference}", old)
    assert isinstance(judged, Verdict)
    if not judged.scored:
        broken = next((c.message for c in judged.checkpoints if c.status == "error"), "")
        told = f"the present verifier gives no score: {judged.status} {broken}".rstrip()
        return Regrading(row.id, Fate.KEPT, told, old)
    store.history.replace_verdict(
        *(row.id, old, row.error, judged),
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        why=f"judged again {'on demand' if old.verifier == version else 'by another verifier'}",
    )
    return Regrading(row.id, Fate.REPLACED, "", old, judged)


async def _judge(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider
) -> Verdict | Divergence:
    """Execute an episode's actions again and judge what they leave."""
    async with open_environment(store, row, provider) as env:
        first = await env.reset(row.plan.seed)
        trail = await retrace(
            *(env, first, row, store.steps(row.id)),
            recorded_in=recorded_periods(store, row),
            strict=True,
        )
        if trail.divergence is not None:
            return trail.divergence
        seen = trail.transition.verdict if trail.transition else None
        return seen or await env.finish()


def _other_state(old: Verdict, new: Verdict) -> Divergence | None:
    """Compare the files that were left, where both verdicts say what they were."""
    if not old.state_hash or not new.state_hash or old.state_hash == new.state_hash:
        return None
    return Divergence(-1, "state_hash", old.state_hash, new.state_hash)
