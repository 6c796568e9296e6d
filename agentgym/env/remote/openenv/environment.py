"""Environments on a server of OpenEnv, and their episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from agentgym.env.remote.openenv.address import OpenEnvAddress
from agentgym.env.remote.openenv.connection import Connection, code_of, said_in
from agentgym.env.remote.openenv.description import Described
from agentgym.env.remote.openenv.observations import (
    DATA_BYTES,
    SIDE,
    TEXT_CHARS,
    error_of,
    is_truncated,
    number_of,
    read_observation,
)
from agentgym.env.transition import Transition
from agentgym.errors import ActionError, ServerError, UnsupportedError
from agentgym.records import (
    Action,
    Effect,
    Json,
    Observation,
    ObservationLimits,
    Step,
    Verdict,
    bounds,
)
from agentgym.surfaces.calls import check_call
from agentgym.surfaces.truncation import bounded

MAX_STEPS: Final = 2**31 - 1
"""A server of OpenEnv does not say how many steps an episode may have."""

_REFUSED: Final = ("VALIDATION_ERROR", "EXECUTION_ERROR")
"""Codes of errors that the action is taken to be the reason of; the episode goes on."""


class OpenEnvEnvironment:
    """An environment on a server of OpenEnv; has what the Gymnasium classes use of an Environment.

    Args:
        address: The server.
        told: Its description.
        task: Passed to the server's ``reset`` as ``task``, for environments that take one.

    Attributes:
        task: Its ``id``, in the infos.
        tools: Its tools.
        observation_limits: Largest size of an observation; larger parts are left out.
        max_steps: Largest number of steps in an episode; the server does not say it.
    """

    def __init__(self, address: OpenEnvAddress, told: Described, task: str = "") -> None:
        self.address, self.told, self._options = address, told, {"task": task} if task else {}
        self.task = SimpleNamespace(id=f"openenv/{told.name}", name=told.name)
        self.tools, self.max_steps = told.tools, MAX_STEPS
        side = SIDE if told.pictures else 0
        self.observation_limits = ObservationLimits(4 * TEXT_CHARS, DATA_BYTES, side, side)
        self._connection: Connection | None = None
        self._episode: OpenEnvEpisode | None = None
        self._begun = asyncio.Lock()

    async def start(self, seed: int) -> OpenEnvEpisode:
        """Begin an episode; the one before is over, because a connection plays one at a time.

        Raises:
            ServerError: The server cannot be reached, has no free place, or cannot begin.
        """
        async with self._begun:
            if self._episode is not None:
                self._episode.over = True
            if self._connection is None or self._connection.lost:
                self._connection = await Connection.open(self.address)
            answer = await self._connection.ask("reset", {"seed": seed, **self._options})
            if answer.get("type") != "observation":
                await self._connection.close()  # a server without a free place closes it, too
                code, why = code_of(answer), said_in(answer)
                told = f"{self.address.url} did not begin an episode: {why or code}"
                raise ServerError("too_many" if code == "CAPACITY_REACHED" else "refused", told)
            self._episode = OpenEnvEpisode(self, self._connection, seed, answer["data"])
            return self._episode

    async def close(self) -> None:
        """End the episode and the connection. Never raises."""
        connection, self._connection = self._connection, None
        if self._episode is not None:
            self._episode.over = True
        if connection is not None:
            await connection.close()


class OpenEnvEpisode:
    """An episode on a server of OpenEnv; has what the Gymnasium classes use of an `Episode`.

    Attributes:
        environment: Its environment.
        first: First observation, below the description of the environment.
        steps: The steps taken so far.
        instance: Its ``seed``; OpenEnv tells no parameters.
        over: Whether it is over.
        waited_s: 0.0: there is no simulated user.
        asks_user: False.
    """

    def __init__(
        self,
        environment: OpenEnvEnvironment,
        connection: Connection,
        seed: int,
        told: Mapping[str, Any],
    ) -> None:
        self.environment, self._connection = environment, connection
        self.over, self.waited_s, self.asks_user = False, 0.0, False
        seen = read_observation(told, Effect.NO_CHANGE)
        about = environment.told.about or environment.told.name
        text = bounded(f"{about}\n\n{seen.text}".strip(), most=TEXT_CHARS)
        self.first = replace(seen, text=text)
        self.instance = SimpleNamespace(seed=seed, params={}, instruction=self.first.text)
        self.steps: list[Step] = []

    async def step(self, action: object) -> Transition:
        """Execute one action. One that is illegal, or that the server refuses, changes nothing.

        Raises:
            ServerError: The connection was lost, or the server tells an error in place of a score.
        """
        if self.over:
            raise ServerError("episode_over", "the episode is over; reset begins another one")
        decision = bounds.read_decision(action)
        try:
            if decision.action.tool == "" and "malformed" in decision.action.arguments:
                raise ActionError(str(decision.action.arguments["malformed"])[:200])
            check_call(decision.action, self.environment.tools)
        except ActionError as error:
            done = Transition(Observation(f"error: {error}", effect=Effect.ERROR))
        else:
            done = await self._sent(decision.action)
        self.steps.append(Step(len(self.steps), decision, done.observation, 0.0))
        return done

    async def _sent(self, action: Action) -> Transition:
        try:
            answer = await self._connection.ask("step", self._as_told(action))
            if answer.get("type") == "error" and code_of(answer) in _REFUSED:
                said = f"error: {said_in(answer)}"
                return Transition(Observation(bounded(said), effect=Effect.ERROR))
            if answer.get("type") != "observation":
                told = f"{self.environment.address.url}: {code_of(answer)}: {said_in(answer)}"
                raise ServerError("refused", told)
            return self._transition(answer["data"])
        except ServerError:
            self.over = True
            raise

    def _as_told(self, action: Action) -> dict[str, Json]:
        """Return an action as the server reads it."""
        called = self.environment.told.called
        if not called:
            return dict(action.arguments)
        arguments = dict(action.arguments)
        return {"type": "call_tool", "tool_name": called[action.tool], "arguments": arguments}

    def _transition(self, told: Mapping[str, Any]) -> Transition:
        seen, reward = read_observation(told, Effect.CHANGED), number_of(told.get("reward"))
        if not told.get("done"):
            return Transition(seen, reward)
        self.over = True
        if status := error_of(told):
            told_by = self.environment.address.url
            raise ServerError("unscored", f"{told_by}: the episode is unscored: {status}")
        truncated = is_truncated(told)
        return Transition(seen, reward, not truncated, truncated)

    async def fork(self) -> NoReturn:
        """Refuse: OpenEnv knows no forks."""
        raise UnsupportedError("a server of OpenEnv cannot fork an episode")

    async def finish(self) -> Verdict:
        """Refuse: a server of OpenEnv judges nothing before the end of an episode.

        Raises:
            ServerError: Always.
        """
        await self.close()
        raise ServerError("unscored", "a server of OpenEnv does not judge an unfinished episode")

    async def close(self) -> None:
        """End the episode; its connection is used for the next one. Never raises."""
        self.over = True
