"""Runs an agent under a deadline, and classifies its failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from agentgym.agents.blame import blame
from agentgym.agents.registry import is_privileged
from agentgym.agents.settled import settled
from agentgym.env.episode import Episode
from agentgym.errors import PolicyError, SurfaceEndedError, pass_interruptions
from agentgym.protocols import Agent
from agentgym.records import Briefing, Decision, Observation
from agentgym.task.reference_actions import reference
from agentgym.threads import to_thread

CLOSE_S = 10.0
"""Longest time for an agent to close its connections, in seconds."""

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The agent ran out of time, and the text names the limit; its episode is not a failure."""


class Policy:
    """An agent that acts in an episode until a deadline.

    Attributes:
        paused_s: Wall time that does not count, beside the time spent waiting for the user.

    Args:
        agent: The agent.
        episode: Its episode.
        timeout_s: Wall time of the agent from now on, for `start` and all decisions together; time
            spent waiting for the user does not count.
    """

    def __init__(self, agent: Agent, episode: Episode, timeout_s: float) -> None:
        self._agent = agent
        self._episode = episode
        self._end = asyncio.get_running_loop().time() + timeout_s - episode.waited_s
        self._timeout_s = timeout_s
        self.paused_s = self._held_s = 0.0

    async def start(self) -> None:
        """Brief the agent; only a privileged agent receives the reference actions.

        Raises:
            PolicyError: The policy failed.
            AgentError: The agent cannot be asked, and its policy did not cause this.
            OutOfTimeError: The deadline passed.
            TaskError: The reference actions are broken.
        """
        environment, instance = self._episode.environment, self._episode.instance
        solution = await to_thread(reference, instance) if is_privileged(self._agent) else ()
        policy_file = solution if isinstance(solution, Path) else None
        briefing = Briefing(
            task=environment.task.id,
            instruction=instance.instruction,
            seed=instance.seed,
            max_steps=environment.max_steps,
            reference_actions=() if isinstance(solution, Path) else solution,
            reference_policy=policy_file,
            first=self._episode.first,
        )
        await self._bounded(lambda: self._agent.start(briefing))

    async def decide(self, observation: Observation) -> Decision:
        """Return the agent's decision in the form in which a record holds it.

        A replay therefore executes the same action, and a decision that JSON cannot hold fails.

        Raises:
            PolicyError: The policy failed, it returned an unusable decision, or its computer was
                suspended and cannot be used again as the policy left it.
            AgentError: The agent cannot be asked, and its policy did not cause this.
            OutOfTimeError: The deadline passed.
        """

        async def ask() -> Decision:
            history, tools = tuple(self._episode.steps), self._episode.environment.tools
            decision = await self._agent.act(observation, tools, history)
            return settled(decision)

        began_s = asyncio.get_running_loop().time()
        await self._until_ready()
        self._held_s += asyncio.get_running_loop().time() - began_s
        return await self._bounded(ask)

    async def _until_ready(self) -> None:
        if not isinstance(self._agent, HeldAgent):
            return
        if not self._agent.suspends:
            await self._agent.ready()
            return
        try:
            async with self._episode.suspended():
                await self._agent.ready()
        except SurfaceEndedError as error:
            raise PolicyError(str(error)) from error

    @property
    def _deadline(self) -> float:
        return self._end + self._episode.waited_s + self.paused_s + self._held_s

    @property
    def _had(self) -> str:
        return f"the agent had {self._timeout_s:g} s"

    async def _bounded(self, call: Callable[[], Awaitable[T]]) -> T:
        # A timeout interrupts only an agent that awaits; one that never does is stopped here.
        if asyncio.get_running_loop().time() >= self._deadline:
            raise OutOfTimeError(self._had)
        scope = asyncio.timeout_at(self._deadline)
        try:
            async with scope:
                return await call()
        except OutOfTimeError:
            raise
        except asyncio.CancelledError as error:
            # An agent may raise this itself; only the caller that runs the episode may end it so.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise blame(error, self._agent) from error
        except BaseException as error:  # an agent may raise anything, such as a panic in Rust
            pass_interruptions(error)
            if scope.expired():
                raise OutOfTimeError(self._had) from error
            raise blame(error, self._agent) from error


class HeldAgent:
    """Base class of the agents that a trainer can hold between two decisions.

    The wait has no deadline, so only a class that derives from this one can ask for it.
    """

    @property
    def suspends(self) -> bool:
        """Whether it is held now, and its episode keeps no computer while it waits."""
        return False

    async def ready(self) -> None:
        """Wait until it may act; the time does not count as the agent's."""


@contextlib.asynccontextmanager
async def releasing(agent: Agent) -> AsyncIterator[None]:
    """Close an agent at the end; if it fails or hangs then, the result stays the same."""
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_S):
                await agent.close()
