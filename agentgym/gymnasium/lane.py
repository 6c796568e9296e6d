"""One lane of a vector environment: one episode after another, and a failure as a result.

A lane never raises for what breaks in its episode. It answers with a truncated step that says
which boundary broke, so that the lanes beside it go on.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gymnasium.spaces import Dict
from gymnasium.utils.seeding import np_random

from agentgym.env.labels import UNLABELLED, Labels
from agentgym.env.outcome import why_unscored
from agentgym.env.portal import portal
from agentgym.env.transition import Transition
from agentgym.errors import AgentGymError, RecordError, SandboxTimeoutError, SurfaceError
from agentgym.gymnasium.env import describe, element, plain
from agentgym.records import Effect, Observation

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.env.episode import Episode
    from agentgym.gymnasium.lookahead import LookAhead
    from agentgym.gymnasium.recording import GymRecording

T = TypeVar("T")

GRACE_S: Final = 4.0
"""Seconds for what was cancelled or closed; the portal waits a little longer after a Ctrl-C."""
MORE_S: Final = 300.0
"""Seconds more for a judgement or a user, and for the judgement after a step that took too long."""
_SEEDS: Final = 2**31
_MAX_MESSAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One lane's row of a step or a reset; see `gymnasium.Env.step`.

    Attributes:
        observation: An element of the lane's observation space.
        info: Empty if the lane has waited.
        reward: The score on the last step of a scored episode, else 0.
        terminated: The agent ended the episode.
        truncated: The step limit ended the episode, or it is unscored.
    """

    observation: dict[str, Any]
    info: dict[str, Any] = field(default_factory=dict)
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


class Lane:
    """One place in a vector environment.

    Args:
        environment: Starts the episodes; other lanes may share it.
        space: The space of observations.
        timeout_s: Seconds that a reset or a step may take.
        recording: Records the episodes, None if nothing is recorded.
        look_ahead: Prepares the next episode, None if its seed cannot be known.

    Attributes:
        episode: The current or last episode, None before the first and after one that could not
            be started.
        running: The episode can be stepped.
        np_random: Draws the seeds of later episodes, as the `np_random` of a `GymEnv` does.
        np_random_seed: Its own seed.
    """

    def __init__(
        self,
        environment: Environment,
        space: Dict,
        timeout_s: float,
        *,
        recording: GymRecording | None = None,
        look_ahead: LookAhead | None = None,
    ) -> None:
        self.environment, self.recording = environment, recording
        self._look_ahead = look_ahead
        self.episode: Episode | None = None
        self.running = False
        self.np_random, self.np_random_seed = np_random()
        self._space, self._timeout_s = space, timeout_s
        self._observation: dict[str, Any] = {}
        self._facts: dict[str, Any] = {}
        self._not_started: dict[str, Any] | None = None

    async def reset(self, seed: int | None = None, labels: Labels = UNLABELLED) -> LaneResult:
        """Begin the next episode; the one before is closed.

        If it cannot be started the info says so, and the next step ends the lane unscored.

        Args:
            seed: Its seed, which also seeds `np_random`; None draws it from there.
            labels: Its labels, if it is recorded.
        """
        if seed is None:
            seed = int(self.np_random.integers(_SEEDS))
        else:
            self.np_random, self.np_random_seed = np_random(seed)
        self._not_started = None
        self._facts = {"task": self.environment.task.id, "seed": seed}
        await self.leave()
        try:
            starting = _within(
                self._start(seed), self._timeout_s, "a reset", late=lambda late: late.close()
            )
            if self.recording is not None:
                starting = self.recording.start(starting, seed, labels)
            self.episode = await starting
            self._facts = describe(self.episode)
            info = {**deepcopy(self._facts), "instruction": self.episode.first.text}
            result = LaneResult(self._element(self.episode.first), info)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            result = await self._break(error)
            self._not_started = result.info
            result = replace(result, truncated=False)
        self.running = True
        if self._look_ahead is not None:
            self._look_ahead.expect(int(deepcopy(self.np_random).integers(_SEEDS)))
        return result

    async def _start(self, seed: int) -> Episode:
        if self._look_ahead is not None:
            await self._look_ahead.take(seed)
        return await self.environment.start(seed)

    async def step(self, action: object) -> LaneResult:
        """Make one call; see `GymEnv.step`. The lane must be running."""
        self.running = False
        if self.episode is None or self._not_started is not None:
            return replace(self.wait(), info=deepcopy(self._not_started or {}), truncated=True)
        try:
            stepping = self._stepped(self.episode, action)
            if self.recording is not None:
                stepping = self.recording.step(stepping)
            result = self._read(await stepping)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            return await self._break(error)
        self.running = not result.over
        return result

    async def _stepped(self, episode: Episode, action: object) -> Transition:
        """Take a step. If its call takes too long the episode ends, and is judged as it stands.

        Raises:
            AgentGymError: A boundary broke, the judgement took too long, or the user did.
        """
        waited_s = episode.waited_s
        try:
            # The files that an agent leaves decide how long a judgement takes, too, and what it
            # writes how long a user that a model plays takes.
            return await _within(
                episode.step(action),
                self._timeout_s,
                "a step",
                more_s=lambda: (
                    max(self._timeout_s, MORE_S) if episode.over or episode.asks_user else 0.0
                ),
            )
        except _LateError as error:
            # An agent chooses how long a call takes; it must not leave its failures unscored.
            if episode.over or episode.waited_s > waited_s:
                raise
            judging_s = max(self._timeout_s, MORE_S)
            verdict = await _within(episode.finish(), judging_s, "the judgement")
            told = Observation(f"the episode ends here: {error}", effect=Effect.TIMEOUT)
            score = verdict.score if verdict.scored else 0.0
            return Transition(told, score, truncated=True, verdict=verdict)

    def wait(self) -> LaneResult:
        """Return the last observation again; nothing is done."""
        return LaneResult(deepcopy(self._observation))

    async def leave(self, why: str = "reset before its end") -> None:
        """Close the episode. One that does not close in time ends with its environment.

        Args:
            why: For the record of an episode that is not over.
        """
        if self.recording is not None:
            # If the end cannot be recorded now, the next reset or the closing says so.
            with suppress(RecordError):
                await self.recording.abandon(why)
        episode, self.episode, self.running = self.episode, None, False
        if episode is not None:
            # Its lane is free, whatever becomes of it, and the others must not suffer.
            with suppress(Exception):
                await _within(episode.close(), GRACE_S, "the end of an episode")

    async def close(self) -> None:
        """Take back what was prepared for the next episode. Never raises."""
        if self._look_ahead is not None:
            await self._look_ahead.cancel()

    def _read(self, done: Transition) -> LaneResult:
        info = {**deepcopy(self._facts), "effect": done.observation.effect.value}
        seen = self._element(done.observation)
        verdict = done.verdict
        if verdict is None:
            if done.terminated or done.truncated:  # rewarded by a server that gives no verdicts
                info |= {"status": "scored", "scored": True}
            return LaneResult(seen, info, float(done.reward), done.terminated, done.truncated)
        if not verdict.scored:
            why = why_unscored(verdict)
            return LaneResult(seen, {**info, **_failure(verdict.status, why)}, truncated=True)
        info |= {"verdict": plain(asdict(verdict)), "status": verdict.status, "scored": True}
        return LaneResult(seen, info, float(done.reward), done.terminated, done.truncated)

    async def _break(self, error: Exception) -> LaneResult:
        """End the episode unscored and say which boundary broke."""
        if self.recording is not None:
            with suppress(RecordError):
                await self.recording.fail(error)
        await self.leave()
        known = isinstance(error, AgentGymError)
        boundary = error.boundary if isinstance(error, AgentGymError) else AgentGymError.boundary
        said = _message(error) if known else f"{type(error).__name__}: {_message(error)}"
        info = {**deepcopy(self._facts), **_failure(f"error:{boundary}", said)}
        seen = self._element(Observation(f"the episode cannot be scored: {said}"))
        return LaneResult(seen, info, truncated=True)

    def _element(self, observation: Observation) -> dict[str, Any]:
        """Return an observation in the form of the space.

        Raises:
            SurfaceError: Its image would not fit beside those of other lanes.
        """
        found = element(observation)
        if not self._space["image"].contains(found["image"]):
            size = getattr(found["image"], "shape", type(found["image"]).__name__)
            raise SurfaceError(
                f"an observation has an image of {size}, expected {self._space['image']}; "
                "the limits of the surface kind say how large its images may be"
            )
        self._observation = found
        return deepcopy(found)


class _LateError(SandboxTimeoutError):
    """Something took longer than a lane waits."""


def _failure(status: str, why: str) -> dict[str, Any]:
    return {"status": status, "scored": False, "error": why}


def _message(error: Exception) -> str:
    """Return the start of an error's message, as text that fits every observation."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        said = ""
    return said[:_MAX_MESSAGE].encode(errors="replace").decode()


async def _within(
    work: Coroutine[Any, Any, T],
    timeout_s: float,
    what: str,
    late: Callable[[T], Coroutine[Any, Any, None]] | None = None,
    more_s: Callable[[], float] = float,
) -> T:
    """Await something for so long. What does not even end when it is cancelled is left behind.

    Args:
        work: What to await.
        timeout_s: For how long.
        what: Its name, for the message.
        late: Disposes of a result that comes after the time, or after a cancellation.
        more_s: Called when the time is over; returns how many seconds more it gets.

    Raises:
        _LateError: It took longer, or was cancelled from within.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
        if not done and (extra_s := more_s()) > 0:
            timeout_s += extra_s
            done, _ = await asyncio.wait({task}, timeout=extra_s)
    finally:
        if not task.done():
            task.add_done_callback(functools.partial(_drop, late))
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_S)
    if not done or task.cancelled():
        raise _LateError(f"{what} did not end within {timeout_s:g} s")
    return task.result()


def _drop(late: Callable[[T], Coroutine[Any, Any, None]] | None, task: asyncio.Task[T]) -> None:
    """Look at the end of a task that no caller awaits, lest the loop complain of it."""
    if not task.cancelled() and task.exception() is None and late is not None:
        portal().start(functools.partial(late, task.result()))
