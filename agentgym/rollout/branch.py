"""Branches: other agents go on from a step of a recorded episode.

The kept steps are executed once, in a fresh sandbox, and compared with the record. Each of several
branches then begins in a fork of that episode. If the episode cannot be forked, and for a single
branch, the agent goes on in the re-execution itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.errors import ReplayError, UnsupportedError
from agentgym.protocols import Agent, SandboxProvider
from agentgym.record import codec
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step
from agentgym.rollout.policy import releasing
from agentgym.rollout.reexecution import Reexecution, recorded_periods, reexecute
from agentgym.rollout.replay import recorded_environment, verify_episode
from agentgym.rollout.run import Rollout
from agentgym.rollout.trust import NOTHING_NAMED, Named

OnStep = Callable[[int, Step], None]
"""Called with the id of a branch and a step of its agent."""


async def branch_episodes(
    store: RunStore,
    episode_id: int,
    k: int,
    agents: Sequence[str],
    provider: SandboxProvider,
    *,
    jobs: int = 1,
    timeout_s: float | None = None,
    on_step: OnStep | None = None,
    allow_divergence: bool = False,
    named: Named = NOTHING_NAMED,
) -> list[int]:
    """Bring a fresh sandbox to before step `k` and let other agents go on, each in its own branch.

    If the text of the kept steps differs, the whole episode is executed again in a second
    sandbox: the branches go on if that ends in the recorded state.

    Args:
        store: The run, open for writing; each branch becomes a new episode of it.
        episode_id: The episode to branch off.
        k: Number of recorded steps to keep: the new agents take step `k`.
        agents: Specs of the agents that take over; each gives one branch.
        provider: Starts the sandboxes.
        jobs: Number of branches that are played at the same time.
        timeout_s: Wall time of each agent.
        on_step: Called with every step of the agents.
        allow_divergence: Go on whatever differs.
        named: Names that the user gave in addition to the run.

    Returns:
        The ids of the new episodes; their logs list the differences in text.

    Raises:
        UnnamedError: The record names a task that only the user may name.
        ReplayError: The step does not exist, or the kept steps diverged or ended the episode.
    """
    row, steps = store.episode(episode_id), store.steps(episode_id)
    if not 0 <= k <= len(steps):
        raise ReplayError(f"{_refusal(row, k)}: it has {len(steps)} steps, counted from 0")
    async with AsyncExitStack() as held:
        policies = list[Agent]()
        for spec in agents:
            policies.append(create(spec))
            await held.enter_async_context(releasing(policies[-1]))
        environment = await held.enter_async_context(
            recorded_environment(store, row, provider, named)
        )
        branching = _Branching(store, row, steps[:k], environment, named, allow_divergence)
        play = _Play(branching, timeout_s, on_step)
        return await play.all(list(zip(agents, policies, strict=True)), jobs)


def _refusal(row: EpisodeRow, k: int) -> str:
    return f"episode {row.id} cannot be branched at step {k}"


@dataclass(frozen=True, slots=True)
class _Branching:
    """A recorded step from which agents go on.

    Attributes:
        store: The run.
        row: The recorded episode.
        kept: Its steps before the branch.
        environment: The environment of its task.
        named: Names that the user gave in addition to the run.
        allow_divergence: Whether to go on whatever differs.
    """

    store: RunStore
    row: EpisodeRow
    kept: Sequence[Step]
    environment: Environment
    named: Named
    allow_divergence: bool

    @asynccontextmanager
    async def reached(self) -> AsyncIterator[Reexecution]:
        """Execute the kept steps in a new episode, and close it at the end.

        Raises:
            ReplayError: They diverged or ended the episode.
        """
        store, row = self.store, self.row
        episode = await self.environment.start(row.plan.seed)
        executed = Reexecution(episode, episode.first)
        try:
            executed = await reexecute(
                *(episode, row, self.kept),
                recorded_in=recorded_periods(store, row),
                strict=not self.allow_divergence,
                forks=[at for at in store.forks(row.id) if at <= len(self.kept)],
            )
            if not self.allow_divergence:
                await self._check_state(executed)
            if executed.transition and executed.transition.verdict:
                told = _refusal(row, len(self.kept))
                raise ReplayError(f"{told}: it is over by then; choose an earlier step")
            yield executed
        finally:
            await executed.episode.close()
            await episode.close()

    async def _check_state(self, executed: Reexecution) -> None:
        """Check that kept steps whose text differs have led to the recorded state.

        Raises:
            ReplayError: They have not, or the record cannot show it.
        """
        found = executed.divergence
        if found is None and executed.texts:
            provider = self.environment.provider
            whole = await verify_episode(self.store, self.row.id, provider, named=self.named)
            found = whole.first if whole.divergence else None
        if found is not None:
            told = _refusal(self.row, len(self.kept))
            raise ReplayError(f"{told}: its re-execution diverged at {found}")

    def add(self, agent: str, executed: Reexecution, *, forked: bool) -> int:
        """Add a branch to the run; it reads the kept steps from its parent if they are equal."""
        seen = executed.episode.steps
        same = executed.first is None and all(map(_is_equal, self.kept, seen))
        k = len(self.kept)
        plan = replace(self.row.plan, agent=agent)
        shared = k if same and len(seen) == k else 0
        return self.store.add(plan, (self.row.id, k), shared=shared, forked=forked)

    def remarks(self, executed: Reexecution) -> list[str]:
        """Return the lines about differences for the log of a branch."""
        if executed.first is None:
            return []
        if self.allow_divergence:
            return [f"branch diverged at {executed.first}"]
        count = len(executed.texts)
        return [f"text differs in {count} kept steps, state agrees; the first: {executed.texts[0]}"]


@dataclass(frozen=True, slots=True)
class _Play:
    """The play of agents from a recorded step."""

    branching: _Branching
    timeout_s: float | None
    on_step: OnStep | None

    async def all(self, agents: Sequence[tuple[str, Agent]], jobs: int) -> list[int]:
        """Let every agent play its branch and return their ids."""
        async with self.branching.reached() as executed:
            if len(agents) == 1:
                return [await self._one(agents[0], executed, executed.episode)]
            try:
                first = await executed.episode.fork()
            except UnsupportedError as refusal:
                told = f"the kept steps were executed again for this branch alone: {refusal}"
                found = [await self._one(agents[0], executed, executed.episode, told)]
            else:
                return await self._forks(agents, executed, first, jobs)
        for agent in agents[1:]:
            async with self.branching.reached() as executed:
                found.append(await self._one(agent, executed, executed.episode, told))
        return found

    async def _forks(
        self, agents: Sequence[tuple[str, Agent]], executed: Reexecution, first: Episode, jobs: int
    ) -> list[int]:
        free = asyncio.Semaphore(jobs)

        async def play(number: int, agent: tuple[str, Agent]) -> int:
            async with free, first if number == 0 else await executed.episode.fork() as child:
                return await self._one(agent, executed, child)

        try:
            async with first, asyncio.TaskGroup() as group:
                playing = [group.create_task(play(n, agent)) for n, agent in enumerate(agents)]
        except ExceptionGroup as failures:
            # An agent's failure ends its branch only; this is a failure to fork or to record.
            raise failures.exceptions[0] from None
        return [task.result() for task in playing]

    async def _one(
        self, agent: tuple[str, Agent], executed: Reexecution, episode: Episode, *told: str
    ) -> int:
        """Let an agent play an episode that stands at the recorded step."""
        spec, policy = agent
        branching, began_s = self.branching, time.monotonic()
        forked = episode is not executed.episode
        id = await branching.store.threads.finish(branching.add, spec, executed, forked=forked)

        def on_step(step: Step) -> None:
            if self.on_step is not None:
                self.on_step(id, step)

        rollout = Rollout(
            episode, policy, timeout_s=self.timeout_s, on_step=on_step, began_s=began_s
        )
        recording = await rollout.record(branching.store, id)
        for line in (*told, *branching.remarks(executed)):
            await recording.note(line)
        await recording.take_steps()
        await rollout.complete(replace(executed, episode=episode))
        return id


def _is_equal(recorded: Step, seen: Step) -> bool:
    """Return whether a step led to the same, volatile text included."""
    return (
        recorded.decision == seen.decision
        and recorded.events == seen.events
        and codec.observation_hash(recorded.observation) == codec.observation_hash(seen.observation)
    )
