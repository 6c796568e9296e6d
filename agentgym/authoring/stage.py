"""Plays the episodes of a check with one pool of sandboxes, a bounded number at a time.

It records nothing on disk; it keeps what an episode shows in memory until its task is judged.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agentgym import plugins
from agentgym.agents import check_end
from agentgym.authoring.offline import listening
from agentgym.env.environment import Environment
from agentgym.errors import AgentError, ConfigError
from agentgym.protocols import Agent, Judge, SandboxProvider
from agentgym.records import (
    Action,
    Briefing,
    Criterion,
    Decision,
    Exhibit,
    Judgement,
    Observation,
    Recipe,
    Snapshot,
    Step,
    ToolSpec,
    Verdict,
)
from agentgym.rollout.run import run_episode
from agentgym.sandbox.pool import PooledProvider
from agentgym.task.model import Task
from agentgym.task.reference_actions import answered
from agentgym.task.setup import for_setup
from agentgym.user.registry import SCRIPTED
from agentgym.verify.judge.opening import open_judge
from agentgym.verify.room_cache import RoomCache

_SPARE_SHARE = 0.25
_EPISODE_S = 900.0


@dataclass(frozen=True, slots=True)
class Played:
    """One episode of a check.

    Attributes:
        verdict: Verdict of the episode.
        steps: Actions and observations.
        error: Reason why the episode has no score, else empty.
        contacted: Hosts that this process tried to reach during the episode.
        duration_s: Wall time from the reset to the verdict, in seconds.
    """

    verdict: Verdict
    steps: tuple[Step, ...]
    error: str
    contacted: tuple[str, ...]
    duration_s: float

    def without_pictures(self) -> Played:
        """Return it without the pictures of its observations; one of a screen takes 3 MB."""
        steps = (replace(s, observation=replace(s.observation, image=None)) for s in self.steps)
        return replace(self, steps=tuple(steps))


class Player:
    """An agent that plays given actions, whatever it observes.

    Args:
        actions: Actions to play; the last one ends the episode.
    """

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = actions

    async def start(self, briefing: Briefing) -> None:
        """Ignore the briefing."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action.

        Raises:
            AgentError: All actions are played and the episode goes on.
        """
        if len(history) < len(self._actions):
            return Decision(answered(self._actions[len(history)], history))
        check_end(history, AgentError)
        raise AgentError(f"the actions ended after step {len(history)}; the episode is not over")

    async def close(self) -> None:
        """Do nothing; the player holds no resources."""


class UnheardJudge:
    """Wraps a judge that the user named; its network use does not count against the task.

    Args:
        judge: The judge that decides.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name, self.grading_s = judge.name, judge.grading_s

    def decide(
        self,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        *,
        votes: int = 1,
        top_k: int = 5,
        timeout_s: float | None = None,
    ) -> Judgement:
        """Decide a criterion; see `agentgym.protocols.Judge`."""
        with listening():
            return self._judge.decide(
                criterion, exhibits, votes=votes, top_k=top_k, timeout_s=timeout_s
            )


class Stage:
    """Plays episodes for many tasks, `jobs` at a time.

    Args:
        provider: Starts the sandboxes; the stage closes it.
        jobs: Number of concurrent episodes.
        on_episode: Called with a task's id whenever one of its episodes is over.
        judge: Judge that checks ask; if None, the one that AGENTGYM_JUDGE names.
    """

    def __init__(
        self,
        provider: SandboxProvider,
        jobs: int,
        on_episode: Callable[[str], None] = lambda task_id: None,
        judge: Judge | None = None,
    ) -> None:
        memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
        self.provider = PooledProvider(provider, size=jobs, memory_mb=_SPARE_SHARE * memory_mb)
        self._seats = asyncio.Semaphore(jobs)
        self._on_episode = on_episode
        self.judge = judge
        self._bare: dict[str, asyncio.Task[Snapshot]] = {}

    async def play(
        self,
        task: Task,
        seed: int,
        agent: Agent,
        *,
        max_steps: int | None = None,
        room_cache: RoomCache | None = None,
    ) -> Played:
        """Play one episode to its verdict; the result includes every failure."""
        async with self._seats:
            with listening() as contacted:
                # A proof of soundness must not depend on the reply of a model.
                steps: list[Step] = []
                async with Environment(
                    *(task, self.provider),
                    max_steps=max_steps,
                    judge=self.judge,
                    room_cache=room_cache,
                    user=SCRIPTED,
                ) as environment:
                    result = await run_episode(
                        *(environment, agent),
                        seed=seed,
                        store=None,
                        episode_id=None,
                        timeout_s=_EPISODE_S,
                        on_step=steps.append,
                    )
            self._on_episode(task.id)
            return Played(
                verdict=result.verdict,
                steps=tuple(steps),
                error=result.error,
                contacted=tuple(contacted),
                duration_s=result.duration_s,
            )

    async def bare(self, recipe: Recipe) -> Snapshot:
        """Return the files of a sandbox before anything has run in it."""
        key = repr(recipe)
        if key not in self._bare:
            self._bare[key] = asyncio.create_task(self._seal_untouched(recipe))
        return await self._bare[key]

    async def _seal_untouched(self, recipe: Recipe) -> Snapshot:
        sandbox = await self.provider.start(for_setup(recipe))
        try:
            return await sandbox.seal()
        finally:
            await sandbox.close()

    async def close(self) -> None:
        """Close every sandbox and the provider."""
        await self.provider.close()


def open_stage(
    sandbox: str,
    jobs: int,
    on_episode: Callable[[str], None] = lambda task_id: None,
    judge: str = "",
    *,
    needed: bool = True,
) -> Stage:
    """Return a stage over the provider with a name, and the judge of a spec, if any.

    Args:
        sandbox: Name of the provider.
        jobs: Number of concurrent episodes.
        on_episode: Called with a task's id whenever one of its episodes is over.
        judge: Spec of a judge, or empty.
        needed: Whether an episode needs a sandbox, so that the provider must run here.

    Raises:
        NotFoundError: No provider or judge has this name.
        ConfigError: The provider cannot run on this machine, or the judge cannot be created.
    """
    judging = UnheardJudge(open_judge(judge)) if judge else None
    return Stage(open_provider(sandbox, needed=needed), jobs, on_episode, judging)


def open_provider(name: str, *, needed: bool = True) -> SandboxProvider:
    """Return a sandbox provider; if it is needed, one that can run here.

    Raises:
        NotFoundError: No provider has this name.
        ConfigError: The provider cannot run on this machine.
    """
    provider = plugins.make_provider(name)
    if needed and (problems := plugins.problems_of(provider)):
        listed = "; ".join(f"{problem.what} ({problem.fix})" for problem in problems)
        raise ConfigError(f"sandbox {name}: {listed}")
    return provider
