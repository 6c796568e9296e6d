"""Sessions for clients of OpenEnv (``openenv-core`` 0.3): its WebSocket messages over a `Session`.

A client of OpenEnv plays one episode at a time, knows no resume token and reads ``observation``,
``reward`` and ``done`` of an answer. What its own server drops is kept in the observation here:
whether the episode was truncated, and metadata with the status, the verdict and the tools. The
session ends with its connection, so a client that is gone holds no episode.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, TypeAlias

from agentgym.records import Action, bounds
from agentgym.records.json_text import encoder
from agentgym.session.accounts import Account
from agentgym.session.answers import Failure, FailureCode, Reply
from agentgym.session.bounds import ServerBounds
from agentgym.session.direct import TOO_LARGE, DirectMessages
from agentgym.session.held import Held, HeldTooMuch
from agentgym.session.metrics import Metrics
from agentgym.session.requests import description, judged, response_of
from agentgym.session.rich_messages import RichMessages
from agentgym.session.server import SessionServer
from agentgym.session.session import Session
from agentgym.threads import COMPUTING

Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
Message: TypeAlias = dict[str, Any]

PATH: Final = "/openenv/ws"
"""Path of WebSocket connections; the ``base_url`` of a client ends with ``/openenv``."""

_SILENT: Final = 1008
_LEFT: Final = 1000
_STOPPED: Final = 1001

_CODES: Final[dict[str, str]] = {
    FailureCode.TOO_MANY: "CAPACITY_REACHED",
    FailureCode.INVALID: "VALIDATION_ERROR",
    FailureCode.FORBIDDEN: "VALIDATION_ERROR",
    FailureCode.SESSION_OVER: "SESSION_ERROR",
    FailureCode.UNKNOWN_EPISODE: "SESSION_ERROR",
}
"""OpenEnv's codes; EXECUTION_ERROR for all others."""

_SEEDS: Final = 2**31
_MAX_EPISODE_ID: Final = 200
_encoded = encoder(default=dict)


def bearer_of(authorization: str) -> str:
    """Return the ``Bearer`` header that a client of OpenEnv means.

    It can send no header of its own, but its WebSocket library sends the user and the password of
    an address such as ``http://token:TOKEN@127.0.0.1:8765/openenv``.

    Args:
        authorization: Value of the header ``Authorization``.
    """
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() != "basic":
        return authorization
    try:
        _, _, token = base64.b64decode(shown.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return ""
    return f"Bearer {token}"


class OpenEnvConnections:
    """The connections of clients of OpenEnv to one server.

    Args:
        sessions: The sessions.
        bounds: The bounds of connections.
        metrics: Counts connections, calls and bytes.
        rich: Spaces messages of very many values.
    """

    def __init__(
        self, sessions: SessionServer, bounds: ServerBounds, metrics: Metrics, rich: RichMessages
    ) -> None:
        self._sessions, self._bounds, self._metrics = sessions, bounds, metrics
        self._rich = rich
        self._open: set[_Connection] = set()

    async def serve(
        self,
        account: Account,
        receive: Receive,
        send: Send,
        direct: DirectMessages | None = None,
    ) -> None:
        """Serve one connection of an account until it ends.

        Args:
            account: The account.
            receive: Receives the next event of the connection.
            send: Sends an event.
            direct: Tells messages that are too large, if the connection can.
        """
        if direct is not None:
            direct.tell_too_large()
        await receive()  # websocket.connect
        try:
            await send({"type": "websocket.accept"})
        except OSError:  # uvicorn's error for a client that is gone
            return
        connection = _Connection(
            *(self._sessions, self._bounds, self._metrics, self._rich, account, send)
        )
        self._metrics.connections += 1
        self._open.add(connection)
        try:
            await connection.play(receive)
        finally:
            self._metrics.connections -= 1
            self._open.discard(connection)
            # A task of its own: the end is judged also if this one is cancelled.
            await asyncio.shield(asyncio.create_task(connection.leave()))

    async def stop(self) -> None:
        """Close every connection because the server ends. Never raises."""
        closing = [each.close(_STOPPED, "the server ends") for each in self._open]
        await asyncio.gather(*closing, return_exceptions=True)


class _Connection:
    """One connection: it answers one message after the other."""

    def __init__(
        self,
        sessions: SessionServer,
        bounds: ServerBounds,
        metrics: Metrics,
        rich: RichMessages,
        account: Account,
        send: Send,
    ) -> None:
        self._rich = rich
        self._sessions, self._bounds, self._metrics = sessions, bounds, metrics
        self._account, self._send = account, send
        self._session: Session | None = None
        self._episode = self._episode_id = ""
        self._steps = 0
        self._knows_end = False

    async def play(self, receive: Receive) -> None:
        """Answer messages until the connection ends."""
        silent_s = min(self._bounds.first_s, self._sessions.config.idle_s)
        while True:
            try:
                async with asyncio.timeout(silent_s):
                    event = await receive()
            except TimeoutError:
                await self.close(_SILENT, f"nothing came within {silent_s:g} s")
                return
            silent_s = self._sessions.config.idle_s
            if event["type"] != "websocket.receive":
                return
            began_s = time.perf_counter()
            text = event.get("text") or event.get("bytes") or b""
            self._metrics.received_bytes += len(text)
            held = Held(self._account)
            try:
                held.add(len(text))
                answer: Message | None
                if TOO_LARGE in event:
                    told = f"more than {self._bounds.message_bytes:,} bytes; expected fewer"
                    answer = await self._unread(event[TOO_LARGE], told)
                else:
                    answer = await self._answer(text)
            except HeldTooMuch as error:
                answer = self._error("CAPACITY_REACHED", str(error))
            finally:
                held.let_go()
            if answer is None:
                await self.close(_LEFT, "the session was closed")
                return
            if not await self._tell(_encoded(answer)):
                return
            self._metrics.count_seconds(time.perf_counter() - began_s)

    async def leave(self) -> None:
        """End the session: its episode is judged as it stands."""
        session, self._session = self._session, None
        if session is not None:
            await session.leave("the client of OpenEnv left before the end")
            self._sessions.forget(session)

    async def close(self, code: int, reason: str) -> None:
        """Close the connection. Never raises."""
        try:
            async with asyncio.timeout(self._bounds.send_s):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except (OSError, TimeoutError, RuntimeError):
            pass

    async def _tell(self, text: str) -> bool:
        """Send a message; return whether the client took it in time."""
        self._metrics.sent_bytes += len(text)
        try:
            async with asyncio.timeout(self._bounds.send_s):
                await self._send({"type": "websocket.send", "text": text})
        except (OSError, TimeoutError):
            return False
        return True

    async def _answer(self, text: str | bytes) -> Message | None:
        """Return the answer to a message; None after ``close``."""
        if self._account.is_used_up:
            told = f"the account has sent its {self._account.quota.messages} messages"
            return self._error("CAPACITY_REACHED", told)
        # A client of OpenEnv never sends a message again, so one that is too fast has to wait.
        while (wait_s := self._account.take()) > 0:
            await asyncio.sleep(wait_s)
        if bounds.is_too_rich(text):
            told = f"more than {bounds.MAX_VALUES:,} values; expected fewer"
            return await self._unread(text, told)
        await self._rich.wait(self._account, len(text), bounds.weight_of(text))
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            told = f"expected a JSON object: {str(error)[:200]}"
            return await self._unread(text, told, "INVALID_JSON")
        kind = message.get("type") if isinstance(message, dict) else None
        data = message.get("data", {}) if isinstance(message, dict) else None
        if kind == "close":
            return None
        if kind not in ("reset", "step", "state"):
            shown = repr(kind[:40]) if isinstance(kind, str) else type(kind).__name__
            told = f"type {shown}: expected 'reset', 'step', 'state' or 'close'"
            return self._error("UNKNOWN_TYPE", told)
        if not isinstance(data, dict):
            return self._error("VALIDATION_ERROR", f"data of {kind!r}: expected an object")
        try:
            if kind == "state":
                return {"type": "state", "data": self._state()}
            return await (self._reset(data) if kind == "reset" else self._step(data))
        except Exception as error:  # noqa: BLE001 - the boundary to the client
            told = f"the server failed at {kind}: {type(error).__name__}: {str(error)[:300]}"
            return self._error("EXECUTION_ERROR", told)

    async def _unread(
        self, text: str | bytes, told: str, code: str = "VALIDATION_ERROR"
    ) -> Message:
        """Return the answer to a message of which only the beginning is read."""
        if _begins_step(text) and self._session is not None and self._episode:
            # The client raises for an error, so a policy would lose its episode.
            return await self._played(self._session, bounds.malformed(told))
        return self._error(code, told)

    async def _reset(self, data: Mapping[str, Any]) -> Message:
        known = {"seed", "episode_id", "task", "options"}
        if extra := sorted(set(data) - known):
            told = f"reset({extra[0][:40]}=…): expected some of {', '.join(sorted(known))}"
            return self._error("VALIDATION_ERROR", told)
        episode_id, options = data.get("episode_id") or "", data.get("options") or {}
        if not isinstance(episode_id, str) or len(episode_id) > _MAX_EPISODE_ID:
            told = f"episode_id: expected text of at most {_MAX_EPISODE_ID} characters"
            return self._error("VALIDATION_ERROR", told)
        if not isinstance(options, dict):
            return self._error("VALIDATION_ERROR", "options: expected an object")
        session = self._opened()
        if isinstance(session, Failure):
            return self._failed(session)
        if self._episode:  # A new one takes its place.
            await session.close(self._episode)
            self._episode = ""
        seed, task = data.get("seed"), data.get("task") or ""
        if seed is None and self._sessions.config.seed is None:
            seed = secrets.randbelow(_SEEDS)
        if episode_id:
            labels = options.get("metadata")
            labels = labels if isinstance(labels, dict) else {}
            options = {**options, "metadata": {**labels, "episode_id": episode_id}}
        answer = await session.reset(task, seed, options=options)
        if isinstance(answer, Failure):
            return self._failed(answer)
        self._metrics.count_done("reset", answer)
        self._episode, self._steps, self._knows_end = answer.episode, 0, False
        self._episode_id = episode_id or answer.episode
        offered = self._sessions.config.environments
        name = task or next(iter(offered))
        facts = {**(answer.facts or {}), **description(offered[name])}
        return await self._observed(answer, {"episode_id": self._episode_id, **facts})

    async def _step(self, data: Mapping[str, Any]) -> Message:
        if self._session is None or not self._episode:
            return self._error("SESSION_ERROR", "no episode has begun; call reset first")
        # Every action of OpenEnv has metadata, which are no part of a call.
        action = {name: value for name, value in data.items() if name != "metadata"}
        return await self._played(self._session, action)

    async def _played(self, session: Session, action: Mapping[str, Any] | Action) -> Message:
        answer = await session.step(self._episode, action)
        if isinstance(answer, Failure) and answer.code is FailureCode.INVALID:
            # The client raises for an error, so a model that wrote NaN would lose its episode.
            answer = await session.step(self._episode, bounds.malformed(answer.message))
        if isinstance(answer, Failure):
            return self._not_done(answer)
        self._metrics.count_done("step", answer)
        self._steps += 1
        return await self._observed(answer, {"episode_id": self._episode_id})

    def _not_done(self, failure: Failure) -> Message:
        """Return the answer to a step that was not done; the end of an episode is told once."""
        if not failure.over or (self._knows_end and failure.code is FailureCode.EPISODE_OVER):
            return self._failed(failure)
        self._metrics.count_error(failure.code)
        self._knows_end = True
        if failure.code is FailureCode.EPISODE_OVER:
            # The server ended and judged it, because its time was over.
            return self._end(failure, {"status": "scored"})
        # Missing data: no reward, and never one of 0.
        return self._end(failure, {"status": failure.status})

    def _state(self) -> Message:
        episodes = () if self._session is None else self._session.state().episodes
        told = next((each for each in episodes if each.id == self._episode), None)
        return {
            "episode_id": self._episode_id or None,
            "step_count": self._steps if told is None else told.steps,
            "over": told is None or told.over,
            "seed": None if told is None else told.seed,
            "task": None if told is None else told.task,
        }

    def _opened(self) -> Session | Failure:
        if self._session is None or self._session.over:
            self._episode = ""
            found = self._sessions.open("openenv", self._account.name, self._account)
            if isinstance(found, Failure):
                return found
            self._session = found
        return self._session

    async def _observed(self, reply: Reply, metadata: Message) -> Message:
        """Return a reply as an observation of OpenEnv."""
        if reply.observation.image is None:
            message, picture = response_of(reply, 0, "png")
        else:
            message, picture = await COMPUTING.run(response_of, reply, 0, "png")
        seen = message["observation"]
        if picture:
            seen["image"]["base64"] = base64.b64encode(picture).decode()
        verdict = judged(reply.score, reply.verdict)
        self._knows_end = reply.over
        if reply.over:
            metadata = {**metadata, "status": "scored", **verdict}
        reward = verdict.get("score") if reply.over else 0.0
        return _observation(seen, reward, reply.over, reply.truncated, metadata)

    def _end(self, failure: Failure, metadata: Message) -> Message:
        """Return the end of an episode that was over before the step, with its score if any."""
        seen = {"text": failure.message, "data": {}, "effect": "error"}
        verdict = judged(failure.score, failure.verdict)
        reward = verdict.get("score")
        told = {"episode_id": self._episode_id, **metadata, **verdict}
        return _observation(seen, reward, True, True, told)

    def _failed(self, failure: Failure) -> Message:
        return self._error(_CODES.get(failure.code, "EXECUTION_ERROR"), failure.message)

    def _error(self, code: str, message: str) -> Message:
        self._metrics.count_error(code.lower())
        return {"type": "error", "data": {"message": message, "code": code}}


def _begins_step(text: str | bytes) -> bool:
    """Return whether a message that is not read is a step, as clients of OpenEnv write it."""
    begin = text[:64]
    return '"step"' in (begin if isinstance(begin, str) else begin.decode("utf-8", "replace"))


def _observation(
    seen: Message, reward: float | None, done: bool, truncated: bool, metadata: Message
) -> Message:
    observation = {**seen, "truncated": truncated, "metadata": metadata}
    return {
        "type": "observation",
        "data": {"observation": observation, "reward": reward, "done": done},
    }
