"""An environment whose episodes are played on a server.

It has what `GymEnv` and `VectorEnvironment` use of an `Environment`, so they drive both alike.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from agentgym.env.labels import UNLABELLED, Labels
from agentgym.env.outcome import why_unscored
from agentgym.env.remote import wire
from agentgym.env.remote.connection import RemoteSession
from agentgym.env.transition import Transition
from agentgym.errors import (
    ActionError,
    AgentError,
    AgentGymError,
    ConfigError,
    PluginError,
    RecordError,
    SandboxDiedError,
    SandboxError,
    ServerError,
    ServiceError,
    SurfaceError,
    TaskError,
    UnsupportedError,
    UserError,
    VerifierError,
)
from agentgym.record.reading import read
from agentgym.records import (
    Action,
    Decision,
    Observation,
    ObservationLimits,
    Step,
    ToolSpec,
    Verdict,
    bounds,
)
from agentgym.surfaces.calls import check_call

_SURELY_SMALL: Final = 100_000
"""Characters of an action that is within all bounds of its size."""

_BROKEN: Final[dict[str, type[AgentGymError]]] = {
    each.boundary: each
    for each in (
        *(ConfigError, PluginError, TaskError, SandboxError, SurfaceError, VerifierError),
        *(AgentError, UserError, RecordError),
    )
}
"""The error of each boundary of a server that can break an episode."""


@dataclass(frozen=True, slots=True)
class RemoteTask:
    """The task of a remote environment.

    Attributes:
        id: Its id, as in the infos.
        name: The name by which the server offers it.
    """

    id: str
    name: str


class RemoteEnvironment:
    """A task on a server; `open_remote` makes it.

    Args:
        session: The session that plays its episodes; it may be shared.
        told: The server's description of the task.

    Attributes:
        task: The task.
        tools: Its tools.
        observation_limits: Largest size of an observation.
        max_steps: Largest number of steps in an episode.
        labels: Labels of the next episode.
    """

    def __init__(self, session: RemoteSession, told: wire.TaskMessage) -> None:
        self.session = session
        session.users += 1
        self.task = RemoteTask(told.id, told.task)
        self.tools = tuple(
            ToolSpec(tool.name, tool.description, tool.parameters) for tool in told.tools
        )
        self.observation_limits = ObservationLimits(
            told.text_bytes, told.data_bytes, told.image_width, told.image_height
        )
        self.max_steps = told.max_steps
        self.labels: Labels = UNLABELLED
        self._live: set[RemoteEpisode] = set()
        self._closed = False

    async def start(self, seed: int) -> RemoteEpisode:
        """Begin an episode; see `Environment.start`.

        Raises:
            ServerError: The server cannot be reached, or a bound is reached.
            AgentGymError: The episode could not be started; the class names the boundary.
        """
        options = _options(self.labels)
        message, picture = await self.session.call(
            wire.Reset, task=self.task.name, seed=seed, options=options
        )
        reply = _reply(message)
        episode = RemoteEpisode(self, reply, _seen(reply, picture), ())
        self._live.add(episode)
        return episode

    async def close(self) -> None:
        """Leave its episodes, and the session with the last environment. Never raises."""
        if self._closed:
            return
        self._closed = True
        self.session.users -= 1
        if self.session.users == 0:
            await self.session.leave()
            return
        for episode in tuple(self._live):
            await episode.close()

    def _forget(self, episode: RemoteEpisode) -> None:
        self._live.discard(episode)


@dataclass(eq=False)
class RemoteEpisode:
    """An episode on a server; has what the Gymnasium classes use of an `Episode`.

    Attributes:
        environment: Its environment.
        id: Its id within the session.
        first: First observation.
        steps: The steps taken so far.
        instance: Its ``seed`` and ``params``.
        over: Whether it is over.
        waited_s: 0.0: the server counts the time that the user took, and not the client.
        asks_user: False, for the same reason.
    """

    environment: RemoteEnvironment
    _reply: wire.ReplyMessage
    first: Observation
    _before: tuple[Step, ...]
    steps: list[Step] = field(init=False)

    def __post_init__(self) -> None:
        facts = self._reply.facts or {}
        self.id, self.over = self._reply.episode, False
        self.waited_s, self.asks_user = 0.0, False
        self.instance = SimpleNamespace(
            seed=facts.get("seed"), params=facts.get("params", {}), instruction=self.first.text
        )
        self.steps = list(self._before)

    async def step(self, action: object) -> Transition:
        """Execute one action; see `Episode.step`.

        Raises:
            ServerError: The server cannot be reached.
            AgentGymError: The episode broke; the class names the boundary.
        """
        decision, began_s = _sendable(action, self.environment.tools), time.perf_counter()
        message, picture = await self._call(wire.Step, action=decision.action.to_json())
        if isinstance(message, wire.ErrorMessage):
            return self._ended_before(message)
        seen = _seen(message, picture)
        spent_s = time.perf_counter() - began_s
        self.steps.append(Step(len(self.steps), decision, seen, spent_s))
        if not (message.terminated or message.truncated):
            return Transition(seen)
        verdict = self._judged(message)
        return Transition(seen, verdict.score, message.terminated, message.truncated, verdict)

    async def fork(self) -> RemoteEpisode:
        """Begin an episode in the present state; both go on.

        Raises:
            UnsupportedError: A part of the episode cannot be forked.
            ServerError: The server lets no one fork, or a bound is reached.
        """
        message, picture = await self._call(wire.Fork)
        reply = _reply(message)
        child = RemoteEpisode(self.environment, reply, self.first, tuple(self.steps))
        self.environment._live.add(child)
        return child

    async def finish(self) -> Verdict:
        """End the episode and return the verdict on its present state."""
        message, _ = await self._call(wire.Finish)
        if isinstance(message, wire.ErrorMessage):
            found = self._ended_before(message).verdict
            assert found is not None
            return found
        return self._judged(message)

    async def close(self) -> None:
        """Leave the episode; the server judges its present state. Never raises."""
        if not self.over and not self.environment.session.is_over:
            with contextlib.suppress(ServerError):
                await self._call(wire.Close)
        self._end()

    async def _call(
        self, kind: type[Any], **fields: Any
    ) -> tuple[wire.ReplyMessage | wire.ErrorMessage, bytes]:
        try:
            message, picture = await self.environment.session.call(kind, episode=self.id, **fields)
        except ServerError:
            self._end()
            raise
        if not isinstance(message, wire.ReplyMessage | wire.ErrorMessage):
            raise ServerError("bad_message", f"expected a reply, got {message.type}")
        return message, picture

    def _end(self) -> None:
        self.over = True
        self.environment._forget(self)

    def _judged(self, told: wire.ReplyMessage | wire.ErrorMessage) -> Verdict:
        self._end()
        if told.verdict is not None:
            return _finite(_verdict(told.verdict))
        if told.score is None or told.outcome is None:
            raise ServerError(
                "untold", "the server tells no scores; start it with --tell score or verdict"
            )
        return _finite(Verdict("scored", told.outcome, told.score))

    def _ended_before(self, told: wire.ErrorMessage) -> Transition:
        """Return the end of an episode that the server ended before the call: its time was over.

        Raises:
            AgentGymError: The episode broke, or the call was refused.
        """
        if told.code in ("episode_over", "unscored"):
            self._end()
        if told.code != "episode_over":
            _raise(told)
        verdict = self._judged(told)
        seen = Observation(f"the episode is over: {told.message}")
        return Transition(seen, verdict.score, False, True, verdict)


class RemoteLabels:
    """Passes the labels of episodes to the server, which records them.

    It stands where a local environment has its `GymRecording`.

    Args:
        environment: The environment.
    """

    def __init__(self, environment: RemoteEnvironment) -> None:
        self._environment = environment

    async def start(
        self, starting: Awaitable[RemoteEpisode], seed: int, labels: Labels
    ) -> RemoteEpisode:
        """Begin an episode with labels."""
        # The start does not run before it is awaited.
        self._environment.labels = labels
        return await starting

    async def step(self, stepping: Awaitable[Transition]) -> Transition:
        """Take a step; the server records it."""
        return await stepping

    async def fail(self, error: Exception) -> None:
        """Do nothing: the server records the end."""

    async def abandon(self, why: str) -> None:
        """Do nothing: the server records the end."""

    async def close(self, why: str) -> None:
        """Do nothing: the server records the end."""


def _options(labels: Labels) -> dict[str, Any] | None:
    told = {"group": labels.group, "metadata": labels.metadata}
    return {key: value for key, value in told.items() if value is not None} or None


def _sendable(action: object, tools: Sequence[ToolSpec]) -> Decision:
    """Return an action as JSON carries it; one that JSON cannot hold becomes an illegal one.

    The server then answers it like any illegal action, with the words of a local environment.
    """
    decision = bounds.read_decision(action)
    given = decision.action.to_json()
    try:
        text = json.dumps(given, allow_nan=False, ensure_ascii=False, default=_plain)
        is_same = json.loads(text.encode()) == given and len(text) <= _SURELY_SMALL
    except (TypeError, ValueError, RecursionError) as error:
        return replace(decision, action=bounds.malformed(_fault(decision.action, tools) or error))
    if is_same:
        return decision
    if fault := _fault(decision.action, tools):
        return replace(decision, action=bounds.malformed(fault))
    return replace(decision, action=Action.from_json(json.loads(text)))


def _fault(action: Action, tools: Sequence[ToolSpec]) -> ActionError | None:
    try:
        check_call(action, tools)
    except ActionError as error:
        return error
    return None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


def _seen(reply: wire.ReplyMessage, picture: bytes) -> Observation:
    told = reply.observation
    try:
        image = None if told.image is None else wire.read_picture(told.image, picture)
        return Observation(told.text, image, told.data, wire.effect_of(told))
    except ValueError as error:
        raise ServerError("bad_message", f"an observation of the server: {error}") from error


def _reply(message: wire.Response) -> wire.ReplyMessage:
    """Return a reply. Raises AgentGymError for an error."""
    if isinstance(message, wire.ReplyMessage):
        return message
    if isinstance(message, wire.ErrorMessage):
        _raise(message)
    raise ServerError("bad_message", f"expected a reply, got {message.type}")


def _raise(told: wire.ErrorMessage) -> NoReturn:
    """Raise the error that a local environment would raise.

    Raises:
        AgentGymError: Always.
    """
    if told.code == "unscored":
        boundary = told.status.removeprefix("error:")
        if boundary == "service":
            raise ServiceError("internal", told.message)
        said = told.message.removeprefix(f"{told.status}: ")
        if boundary == "sandbox":
            raise SandboxDiedError(said)
        if boundary == "verifier" and told.verdict is not None:
            said = _broken_checks(told.verdict) or said
        raise _BROKEN.get(boundary, AgentGymError)(said)
    if told.code == "unsupported":
        raise UnsupportedError(told.message)
    if told.code in ("invalid", "forbidden"):
        raise ConfigError(told.message)
    raise ServerError(told.code, told.message)


def _broken_checks(verdict: Mapping[str, Any]) -> str:
    return why_unscored(_verdict(verdict))


def _verdict(told: Mapping[str, Any]) -> Verdict:
    try:
        return read(Verdict, told, "verdict")
    except ValueError as error:
        raise ServerError("bad_message", str(error)) from error


def _finite(verdict: Verdict) -> Verdict:
    """Return a verdict. Raises ServerError for a score that is no number."""
    if not math.isfinite(verdict.score):
        raise ServerError("bad_message", f"the server tells a score of {verdict.score}")
    return verdict
