"""Uses a record after the run: verifies that an episode re-executes to the recorded end.

Observations are compared step by step (`reexecution`), then the verdicts and the state hashes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agentgym.env.ending import EndedEpisode
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.errors import ReplayError
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.times import Period
from agentgym.records import Json, Verdict
from agentgym.rollout.reexecution import Divergence, Reexecution, recorded_periods, reexecute
from agentgym.rollout.repetition import is_broken
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.task.load import find_task
from agentgym.verify.manifest import differing_files

__all__ = [
    "Agreement",
    "Divergence",
    "SeenEnd",
    "Verification",
    "compare_ends",
    "recorded_environment",
    "verify_episode",
]


class Agreement(StrEnum):
    """The degree to which a re-execution agrees with the record."""

    SAME = "same"
    TEXT_DIFFERS = "text differs, state agrees"
    STATE_DIFFERS = "state differs"


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of executing an episode again.

    Attributes:
        divergence: Reason why the states differ: the first difference outside text; or in text, if
            the record has no final state to compare.
        texts: The first difference of each step whose text differs, without volatile text.
        files: Files of the final state that differ only in volatile text.
    """

    divergence: Divergence | None = None
    texts: tuple[Divergence, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def first(self) -> Divergence | None:
        """First difference of any kind."""
        if not self.texts:
            return self.divergence
        text, other = self.texts[0], self.divergence
        # A different event or fault explains the different observation of that step.
        return other if other is not None and 0 <= other.step <= text.step else text

    @property
    def agreement(self) -> Agreement:
        """Degree to which the re-execution agrees with the record."""
        if self.divergence is not None:
            return Agreement.STATE_DIFFERS
        return Agreement.TEXT_DIFFERS if self.texts or self.files else Agreement.SAME


async def verify_episode(
    store: RunStore, episode_id: int, provider: SandboxProvider, *, named: Named = NOTHING_NAMED
) -> Verification:
    """Execute an episode's actions again and compare the result with the record.

    Verdicts are compared if the record has a score. An episode that failed, is not over, or was
    broken by its actions is compared step by step only.

    Args:
        store: The run.
        episode_id: Id of the episode in the run.
        provider: Starts the sandbox.
        named: Names that the user gave in addition to the run.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        ReplayError: The episode has not begun.
        AgentGymError: The task, the sandbox or the record is broken.
    """
    row = store.episode(episode_id)
    if row.first is None:
        raise ReplayError(f"episode {episode_id} cannot be verified: it has not begun")
    async with recorded_environment(store, row, provider, named) as environment:
        episode = await environment.start(row.plan.seed)
        end = SeenEnd(recorded_periods(store, row), episode)
        episode.on_end = end
        steps = store.steps(episode_id)
        executed = await reexecute(
            *(episode, row, steps),
            recorded_in=end.recorded_in,
            strict=True,
            forks=store.forks(episode_id),
        )
        if executed.divergence:
            return Verification(executed.first, executed.texts)
        if row.verdict is None or not row.verdict.scored or is_broken(row.verdict):
            return Verification(executed.first, executed.texts)
        seen = executed.transition.verdict if executed.transition else None
        seen = seen or await executed.episode.finish()
        kept = store.endings.find(row.id)
        recorded = {} if kept is None else kept.evidence
        # Another judge may decide otherwise, and so may a run without a judge: compare only states.
        fields = {} if seen.words == row.verdict.words else {"fields": ("state_hash",)}
        return compare_ends(row.verdict, seen, executed, recorded, end.evidence, **fields)


class SeenEnd:
    """Keeps the end of a re-executed episode.

    Args:
        recorded_in: Periods of the recording.
        episode: The re-executed episode.
    """

    def __init__(self, recorded_in: tuple[Period, ...], episode: Episode) -> None:
        self.recorded_in, self._episode = recorded_in, episode
        self.evidence: Mapping[str, Json] = {}

    async def __call__(self, ended: EndedEpisode, verdict: Verdict) -> None:
        """Keep the evidence of the verdict."""
        now = Period(self._episode.began_s, time.time())
        self.evidence = await ended.evidence(Masking((*self.recorded_in, now)))


def compare_ends(
    recorded: Verdict,
    seen: Verdict,
    executed: Reexecution,
    was: Mapping[str, Json],
    now: Mapping[str, Json],
    *,
    fields: Sequence[str] = ("status", "state_hash", "score", "outcome"),
) -> Verification:
    """Compare the end of a re-execution with the recorded one.

    Args:
        recorded: The recorded verdict.
        seen: The verdict on the re-execution.
        executed: Result of the re-execution.
        was: The recorded evidence, empty if the record has no evidence.
        now: The evidence of the re-execution.
        fields: Fields of the verdicts to compare.
    """
    difference: Divergence | None = None
    files: tuple[str, ...] = ()
    for field in fields:
        left, right = getattr(recorded, field), getattr(seen, field)
        if left == right or difference:
            continue
        found = differing_files(was, now) if field == "state_hash" else None
        if found is None:
            difference = Divergence(-1, field, str(left), str(right))
        else:
            files = found
    if difference is None and executed.texts and not recorded.state_hash:
        difference = executed.texts[0]
    return Verification(difference, executed.texts, files)


def recorded_surfaces(store: RunStore) -> tuple[str, ...]:
    """Return the surfaces of a run that replace those of its environments; empty if none do."""
    names = store.settings.get("surfaces")
    return tuple(map(str, names)) if isinstance(names, list | tuple) else ()


def recorded_environment(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> Environment:
    """Return the environment of a recorded episode with the run's own limit and user.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        AgentGymError: The task or its environment is broken.
    """
    task = find_task(named.task(row.plan.task))
    named.admit(row.plan.task, task)
    task = task.with_surfaces(recorded_surfaces(store))
    bound, user = store.settings.get("max_steps"), store.settings.get("user")
    return Environment(
        task,
        provider,
        max_steps=bound if isinstance(bound, int) else None,
        offline=store.settings.get("offline") is True,
        user=user if isinstance(user, str) else "",
    )
