"""An agent from outside: a client calls the tools, and its calls are a recorded episode.

`run_episode` runs the episode with an agent whose `act` waits for the client's next call. If the
client leaves early or its time is over, the episode is judged as it stands, because the client
chose to leave. If the server ends the episode, it has no score.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.env.environment import Environment
from agentgym.errors import AgentError, AgentGymError, PolicyError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Briefing,
    Decision,
    Effect,
    Observation,
    Step,
    ToolSpec,
    Verdict,
)
from agentgym.rollout.policy import OutOfTimeError
from agentgym.rollout.run import EpisodeResult, run_episode

MAX_WAITING: Final = 100
"""Largest number of one guest's calls that wait for earlier calls."""

_END_S: Final = 60.0
"""Longest time in seconds for an episode to end when the server ends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a guest's call.

    Attributes:
        observation: Observation of the call.
        over: Whether the episode is over; then no tool can be called any more.
        verdict: Verdict on the episode; None while it goes on, or if it has no score.
    """

    observation: Observation
    over: bool = False
    verdict: Verdict | None = None


@dataclass(frozen=True)
class SessionConfig:
    """The task of every guest, and the limits on time.

    Attributes:
        task: Id of the task, or the path of its folder.
        environment: The environment of all guests, each with an episode of their own.
        store: The run that records the episodes.
        seed: Seed of every episode: all guests get the same instance.
        idle_s: Seconds between two calls after which an episode is judged in its present state.
        timeout_s: Longest wall time of an episode in seconds, None for the task's own.
    """

    task: str
    environment: Environment
    store: RunStore
    seed: int = 0
    idle_s: float = 600.0
    timeout_s: float | None = None

    def plan(self, guest: str) -> int:
        """Plan one more episode in the record and return its id."""
        trial = len(self.store.episodes())
        return self.store.add(EpisodePlan(self.task, self.seed, trial, f"mcp:{guest}"))


@dataclass(eq=False)
class _Call:
    """A pending call: the action, and the future for its observation."""

    action: Action
    shown: asyncio.Future[Observation]

    def answer(self, observation: Observation) -> None:
        if not self.shown.done():  # the caller may have cancelled it meanwhile
            self.shown.set_result(observation)


class RemoteAgent:
    """An Agent whose decisions are the calls of a guest.

    Args:
        idle_s: Longest wait for the next call, in seconds.
    """

    def __init__(self, idle_s: float) -> None:
        self.instruction = ""
        self._idle_s = idle_s
        self._calls: asyncio.Queue[_Call | AgentError] = asyncio.Queue()
        self._open: _Call | None = None

    def ask(self, action: Action) -> asyncio.Future[Observation]:
        """Queue an action; the future gets the observation, unless the action ends the episode."""
        call = _Call(action, asyncio.get_running_loop().create_future())
        if self._calls.qsize() >= MAX_WAITING:
            told = f"error: {MAX_WAITING} calls wait for their turn already; this one was not done"
            call.answer(Observation(told, effect=Effect.ERROR))
        else:
            self._calls.put_nowait(call)
        return call.shown

    def leave(self, why: AgentError) -> None:
        """End the episode after the pending calls; a PolicyError has the episode judged."""
        self._calls.put_nowait(why)

    def is_answering(self, shown: asyncio.Future[Observation]) -> bool:
        """Return whether this call was begun and no other after it."""
        return self._open is not None and self._open.shown is shown

    async def start(self, briefing: Briefing) -> None:
        """Keep the instruction."""
        self.instruction = briefing.instruction

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Answer the last call and return the next decision.

        Raises:
            PolicyError: The guest has left.
            AgentError: The server was stopped.
            OutOfTimeError: No call came in time.
        """
        if self._open is not None:
            self._open.answer(observation)
            self._open = None
        try:
            async with asyncio.timeout(self._idle_s):
                self._open = await self._next()
        except TimeoutError:
            raise OutOfTimeError(f"nothing was called for {self._idle_s:g} s") from None
        return Decision(self._open.action)

    async def _next(self) -> _Call:
        while True:
            call = await self._calls.get()
            if isinstance(call, AgentError):
                raise call
            if not call.shown.cancelled():
                return call

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class Session:
    """One guest's episode. It begins with the first call.

    Args:
        config: The task and the limits.
        told: The instruction as the guest knows it; text that the world adds at the start comes
            with the answer to the first call.
    """

    def __init__(self, config: SessionConfig, told: str) -> None:
        self._config, self._told = config, told
        self._visitor = RemoteAgent(config.idle_s)
        self._playing: asyncio.Task[EpisodeResult] | None = None
        self._last: Step | None = None

    @property
    def is_playing(self) -> bool:
        """Whether its episode has begun and is not over."""
        return self._playing is not None and not self._playing.done()

    async def call(self, action: Action, guest: str) -> Answer:
        """Execute an action and return the answer. Calls are executed one after the other.

        Args:
            action: Action of the guest; an illegal one costs a step, and the answer explains it.
            guest: Name that the guest gives, for the record of the first call.
        """
        first = self._playing is None
        if self._playing is None:
            self._playing = asyncio.create_task(self._play(guest), name=f"visit of {guest}")
        if self._playing.done():
            return self._ended("the episode is over; a new session begins another one")
        shown = self._visitor.ask(action)
        try:
            ends: set[asyncio.Future[Any]] = {shown, self._playing}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            shown.cancel()
            raise
        if shown.done():
            return Answer(self._with_news(shown.result()) if first else shown.result())
        if not self._visitor.is_answering(shown):
            return self._ended("the episode ended before this call")
        return self._ended("")

    async def leave(self, why: str, *, stopped: bool = False) -> None:
        """End the episode if it is not over. Never raises.

        A pending call is executed first, because a guest must not escape a bad episode by leaving
        in the middle of a long call. Only the end of the server cuts it short.

        Args:
            why: Reason, for the record.
            stopped: Whether the server ends the episode, which then has no score; else it is
                judged.
        """
        if self._playing is None or self._playing.done():
            return
        self._visitor.leave(AgentError(why) if stopped else PolicyError(why))
        if not stopped:
            await asyncio.wait({self._playing})
        await asyncio.wait({self._playing}, timeout=_END_S)
        self._playing.cancel()
        with contextlib.suppress(asyncio.CancelledError, AgentGymError):
            await self._playing

    async def _play(self, guest: str) -> EpisodeResult:
        config = self._config
        return await run_episode(
            config.environment,
            self._visitor,
            seed=config.seed,
            store=config.store,
            episode_id=config.plan(guest),
            timeout_s=config.timeout_s,
            on_step=self._note,
        )

    def _note(self, step: Step) -> None:
        self._last = step

    def _ended(self, why: str) -> Answer:
        """Return the answer after the end of the episode: to the last call, or to a later one."""
        assert self._playing is not None
        try:
            result = self._playing.result()
        except (AgentGymError, asyncio.CancelledError) as error:
            return Answer(_complaint(str(error) or "the episode was stopped"), over=True)
        if not result.verdict.scored:
            # The message of a broken check may reveal what it looks for.
            told = "" if result.verdict.status == "error:verifier" else f": {result.error}"
            return Answer(_complaint(f"{result.verdict.status}{told}"), over=True)
        if why or self._last is None:
            return Answer(_complaint(why), over=True, verdict=result.verdict)
        return Answer(self._last.observation, over=True, verdict=result.verdict)

    def _with_news(self, observation: Observation) -> Observation:
        news = self._visitor.instruction.removeprefix(self._told).strip()
        if not news:
            return observation
        return Observation(
            f"{news}\n{observation.text}", observation.image, observation.data, observation.effect
        )


def _complaint(text: str) -> Observation:
    return Observation(f"error: {text}", effect=Effect.ERROR)
