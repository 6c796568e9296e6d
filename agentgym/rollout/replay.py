"""What a record is good for after the run: verify that it re-executes, branch off it.

Both bring a fresh sandbox to a recorded step with `retrace`; verification then compares the
verdicts and the state hashes, a branch hands over to another agent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.errors import ReplayError
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step, Verdict
from agentgym.rollout.policy import releasing
from agentgym.rollout.retrace import Divergence, retrace
from agentgym.rollout.run import Rollout
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.task.load import find_task

__all__ = ["Divergence", "branch_episode", "open_environment", "verify_episode"]


async def verify_episode(
    store: RunStore, episode_id: int, provider: SandboxProvider, *, named: Named = NOTHING_NAMED
) -> Divergence | None:
    """Execute an episode's actions again and return the first difference, None where all agrees.

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
    async with open_environment(store, row, provider, named) as env:
        first = await env.reset(row.plan.seed)
        trail = await retrace(env, first, row, store.steps(episode_id), strict=True)
        if trail.divergence or row.verdict is None or not row.verdict.scored:
            return trail.divergence
        seen = trail.transition.verdict if trail.transition else None
        return _compare_verdicts(row.verdict, seen or await env.finish())


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

    Args:
        store: The run, open for writing; the branch becomes a new episode of it.
        episode_id: The episode to branch off.
        k: Number of recorded steps to keep: the new agent takes step `k`.
        agent: Spec of the agent that takes over.
        provider: Where the sandbox comes from.
        timeout_s: Wall time of the agent.
        on_step: Called with every step the agent takes.
        allow_divergence: Go on where the kept steps do not show what they showed.
        named: What the user named beside the run.

    Returns:
        The id of the new episode.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        ReplayError: There is no such step, the kept steps diverged or ended the episode.
    """
    row, steps = store.episode(episode_id), store.steps(episode_id)
    refusal = f"episode {episode_id} cannot be branched at step {k}"
    if not 0 <= k <= len(steps):
        raise ReplayError(f"{refusal}: it has {len(steps)} steps, counted from 0")
    policy = create(agent)
    async with releasing(policy), open_environment(store, row, provider, named) as env:
        rollout = Rollout(env, policy, timeout_s=timeout_s, on_step=on_step)
        first = await env.reset(row.plan.seed)
        trail = await retrace(env, first, row, steps[:k], strict=not allow_divergence)
        if trail.divergence and not allow_divergence:
            raise ReplayError(f"{refusal}: its re-execution diverged at {trail.divergence}")
        if trail.transition and trail.transition.verdict:
            raise ReplayError(f"{refusal}: it is over by then; choose an earlier step")
        branch = store.add(replace(row.plan, agent=agent), parent=(episode_id, k))
        recorder = rollout.record(store, branch, first)
        if trail.divergence:
            recorder.note(f"branch diverged at {trail.divergence}")
        for step in env.steps:
            recorder.step(step)
        await rollout.complete(trail)
    return branch


@asynccontextmanager
async def open_environment(
    store: RunStore, row: EpisodeRow, provider: SandboxProvider, named: Named = NOTHING_NAMED
) -> AsyncIterator[Environment]:
    """Open the environment of a recorded episode with the run's own bound and user.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        AgentGymError: The task or its environment is broken.
    """
    task = find_task(named.task(row.plan.task))
    named.admit(row.plan.task, task)
    bound, user = store.settings.get("max_steps"), store.settings.get("user")
    env = Environment(
        task,
        provider,
        max_steps=bound if isinstance(bound, int) else None,
        offline=store.settings.get("offline") is True,
        user=user if isinstance(user, str) else "",
    )
    try:
        yield env
    finally:
        await env.close()


def _compare_verdicts(recorded: Verdict, seen: Verdict) -> Divergence | None:
    for field in ("status", "state_hash", "score", "outcome"):
        was, now = getattr(recorded, field), getattr(seen, field)
        if was != now:
            return Divergence(-1, field, str(was), str(now))
    return None
