"""A user played by a model: the same file and tools as the scripted one, in free words.

It implements one turn: the messages sent to the model, the user's own calls before the answer, and
the validation of the answer. A recorded turn is not asked for again: its calls are repeated and its
words enter the dialogue, so that later turns are asked as in one uninterrupted episode.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.chat.address import Address
from agentgym.chat.completion import Message
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.errors import (
    ContextLengthError,
    EndlessReplyError,
    EndpointError,
    UnreadableReplyError,
    is_server_failure,
    may_be_content,
)
from agentgym.chat.spec import read_model
from agentgym.chat.toolcalls import (
    UNREADABLE,
    ChatMessage,
    UnusableReplyError,
    correction,
    usable_calls,
)
from agentgym.errors import ConfigError, UserError
from agentgym.manifest import show_path
from agentgym.protocols import UserWorld
from agentgym.records import (
    Action,
    Json,
    Problem,
    ToolSpec,
    UserCall,
    UserMessage,
    UserTurn,
    bounds,
)
from agentgym.records.pattern import fits_glob
from agentgym.task.model import Instance
from agentgym.task.user import FILE, UserScript
from agentgym.threads import to_thread
from agentgym.user.prompt import ANSWER, ANSWER_TOOL, Answer, part_of
from agentgym.user.slots import Slots

ASKS = 3
"""Unusable replies in a turn after which the user fails."""

MOST_CALLS = 8
"""Largest number of calls of the user's own tools in a turn; then they can only answer."""

RESULT_CHARS = 20_000
"""Characters that a model is shown of a result of the user's own tools."""

_SHARES = (0.6, 0.75, 0.88, 1.0)
"""Parts of a turn's time by which the model answers the whole, the beginnings, notes, and a note
in place of the whole conversation."""

_BEGINNINGS = 1_000
"""Characters kept of each message and result, if the model does not answer the whole dialogue."""

_CUT = " […]"
_TOO_MUCH = "This is far more than I can read. I am leaving this chat."
_WITHHELD = "(The assistant wrote something that cannot be shown to you.)"
_WITHHELD_RESULT = "(What your tool returned cannot be shown to you.)"
_BEGINNING = "(The chat begins. You write first.)"
EXAMPLE = "openai:gpt-x?temperature=0"
PREFIX = "AGENTGYM_USER"
HOW = f"name its endpoint with {PREFIX}_BASE_URL or OPENAI_BASE_URL"


class Options(BaseModel):
    """The options after the model's name, as in ``openai:gpt-x?temperature=0``.

    Attributes:
        temperature: Sampling temperature; the server's default if absent.
        timeout_s: Seconds one reply may take, retries included.
        turn_s: Seconds a whole turn may take; an episode waits for no more than half an hour.
        retries: Attempts after the first, on 429, 5xx and broken connections.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    temperature: float | None = Field(None, ge=0)
    timeout_s: float = Field(120.0, gt=0)
    turn_s: float = Field(300.0, gt=0, le=1_800)
    retries: int = Field(4, ge=0)


class _UnansweredError(Exception):
    """The endpoint works and gives no usable answer; what the assistant wrote may be the cause."""

    def __init__(self, cause: EndpointError | UserError) -> None:
        self.cause = cause
        super().__init__(str(cause))


class ModelUser:
    """Lets a model play a user, e.g. ``ModelUser("gpt-x?temperature=0", script, instance)``.

    The endpoint comes from ``AGENTGYM_USER_BASE_URL`` and ``AGENTGYM_USER_API_KEY``, else from
    ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, when it is first needed: a replay needs none.

    Args:
        argument: The model and its options.
        script: Description of the user.
        instance: The task with its parameters.

    Raises:
        ConfigError: The model is missing, or an option is unknown.
    """

    def __init__(self, argument: str, script: UserScript, instance: Instance) -> None:
        self._model, self._options = read_options(argument)
        self._script = script
        self._slots = Slots(instance.params, show_path(instance.task.folder / FILE))
        self._endpoint: Endpoint | None = None
        self._dialogue: list[ChatMessage] = []
        # These are of this turn, also of attempts at it that came to no answer.
        self._calls: list[UserCall] = []
        self._shown_chars: int | None = RESULT_CHARS
        """Characters that are shown of a result; None withholds it."""

    def problems(self) -> Sequence[Problem]:
        """Return the reasons why the model cannot be asked, if any."""
        try:
            address_of_model()
        except ConfigError as error:
            return [Problem(str(error), HOW)]
        return ()

    async def start(self, world: UserWorld) -> str:
        """Begin the conversation; the opening comes from the user's file."""
        self._world = world
        self._tools = [tool for tool in world.tools if _is_picked(tool, self._script.reach)]
        part = part_of(self._script, self._slots, has_tools=bool(self._tools))
        opening = self._slots.text(self._script.opening or "")
        self._dialogue = [{"role": "system", "content": part}]
        if opening:
            # Some servers require a user message before the first assistant message.
            self._dialogue.append({"role": "user", "content": _BEGINNING})
            self._say(Answer(text=opening))
        self._opened_at = len(self._dialogue)
        return opening

    async def reply(self, message: UserMessage, recorded: UserTurn | None = None) -> UserTurn:
        """Answer a message; see `agentgym.protocols.User`.

        Raises:
            UserError: The model gave no usable answer within the deadline.
        """
        self._dialogue.append({"role": "user", "content": message.text})
        self._calls, self._shown_chars = [], RESULT_CHARS
        if recorded is not None:
            for call in recorded.calls:
                await self._do(Action(call.tool, call.arguments))
            self._say(Answer.model_construct(text=recorded.text, leave=recorded.left))
            return recorded
        try:
            return await self._provoked_turn()
        except (EndpointError, ConfigError) as error:
            raise UserError(f"user {self._model}: {error}") from error

    async def _provoked_turn(self) -> UserTurn:
        """Take a turn; if the assistant's text prevents an answer, send less of it.

        The assistant determines what it writes, and much of what the user's own tools return: a
        text that is too long, that a filter refuses, on which the server fails or that makes the
        model babble or write without end must not leave the episode unscored. The model gets the
        beginnings, then notes in place of the last message and of the results of this turn, then a
        note in place of the whole conversation, because an earlier message may hold an order for
        later turns. If even the beginnings are too long, the user leaves, as a person would. A
        model that does not answer the last note either has failed by itself.
        """
        turn_at = len(self._dialogue) - 1
        whole_s, beginnings_s, note_s, whole_note_s = (
            self._options.turn_s * share for share in _SHARES
        )
        began_s = asyncio.get_running_loop().time()
        try:
            return await self._turn(began_s + whole_s)
        except _UnansweredError as error:
            first = error
        if self._shorten():
            with contextlib.suppress(_UnansweredError):
                return await self._turn(began_s + beginnings_s)
        if isinstance(first.cause, ContextLengthError):
            if self._written() < len(str(self._dialogue[0]["content"])):
                raise first.cause
            self._say(Answer(text=_TOO_MUCH, leave=True))
            return UserTurn(_TOO_MUCH, True, tuple(self._calls))
        self._withhold(turn_at)
        with contextlib.suppress(_UnansweredError):
            return await self._turn(began_s + note_s)
        if not self._forget():
            raise first.cause
        with contextlib.suppress(_UnansweredError):
            return await self._turn(began_s + whole_note_s)
        raise first.cause

    def _heard(self) -> list[ChatMessage]:
        """Return what the assistant determines: its messages, and what the user's tools return."""
        return [message for message in self._dialogue if message["role"] in ("user", "tool")]

    def _written(self) -> int:
        # Its own answers count as well: the assistant may ask for long ones.
        return sum(len(str(message)) for message in self._dialogue[self._opened_at :])

    def _shorten(self) -> bool:
        """Cut what the assistant determines to beginnings; return False if nothing can be cut."""
        long = [m for m in self._heard() if len(str(m["content"])) > _BEGINNINGS + len(_CUT)]
        for message in long:
            message["content"] = _cut(str(message["content"]), _BEGINNINGS)
        self._shown_chars = _BEGINNINGS
        return bool(long)

    def _withhold(self, turn_at: int) -> None:
        """Put notes in place of the message of a turn, and of the results that follow it."""
        self._shown_chars = None
        for message in self._dialogue[turn_at:]:
            if message["role"] == "user":
                message["content"] = _WITHHELD
            elif message["role"] == "tool":
                message["content"] = _WITHHELD_RESULT

    def _forget(self) -> bool:
        """Put a note in place of all that the assistant has written, or has made the user say.

        Returns:
            False if the dialogue has nothing more than such a note.
        """
        first = self._opened_at
        before = len(self._dialogue)
        self._dialogue[first:] = [{"role": "user", "content": _WITHHELD}]
        return before > len(self._dialogue)

    async def close(self) -> None:
        """Close the connections."""
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _turn(self, until_s: float) -> UserTurn:
        """Take a turn until a time of the event loop."""
        try:
            async with asyncio.timeout_at(until_s):
                return await self._turn_now()
        except TimeoutError as error:
            raise _UnansweredError(
                UserError(
                    f"user {self._model}: no answer within {self._options.turn_s:g} s; a slow "
                    f"model needs more: openai:{self._model}?turn_s=1200"
                )
            ) from error

    async def _turn_now(self) -> UserTurn:
        calls = self._calls
        corrections: list[ChatMessage] = []
        problems: list[str] = []
        while len(problems) < ASKS:
            tools = self._tools if len(calls) < MOST_CALLS else []
            message = Message()
            try:
                message = await self._ask(corrections, tools)
                action = _chosen(message, tools)
                if action.tool == ANSWER:
                    answer = _read_answer(action)
                    self._say(answer)
                    return UserTurn(answer.text, answer.leave, tuple(calls))
            except UnusableReplyError as problem:
                problems.append(str(problem))
                corrections += correction(message, problem)
                continue
            calls.append(UserCall(action.tool, action.arguments))
            await self._do(action)
        told = f"user {self._model} gave no usable answer; it was last told: {problems[-1]}"
        raise _UnansweredError(UserError(told))

    async def _ask(self, corrections: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Message:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [*self._dialogue, *corrections],
            "tools": [tool.to_openai() for tool in (ANSWER_TOOL, *tools)],
        }
        if self._options.temperature is not None:
            request["temperature"] = self._options.temperature
        if self._endpoint is None:
            address = address_of_model()
            options = self._options
            self._endpoint = Endpoint(address, timeout_s=options.timeout_s, retries=options.retries)
        try:
            return (await self._endpoint.complete(request)).message
        except UnreadableReplyError as error:
            raise UnusableReplyError(UNREADABLE) from error
        except EndpointError as error:
            # A model that is slow, or a server that is down, does not answer the notes either.
            late = isinstance(error, EndlessReplyError)
            if may_be_content(error) or late or is_server_failure(error):
                raise _UnansweredError(error) from error
            raise

    def _say(self, answer: Answer) -> None:
        arguments: dict[str, Json] = {"text": answer.text, "leave": answer.leave}
        self._note(ANSWER, arguments, "The assistant has got it.")

    async def _do(self, action: Action) -> None:
        reply = await to_thread(self._world.call, action.tool, action.arguments)
        shown = self._shown_chars
        told = _WITHHELD_RESULT if shown is None else _cut(reply.json, shown)
        self._note(action.tool, action.arguments, told)

    def _note(self, tool: str, arguments: Mapping[str, Json], result: str) -> None:
        """Add a call and its result to the dialogue."""
        call_id = f"call{len(self._dialogue):05d}"
        function: dict[str, Json] = {
            "name": tool,
            "arguments": json.dumps(arguments, ensure_ascii=False, default=dict),
        }
        calls: list[Json] = [{"id": call_id, "type": "function", "function": function}]
        self._dialogue += [
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": call_id, "content": result},
        ]


def read_options(argument: str) -> tuple[str, Options]:
    """Read ``MODEL?option=value``.

    Raises:
        ConfigError: The model is missing, or an option is unknown.
    """
    return read_model(argument, Options, who="user 'openai'", example=EXAMPLE)


def address_of_model() -> Address:
    """Return the address of the model's endpoint.

    Raises:
        ConfigError: The environment names no usable endpoint.
    """
    return Address.from_environment("user 'openai'", PREFIX)


def _is_picked(tool: ToolSpec, globs: Sequence[str]) -> bool:
    return any(fits_glob(tool.name, glob) for glob in globs)


def _chosen(message: Message, tools: Sequence[ToolSpec]) -> Action:
    action = usable_calls(message)[0]
    known = [ANSWER, *(tool.name for tool in tools)]
    if action.tool not in known:
        raise UnusableReplyError(f"You have no such tool now. Call one of: {', '.join(known)}.")
    if flaw := _flaw(action):
        raise UnusableReplyError(f"The arguments of your call of {action.tool}: {flaw}.")
    return action


def _flaw(action: Action) -> str:
    """Return why no record could hold the arguments of a call; empty if one can."""
    if flaw := bounds.flaw_of(action.arguments):
        return flaw
    try:
        json.dumps(dict(action.arguments), allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:  # a lone surrogate, or a number that is not finite
        return str(error)[:200]
    return ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most + len(_CUT) else text[:most] + _CUT


def _read_answer(action: Action) -> Answer:
    try:
        return Answer.model_validate(dict(action.arguments))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the arguments"
        raise UnusableReplyError(
            f"Your call of {ANSWER} does not fit its schema: {where}: {first['msg']}. "
            "Make it again."
        ) from None
