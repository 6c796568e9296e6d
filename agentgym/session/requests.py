"""Answers the messages of remote clients, whatever carries them: WebSocket frames or HTTP bodies.

A message is read by `agentgym.env.remote.wire`, executed by a `Session`, and answered as JSON with
the bytes of a picture beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from agentgym import __version__
from agentgym.env.environment import Environment
from agentgym.env.remote import wire
from agentgym.records import Verdict, bounds
from agentgym.session.accounts import Account
from agentgym.session.answers import Answer, Failure, FailureCode, Reply, Score
from agentgym.session.bounds import ServerBounds
from agentgym.session.calls import detach
from agentgym.session.metrics import Metrics
from agentgym.session.server import SessionServer
from agentgym.session.session import Session
from agentgym.threads import COMPUTING

Response: TypeAlias = tuple[dict[str, Any], bytes]
"""A message for a client, and the bytes of its picture."""

BAD_MESSAGE: Final = "bad_message"
"""Code: the message is not one of the protocol; nothing was done."""

TOO_FAST: Final = "too_fast"
"""Code: the account sends more messages a second than it may; nothing was done."""

INTERNAL: Final = "internal"
"""Code: the server has a bug; the call may have been done."""

USED_UP: Final = "used_up"
"""Code: the account has sent all messages that it may send; nothing was done."""

VERSION: Final = "version"
"""Code: the client speaks another version."""


@dataclass(frozen=True, slots=True)
class Greeted:
    """A client after its hello.

    Attributes:
        session: Its session.
        pictures: The form in which it wants pictures.
        welcome: The answer to the hello.
    """

    session: Session
    pictures: wire.Pictures
    welcome: dict[str, Any]


class Requests:
    """Answers the messages of the clients of one server.

    Args:
        sessions: The sessions.
        bounds: The bounds that clients are told.
        metrics: Counts what is done.
    """

    def __init__(self, sessions: SessionServer, bounds: ServerBounds, metrics: Metrics) -> None:
        self.sessions, self.metrics = sessions, metrics
        self._bounds = bounds

    def read(
        self, account: Account, text: str | bytes
    ) -> tuple[wire.Request, None] | tuple[None, dict[str, Any]]:
        """Read a message and count it; return it, or the error message that answers it."""
        wait_s = account.take()
        if wait_s:
            rate = account.quota.messages_per_s
            told = f"account {account.name!r} sends more than {rate:g} messages a second"
            return None, self._error(
                TOO_FAST, told, call=_call_of(text), retry_after_s=round(wait_s, 3) + 0.001
            )
        if account.is_used_up:
            told = f"account {account.name!r} has sent its {account.quota.messages} messages"
            return None, self._error(USED_UP, told, call=_call_of(text))
        try:
            return wire.read_request(text), None
        except wire.TooRichError as error:
            return None, self._error(BAD_MESSAGE, str(error))
        except ValueError as error:
            return None, self._error(BAD_MESSAGE, str(error), call=_call_of(text))

    def greet(
        self, protocol: str, account: Account, hello: wire.Hello
    ) -> tuple[Greeted, None] | tuple[None, dict[str, Any]]:
        """Begin a session, or find the one that a client comes back to."""
        if hello.version != wire.VERSION:
            told = f"this server speaks version {wire.VERSION}, not {hello.version}"
            return None, self._error(VERSION, f"{told}; install the agentgym of the server")
        if hello.session:
            session = self.sessions.find(hello.session, account)
        else:
            session = self.sessions.open(protocol, hello.name or account.name, account)
        if isinstance(session, Failure):
            return None, self._error(session.code, session.message)
        config = self.sessions.config
        tells = "verdict" if config.tell_verdicts else "score" if config.tell else "nothing"
        welcome = {
            "type": "welcome",
            "version": wire.VERSION,
            "server": f"agentgym {__version__}",
            "session": session.token,
            "last_call": session.state().last_call,
            "tells": tells,
            "may_fork": config.may_fork,
            "tasks": list(config.environments),
            "bounds": self._told_bounds(account),
        }
        return Greeted(session, hello.pictures, welcome), None

    async def answer(
        self, session: Session, request: wire.Request, pictures: wire.Pictures
    ) -> Response:
        """Do what a message asks for. Never raises: a client must not wait for an answer.

        To be awaited by a task of its own, which nothing cancels.
        """
        detach()
        try:
            return await self._answer(session, request, pictures)
        except Exception as error:  # noqa: BLE001 - the boundary to the client
            told = f"{request.type}: {type(error).__name__}: {str(error)[:300]}"
            call = None if isinstance(request, wire.Hello) else request.call
            return self._error(INTERNAL, f"the server failed at {told}", call=call), b""

    async def _answer(
        self, session: Session, request: wire.Request, pictures: wire.Pictures
    ) -> Response:
        # In the order of their frequency.
        if isinstance(request, wire.Step):
            answer = await session.step_received(request.episode, request.action, call=request.call)
        elif isinstance(request, wire.Reset):
            answer = await session.reset(
                request.task, request.seed, options=request.options, call=request.call
            )
        elif isinstance(request, wire.Close):
            answer = await session.close(request.episode, call=request.call)
        elif isinstance(request, wire.Fork):
            answer = await session.fork(request.episode, call=request.call)
        elif isinstance(request, wire.Finish):
            answer = await session.finish(request.episode, call=request.call)
        elif isinstance(request, wire.Describe):
            return self._described(request), b""
        elif isinstance(request, wire.AskState):
            return _state(session, request.call), b""
        elif isinstance(request, wire.Leave):
            await session.leave()
            self.sessions.forget(session)
            return _state(session, request.call), b""
        else:
            return self._error(BAD_MESSAGE, "hello is the first message of a connection"), b""
        return await self._response(request.type, request.call, answer, pictures)

    async def _response(
        self, kind: str, call: int, answer: Answer, pictures: wire.Pictures
    ) -> Response:
        if isinstance(answer, Failure):
            message = self._error(
                answer.code,
                answer.message,
                call=call,
                episode=answer.episode,
                status=answer.status,
                **judged(answer.score, answer.verdict),
            )
            return message, b""
        self.metrics.count_done(kind, answer)
        if answer.observation.image is None:
            return response_of(answer, call, pictures)
        # To compress a picture takes milliseconds, in which other connections would wait.
        return await COMPUTING.run(response_of, answer, call, pictures)

    def _described(self, request: wire.Describe) -> dict[str, Any]:
        offered = self.sessions.config.environments
        name = request.task or (next(iter(offered)) if len(offered) == 1 else "")
        environment = offered.get(name)
        if environment is None:
            names = ", ".join(list(offered)[:20])
            told = f"task {request.task!r:.200}: expected one of: {names}"
            return self._error(FailureCode.INVALID, told, call=request.call)
        return {"type": "task", "call": request.call, "task": name, **description(environment)}

    def _error(self, code: str, message: str, **fields: Any) -> dict[str, Any]:
        self.metrics.count_error(code)
        return {"type": "error", "code": str(code), "message": message, **fields}

    def _told_bounds(self, account: Account) -> dict[str, Any]:
        config, quota = self.sessions.config, account.quota
        return {
            "message_bytes": self._bounds.message_bytes,
            "messages_per_s": quota.messages_per_s,
            "sessions": min(quota.sessions or config.max_sessions, config.max_sessions),
            "episodes": min(quota.episodes or config.max_episodes, config.max_episodes),
            "call_s": config.call_s,
            "episode_s": config.timeout_s,
            "session_s": config.session_s,
            "idle_s": config.idle_s,
            "resume_s": self._bounds.resume_s,
        }


def response_of(reply: Reply, call: int, pictures: wire.Pictures) -> Response:
    """Return a reply as a message, and the bytes of its picture."""
    seen, picture = reply.observation, b""
    observation: dict[str, Any] = {
        "text": seen.text,
        "data": seen.data,
        "effect": seen.effect.value,
    }
    if seen.image is not None:
        observation["image"], picture = wire.picture_bytes(seen.image, pictures)
    message: dict[str, Any] = {
        "type": "reply",
        "call": call,
        "episode": reply.episode,
        "observation": observation,
    }
    if reply.facts is not None:
        message["facts"] = reply.facts
    if reply.over:
        message |= {"terminated": reply.terminated, "truncated": reply.truncated}
        message |= judged(reply.score, reply.verdict)
    return message, picture


def judged(score: Score | None, verdict: Verdict | None) -> dict[str, Any]:
    """Return the fields of a message that tell how an episode was judged."""
    told: dict[str, Any] = {}
    if score is not None:
        told |= {"score": score.score, "outcome": score.outcome}
    if verdict is not None:
        told["verdict"] = asdict(verdict)
    return told


def description(environment: Environment) -> dict[str, Any]:
    """Return the task, the tools and the limits of an environment as fields of a message."""
    limits = environment.observation_limits
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in environment.tools
    ]
    return {
        "id": environment.task.id,
        "max_steps": environment.max_steps,
        "tools": tools,
        "text_bytes": limits.text_bytes,
        "data_bytes": limits.data_bytes,
        "image_width": limits.image_width,
        "image_height": limits.image_height,
    }


def _state(session: Session, call: int) -> dict[str, Any]:
    state = session.state()
    return {
        "type": "state",
        "call": call,
        "last_call": state.last_call,
        "over": state.over,
        "episodes": [asdict(episode) for episode in state.episodes],
    }


def _call_of(text: str | bytes) -> int | None:
    """Return the number of a message that is not executed, so that its client finds the answer."""
    if bounds.is_too_rich(text):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    call = found.get("call") if isinstance(found, Mapping) else None
    return call if type(call) is int and abs(call) < 2**53 else None
