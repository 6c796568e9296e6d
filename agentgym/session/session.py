"""A session: what a remote caller speaks to, whatever the protocol.

A session has several episodes, named by ids. Its calls are `reset`, `step`, `fork`, `finish` and
`close`; `leave` ends the session and all its episodes. No call raises: a failure is an answer.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from agentgym.env.environment import Environment
from agentgym.env.labels import Labels, read_labels
from agentgym.errors import ActionError, AgentError, ConfigError, PolicyError
from agentgym.record import codec
from agentgym.records import Json, Observation
from agentgym.rollout.policy import OutOfTimeError
from agentgym.session.accounts import Account
from agentgym.session.answers import Answer, Failure, FailureCode, Reply, SessionState
from agentgym.session.calls import Calls
from agentgym.session.config import SessionConfig
from agentgym.session.decisions import read_decision, read_received
from agentgym.session.episode import SessionEpisode
from agentgym.session.kept_answers import KeptAnswers
from agentgym.session.plans import EpisodePlans
from agentgym.session.step_writer import StepWriter

_JUDGED_AT_A_TIME: Final = 8

STOP_S: Final = 60.0
"""Longest time in seconds for pending calls to end when the server ends."""

KEPT_EPISODES: Final = 1_000
"""Number of episodes that a session remembers; the oldest ones that are over are forgotten."""

MAX_METADATA: Final = 64 * 2**10
"""Largest size in bytes of the metadata of an episode, as JSON."""

_MAX_SEED: Final = 2**63 - 1


class Session:
    """The episodes and calls of one remote caller; `SessionServer.open` makes it.

    Every call takes `call`, its number: a call that is sent again with its number, because its
    answer was lost, is done once and gets the same answer (see `agentgym.session.calls`). If the
    coroutine of a call is cancelled, the call is done if it has a number or has begun.

    Args:
        config: The terms of the session.
        caller: Name under which the episodes are recorded.
        plans: Adds episodes to the run.
        writer: Records the steps of its episodes.
        may_begin: Returns why no further episode can begin, or an empty text.
        account: The account that it belongs to; None if its protocol has no accounts.
        kept: Counts the answers that all sessions of a server keep.

    Attributes:
        account: As given.
        token: Text by which the caller comes back; it cannot be guessed.
        over: Reason why it is over, empty while it lasts.
        calls: Its calls, with the answers that it keeps.
    """

    def __init__(
        self,
        config: SessionConfig,
        caller: str,
        plans: EpisodePlans,
        writer: StepWriter,
        may_begin: Callable[[], str],
        account: Account | None = None,
        kept: KeptAnswers | None = None,
    ) -> None:
        self.token, self.over, self.account = secrets.token_urlsafe(32), "", account
        self._config, self._caller = config, caller
        self._plans, self._writer, self._may_begin = plans, writer, may_begin
        self._episodes: dict[str, SessionEpisode] = {}
        self._begun = 0
        self.calls = Calls(config.max_pending, config.call_s, kept)
        self._opened_s = time.monotonic()
        self._ending: asyncio.Task[None] | None = None
        self._watch = asyncio.create_task(self._watch_time())

    @property
    def live(self) -> int:
        """Number of episodes that are not over."""
        return sum(not episode.over for episode in self._episodes.values())

    @property
    def kept_bytes(self) -> int:
        """Size of the answers that are kept for calls that are sent again."""
        return self.calls.kept_bytes

    def state(self) -> SessionState:
        """Return the episodes and the last call, for a caller that comes back."""
        episodes = tuple(episode.state() for episode in self._episodes.values())
        return SessionState(episodes, self.calls.last, self.over)

    # --- calls -----------------------------------------------------------------------------

    async def reset(
        self,
        task: str = "",
        seed: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        call: int | None = None,
    ) -> Answer:
        """Begin an episode; the reply has its id and the first observation.

        Args:
            task: Name of the task; empty if the server has one.
            seed: Seed of the episode; None for the server's own.
            options: ``group`` and ``metadata`` for the record, as for `agentgym.make`.
            call: Number of the call.
        """
        environment, chosen = self._environment(task), self._seed(seed)
        if isinstance(environment, Failure):
            return environment
        if isinstance(chosen, Failure):
            return chosen
        if not isinstance(options, Mapping | None):
            return Failure(FailureCode.INVALID, f"options {options!r:.40}: expected an object")
        try:
            labels = read_labels(options or {})
        except ConfigError as error:
            return Failure(FailureCode.INVALID, str(error))
        name = task or next(iter(self._config.environments))

        async def reset() -> Answer:
            return await self._reset(name, environment, chosen, labels)

        metadata = codec.canonical(labels.metadata)
        if len(metadata) > MAX_METADATA:
            told = f"options['metadata'] has {len(metadata)} bytes as JSON"
            return Failure(FailureCode.INVALID, f"{told}; expected at most {MAX_METADATA}")
        text = f"reset {name!r} {chosen} {labels.group!r} {metadata!r}"
        return await self.calls.do(call, text, reset)

    async def step(self, episode: str, action: object, *, call: int | None = None) -> Answer:
        """Execute an action in an episode; an illegal one costs a step.

        Args:
            episode: Id of the episode.
            action: An `Action`, a `Decision`, or an action as JSON.
            call: Number of the call.
        """
        try:
            decision = read_decision(action)
        except ActionError as error:
            return Failure(FailureCode.INVALID, str(error))
        text = f"step {codec.decision_to_text(decision)}"
        return await self._on(episode, call, text, lambda played: played.step(decision))

    async def step_received(self, episode: str, action: Json, *, call: int) -> Answer:
        """Execute an action that was read from a JSON message; see `step`."""
        try:
            decision, text = read_received(action)
        except ActionError as error:
            return Failure(FailureCode.INVALID, str(error))
        return await self._on(episode, call, f"step {text}", lambda played: played.step(decision))

    async def fork(self, episode: str, *, call: int | None = None) -> Answer:
        """Begin an episode in the state of another; the reply has its id. Both go on."""
        return await self._on(episode, call, "fork", self._fork)

    async def finish(self, episode: str, *, call: int | None = None) -> Answer:
        """End an episode and judge its present state."""
        return await self._on(episode, call, "finish", lambda played: played.finish())

    async def close(self, episode: str, *, call: int | None = None) -> Answer:
        """Leave an episode: it is judged as it stands if it is not over, and its id forgotten."""
        return await self._on(episode, call, "close", self._close)

    # --- the end ---------------------------------------------------------------------------

    async def leave(self, why: str = "the caller left before the end") -> None:
        """End the session for its caller: episodes that are not over are judged as they stand."""
        await self.end(PolicyError(why))

    async def end(self, why: Exception) -> None:
        """End all episodes; no further one begins. Never raises.

        Args:
            why: A `PolicyError` if the caller left: pending calls are done first, because a caller
                must not escape a bad episode by leaving in the middle of a long call. An
                `OutOfTimeError` if its time is over. The episodes are judged in their present
                state. An `AgentError` if the server ends it: they have no score, and calls that
                take too long are cut short.
        """
        self.over = self.over or str(why)
        self._watch.cancel()
        # A judgement copies the state of the services, so not all of them run at the same time.
        judged = asyncio.Semaphore(_JUDGED_AT_A_TIME)

        async def leave(episode: SessionEpisode) -> None:
            async with judged:
                await episode.leave(why)

        leaving = {
            asyncio.create_task(leave(episode))
            for episode in self._episodes.values()
            if not episode.over or episode.busy
        }
        if not leaving:
            return
        stopped = isinstance(why, AgentError) and not isinstance(why, PolicyError)
        await asyncio.wait(leaving, timeout=STOP_S if stopped else None)
        if stopped:
            await self.cut_short(why)
            for task in leaving:
                task.cancel()

    async def cut_short(self, why: Exception) -> None:
        """End all episodes as `end` does, but do not wait for what they do. Never raises."""
        late = [episode for episode in self._episodes.values() if not episode.over]
        await asyncio.gather(*(episode.abort(why) for episode in late))

    async def _watch_time(self) -> None:
        """End the session when its time is over, or when nothing was called for too long."""
        config = self._config
        lasts_s = float("inf") if config.session_s is None else config.session_s
        while True:
            left_s = self._opened_s + lasts_s - time.monotonic()
            idle_left_s = config.idle_s - self._quiet_s
            if left_s <= 0:
                why = f"the session had {lasts_s:g} s"
            elif idle_left_s <= 0:
                why = f"nothing was called for {config.idle_s:g} s"
            else:
                await asyncio.sleep(min(left_s, idle_left_s))
                continue
            # A task of its own, because the end cancels this one.
            self._ending = asyncio.create_task(self.end(OutOfTimeError(why)))
            return

    @property
    def _quiet_s(self) -> float:
        """Seconds since anything was done for the caller."""
        episodes = self._episodes.values()
        if self.calls.pending or any(episode.busy for episode in episodes):
            return 0.0
        ends = (episode.quiet_since_s for episode in episodes)
        return time.monotonic() - max(self.calls.quiet_since_s, *ends, 0.0)

    # --- parts of calls --------------------------------------------------------------------

    def _environment(self, task: str) -> Environment | Failure:
        offered = self._config.environments
        if task == "" and len(offered) == 1:
            return next(iter(offered.values()))
        if isinstance(task, str) and task in offered:
            return offered[task]
        names = ", ".join(list(offered)[:20])
        return Failure(FailureCode.INVALID, f"task {task!r:.200}: expected one of: {names}")

    def _seed(self, seed: int | None) -> int | Failure:
        own = self._config.seed
        if own is not None:
            if seed in (None, own):
                return own
            return Failure(FailureCode.FORBIDDEN, f"the seed of every episode here is {own}")
        if type(seed) is int and 0 <= seed <= _MAX_SEED:
            return seed
        told = f"seed {seed!r:.40}: expected an integer from 0 to {_MAX_SEED}"
        return Failure(FailureCode.INVALID, told)

    async def _on(
        self,
        episode: str,
        call: int | None,
        text: str,
        work: Callable[[SessionEpisode], Coroutine[Any, Any, Answer]],
    ) -> Answer:
        """Do a call on one of the episodes."""

        async def do() -> Answer:
            played = self._episodes.get(episode) if isinstance(episode, str) else None
            if played is None:
                told = f"the session has no episode {episode!r:.40}; reset begins one"
                return Failure(FailureCode.UNKNOWN_EPISODE, told)
            return await work(played)

        return await self.calls.do(call, f"{episode!r:.100} {text}", do)

    async def _reset(
        self, task: str, environment: Environment, seed: int, labels: Labels
    ) -> Answer:
        if refusal := self._refusal():
            return refusal
        episode = self._add(task, environment)
        plan = functools.partial(self._plans.add, task, seed, self._caller, labels)
        return await episode.start(seed, plan)

    async def _fork(self, parent: SessionEpisode) -> Answer:
        if not self._config.may_fork:
            told = "this server does not let callers fork episodes"
            return Failure(FailureCode.FORBIDDEN, told, parent.id)
        if refusal := self._refusal():
            return refusal
        task = parent.state().task
        child = self._add(task, self._config.environments[task])
        answer = await child.start_as_fork(parent)
        if isinstance(answer, Failure):
            self._episodes.pop(child.id, None)
        return answer

    async def _close(self, played: SessionEpisode) -> Answer:
        await played.leave(PolicyError("the caller closed the episode before its end"))
        self._episodes.pop(played.id, None)
        return Reply(played.id, Observation(""), terminated=True)

    def _refusal(self) -> Failure | None:
        """Return why no episode can begin."""
        if self.over:
            told = f"the session is over: {self.over}; begin another one"
            return Failure(FailureCode.SESSION_OVER, told)
        bound = self._config.max_episodes
        told = self._may_begin()
        if not told and self.live >= bound:
            told = f"the session plays {self.live} episodes; expected fewer than {bound}: end one"
        return Failure(FailureCode.TOO_MANY, told) if told else None

    def _add(self, task: str, environment: Environment) -> SessionEpisode:
        self._begun += 1
        episode = SessionEpisode(f"e{self._begun}", task, environment, self._config, self._writer)
        self._episodes[episode.id] = episode
        over = [id for id, other in self._episodes.items() if other.over]
        for id in over[: max(0, len(self._episodes) - KEPT_EPISODES)]:
            del self._episodes[id]
        return episode
