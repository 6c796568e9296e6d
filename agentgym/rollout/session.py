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
"""Calls of one guest that wait for those before them."""

_END_S: Final = 60.0
"""How long an episode may take to end when the server does."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a guest gets for a call.

    Attributes:
        observation: What the call showed.
        over: Whether the episode is over; then no tool can be called any more.
        verdict: How the episode was judged; None while it goes on, or if it has no score.
    """

    observation: Observation
    over: bool = False
    verdict: Verdict | None = None


@dataclass(frozen=True)
class SessionConfig:
    """What every guest plays, and the limits on time.

    Attributes:
        task: Id of the task, or the path of its folder.
        environment: Where all guests play, each an episode of their own.
        store: Where the episodes are recorded.
        seed: Seed of every episode: all guests are told the same.
        idle_s: Seconds between two calls after which an episode is judged as it stands.
        timeout_s: Wall time of an episode, None for the task's own.
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
    """A call on its way: what is to be done, and where the answer is waited for."""

    action: Action
    shown: asyncio.Future[Observation]

    def answer(self, observation: Observation) -> None:
        if not self.shown.done():  # it may have been given up meanwhile
            self.shown.set_result(observation)


class RemoteAgent:
    """An Agent whose decisions are the calls of a guest.

    Args:
        idle_s: Seconds it waits for the next one.
    """

    def __init__(self, idle_s: float) -> None:
        self.instruction = ""
        self._idle_s = idle_s
        self._calls: asyncio.Queue[_Call | AgentError] = asyncio.Queue()
        self._open: _Call | None = None

    def ask(self, action: Action) -> asyncio.Future[Observation]:
        """Have something done; the future gets what it showed, unless it ended the episode."""
        call = _Call(action, asyncio.get_running_loop().create_future())
        if self._calls.qsize() >= MAX_WAITING:
            told = f"error: {MAX_WAITING} calls wait for their turn already; this one was not done"
            call.answer(Observation(told, effect=Effect.ERROR))
        else:
            self._calls.put_nowait(call)
        return call.shown

    def leave(self, why: AgentError) -> None:
        """End the episode once what is under way is done; a PolicyError has it judged."""
        self._calls.put_nowait(why)

    def is_answering(self, shown: asyncio.Future[Observation]) -> bool:
        """Whether a call was begun, and nothing after it."""
        return self._open is not None and self._open.shown is shown

    async def start(self, briefing: Briefing) -> None:
        """Take note of the instruction."""
        self.instruction = briefing.instruction

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Answer the last call and return the next.

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
        """Nothing to release."""


class Session:
    """One guest's episode. It begins with their first call.

    Args:
        config: Where.
        told: The instruction as they know it; what the world adds at the start comes with the
            answer to the first call.
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
        """Do something and return what it led to. Calls are done one after the other.

        Args:
            action: Of the guest; one that is not legal costs a step and is answered.
            guest: Who they say they are, for the record of their first call.
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
        """End the episode where it is not over. Never raises.

        A call that is under way is done first, because a guest must not get rid of a bad episode by
        leaving in the middle of a long call. Only the end of the server cuts it short.

        Args:
            why: For the record.
            stopped: The server ends it, so it has no score; else the guest has, and it is judged.
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
        """Return what is to be said once the episode is over: of its last call, or of another."""
        assert self._playing is not None
        try:
            result = self._playing.result()
        except (AgentGymError, asyncio.CancelledError) as error:
            return Answer(_complaint(str(error) or "the episode was stopped"), over=True)
        if not result.verdict.scored:
            # What a broken check says may give away what it looks for.
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
