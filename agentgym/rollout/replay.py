"""What a record is good for after the run: verify that it re-executes, branch off it.

Both bring a fresh sandbox to a recorded step with `reexecute`; verification then compares the
verdicts and the state hashes, a branch hands over to another agent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from agentgym.agents.registry import create
from agentgym.env.ending import EndedEpisode
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.errors import ReplayError
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.times import Period
from agentgym.records import Json, Step, Verdict
from agentgym.rollout.policy import releasing
from agentgym.rollout.reexecution import Divergence, Reexecution, recorded_periods, reexecute
from agentgym.rollout.run import Rollout
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.task.load import find_task
from agentgym.verify.manifest import differing_files

__all__ = [
    "Agreement",
    "Divergence",
    "SeenEnd",
    "Verification",
    "branch_episode",
    "compare_ends",
    "recorded_environment",
    "verify_episode",
]


class Agreement(StrEnum):
    """How far a re-execution agrees with the record."""

    SAME = "same"
    TEXT_DIFFERS = "text differs, state agrees"
    STATE_DIFFERS = "state differs"


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of executing an episode again.

    Attributes:
        divergence: Why the states differ: the first difference that is not in text alone; or in
            text, where the record has no final state that could be compared.
        texts: Of each step whose text differs, volatile text apart, the first difference.
        files: Which files of the final state differ, in volatile text only.
    """

    divergence: Divergence | None = None
    texts: tuple[Divergence, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def first(self) -> Divergence | None:
        """The first difference of any kind."""
        if not self.texts:
            return self.divergence
        text, other = self.texts[0], self.divergence
        # An event or a fault that differs explains what was seen in that step.
        return other if other is not None and 0 <= other.step <= text.step else text

    @property
    def agreement(self) -> Agreement:
        """How far the re-execution agrees with the record."""
        if self.divergence is not None:
            return Agreement.STATE_DIFFERS
        return Agreement.TEXT_DIFFERS if self.texts or self.files else Agreement.SAME


async def verify_episode(
    store: RunStore, episode_id: int, provider: SandboxProvider, *, named: Named = NOTHING_NAMED
) -> Verification:
    """Execute an episode's actions again and say how far that agrees with the record.

    Verdicts are compared where the record has a score; an episode that failed or is not over
    is compared step by step only.

    Args:
        store: The run.
        episode_id: Which of its episodes.
        provider: Where the sandbox comes from.
        named: What the user named beside the run.

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
        trail = await reexecute(episode, row, steps, recorded_in=end.recorded_in, strict=True)
        if trail.divergence:
            return Verification(trail.first, trail.texts)
        if row.verdict is None or not row.verdict.scored:
            return Verification(trail.first, trail.texts)
        seen = trail.transition.verdict if trail.transition else None
        seen = seen or await episode.finish()
        kept = store.endings.find(row.id)
        recorded = {} if kept is None else kept.evidence
        # Another judge may decide otherwise, or there was none: only the state is the same.
        fields = {} if seen.words == row.verdict.words else {"fields": ("state_hash",)}
        return compare_ends(row.verdict, seen, trail, recorded, end.evidence, **fields)


class SeenEnd:
    """Takes down how a re-executed episode ended, when it does.

    Args:
        recorded_in: When it was recorded.
        episode: Where it is executed again.
    """

    def __init__(self, recorded_in: tuple[Period, ...], episode: Episode) -> None:
        self.recorded_in, self._episode = recorded_in, episode
        self.evidence: Mapping[str, Json] = {}

    async def __call__(self, ended: EndedEpisode, verdict: Verdict) -> None:
        """Take down what the judgement was about."""
        now = Period(self._episode.began_s, time.time())
        self.evidence = await ended.evidence(Masking((*self.recorded_in, now)))


def compare_ends(
    recorded: Verdict,
    seen: Verdict,
    trail: Reexecution,
    was: Mapping[str, Json],
    now: Mapping[str, Json],
    *,
    fields: Sequence[str] = ("status", "state_hash", "score", "outcome"),
) -> Verification:
    """Compare the end of a re-execution with the recorded one.

    Args:
        recorded: The recorded verdict.
        seen: That on the re-execution.
        trail: How the re-execution went.
        was: The recorded evidence, empty if there is none.
        now: That of the re-execution.
        fields: Which of the verdicts are compared.
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
    if difference is None and trail.texts and not recorded.state_hash:
        difference = trail.texts[0]
    return Verification(difference, trail.texts, files)


async def branch_episode(
    store: RunStore,
    episode_id: int,
    k: int,
    agent: str,
    provider: SandboxProvider,
    *,
    timeout_s: float | None = None,
    on_step: Callable[[Step], None] | None = None,
    allow_divergence: bool = False,
    named: Named = NOTHING_NAMED,
) -> int:
    """Bring a fresh sandbox to before step `k` and let another agent go on from there.

    Where the kept steps show another text than they did, the whole episode is executed again in
    a second sandbox: the branch goes on if that ends in the recorded state.

    Args:
        store: The run, open for writing; the branch becomes a new episode of it.
        episode_id: The episode to branch off.
        k: Number of recorded steps to keep: the new agent takes step `k`.
        agent: Spec of the agent that takes over.
        provider: Where the sandbox comes from.
        timeout_s: Wall time of the agent.
        on_step: Called with every step the agent takes.
        allow_divergence: Go on whatever differs.
        named: What the user named beside the run.

    Returns:
        The id of the new episode; its log says in which text it differs from the first.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        ReplayError: There is no such step, the kept steps diverged or ended the episode.
    """
    row, steps = store.episode(episode_id), store.steps(episode_id)
    refusal = f"episode {episode_id} cannot be branched at step {k}"
    if not 0 <= k <= len(steps):
        raise ReplayError(f"{refusal}: it has {len(steps)} steps, counted from 0")
    policy = create(agent)
    async with (
        releasing(policy),
        recorded_environment(store, row, provider, named) as environment,
    ):
        began_s = time.monotonic()
        episode = await environment.start(row.plan.seed)
        rollout = Rollout(episode, policy, timeout_s=timeout_s, on_step=on_step, began_s=began_s)
        periods = recorded_periods(store, row)
        trail = await reexecute(
            episode, row, steps[:k], recorded_in=periods, strict=not allow_divergence
        )
        if not allow_divergence:
            await _check_state(store, row, provider, trail, refusal, named)
        if trail.transition and trail.transition.verdict:
            raise ReplayError(f"{refusal}: it is over by then; choose an earlier step")
        branch = store.add(replace(row.plan, agent=agent), parent=(episode_id, k))
        recording = rollout.record(store, branch)
        for line in _remarks(trail, checked=not allow_divergence):
            recording.note(line)
        recording.take_steps()
        await rollout.complete(trail)
    return branch


async def _check_state(
    store: RunStore,
    row: EpisodeRow,
    provider: SandboxProvider,
    trail: Reexecution,
    refusal: str,
    named: Named,
) -> None:
    """Make sure that kept steps which show another text have led to the recorded state.

    Raises:
        ReplayError: They have not, or nobody can know.
    """
    found = trail.divergence
    if found is None and trail.texts:
        whole = await verify_episode(store, row.id, provider, named=named)
        found = whole.first if whole.divergence else None
    if found is not None:
        raise ReplayError(f"{refusal}: its re-execution diverged at {found}")


def _remarks(trail: Reexecution, *, checked: bool) -> list[str]:
    """Return what the log of a branch says of differences."""
    if trail.first is None:
        return []
    if not checked:
        return [f"branch diverged at {trail.first}"]
    count = len(trail.texts)
    return [f"text differs in {count} kept steps, state agrees; the first: {trail.texts[0]}"]


def recorded_environment(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> Environment:
    """Return the environment of a recorded episode with the run's own bound and user.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        AgentGymError: The task or its environment is broken.
    """
    task = find_task(named.task(row.plan.task))
    named.admit(row.plan.task, task)
    bound, user = store.settings.get("max_steps"), store.settings.get("user")
    return Environment(
        task,
        provider,
        max_steps=bound if isinstance(bound, int) else None,
        offline=store.settings.get("offline") is True,
        user=user if isinstance(user, str) else "",
    )
