"""Chat-completion replies read into records, whole JSON bodies and event streams alike.

Follows OpenAI's chat-completions API and what compatible servers add to it: reasoning text
under two names, nulls for absent fields, streams without a ``[DONE]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from agentgym.records import Json, TokenUsage

_MOST_TOKENS = 2**40

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
"""What a stream sends in pieces, tool calls apart."""


class ReplyError(ValueError):
    """The body is not a chat completion."""


class CutOffError(ReplyError):
    """The stream ended before the reply did."""


class ErrorReplyError(ReplyError):
    """An error came in place of a reply.

    Attributes:
        error: What the body says of it.
    """

    def __init__(self, message: str, error: object) -> None:
        self.error = error
        super().__init__(message)


class Function(BaseModel):
    """Name and arguments of a call; the arguments are JSON text and may be broken."""

    model_config = ConfigDict(extra="allow")
    name: str | None = None
    arguments: str | None = None


class ToolCall(BaseModel):
    """A call, or in a stream the part of one that a chunk carries."""

    model_config = ConfigDict(extra="allow")
    index: int | None = None
    id: str | None = None
    function: Function = Function()


class Message(BaseModel):
    """An assistant message as the server sent it; fields of its own are kept."""

    model_config = ConfigDict(extra="allow")
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the message as it was received."""
        return self.model_dump(mode="json", exclude_unset=True)


class _Choice(BaseModel):
    message: Message | None = None
    delta: Message | None = None
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Body(BaseModel):
    """A whole reply, or one event of a stream."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of the model and what it cost.

    Attributes:
        message: Empty where the server sent none, as some do for a call that they cannot read.
        usage: Tokens of the request and the reply.
        finish_reason: Why the reply ended, empty if the server does not say.
    """

    message: Message
    usage: TokenUsage
    finish_reason: str = ""


def read_json(body: bytes) -> Completion:
    """Read the body of a reply that was not streamed.

    Raises:
        ReplyError: It is not a chat completion.
    """
    reply = _read(body)
    if reply.choices is None:
        raise ReplyError(f"a reply without choices: {excerpt(body)}")
    choice = reply.choices[0] if reply.choices else _Choice()
    message = choice.message or Message()
    return Completion(message, _token_usage([reply]), choice.finish_reason or "")


def read_events(body: bytes) -> Completion:
    """Put a server-sent event stream together to the message it spells.

    Raises:
        ReplyError: An event is not part of a chat completion.
        CutOffError: The stream stops in the middle.
    """
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    events = [_read(event) for event in data if event not in (b"", b"[DONE]")]
    choices = [event.choices[0] for event in events if event.choices]
    if b"[DONE]" not in data and not any(choice.finish_reason for choice in choices):
        raise CutOffError(f"the stream stopped after {len(events)} events")
    deltas = [choice.delta for choice in choices if choice.delta is not None]
    reasons = [choice.finish_reason for choice in choices if choice.finish_reason]
    return Completion(_join(deltas), _token_usage(events), reasons[-1] if reasons else "")


def encodable(value: Any) -> Any:
    """Return a JSON value with its lone surrogates, which UTF-8 cannot carry, as ``?``."""
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return json.loads(text.encode(errors="replace"))


def excerpt(body: bytes) -> str:
    """Quote the beginning of a body in an error message."""
    text = " ".join(body[:1000].decode(errors="replace").split())
    return repr(text if len(text) <= 200 else text[:200] + "…")


def _read(body: bytes) -> _Body:
    try:
        value = encodable(json.loads(body))
        if isinstance(value, Mapping) and value.get("error"):
            raise ErrorReplyError(f"an error in place of a reply: {excerpt(body)}", value["error"])
        return _Body.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ReplyError(
            f"not a chat completion ({field}: {first['msg']}): {excerpt(body)}"
        ) from None
    except ReplyError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"not a chat completion ({error}): {excerpt(body)}") from error


def _token_usage(events: Iterable[_Body]) -> TokenUsage:
    """Take the last usage reported: servers that report it often report a running total."""
    usage = next((e.usage for e in reversed(list(events)) if e.usage is not None), _Usage())
    details = usage.prompt_tokens_details or _PromptDetails()
    counts = (usage.prompt_tokens, usage.completion_tokens, details.cached_tokens)
    # A count that makes no sense is the server's, and must not be held against the model.
    return TokenUsage(*(min(max(count or 0, 0), _MOST_TOKENS) for count in counts))


def _join(deltas: Iterable[Message]) -> Message:
    texts: dict[str, str] = {}
    calls: list[ToolCall] = []
    open_calls: dict[int | None, ToolCall] = {}
    for delta in deltas:
        for field in _TEXTS:
            if text := getattr(delta, field):
                texts[field] = texts.get(field, "") + text
        for part in delta.tool_calls or ():
            call = open_calls.get(part.index)
            # Some servers number every call 0; a new id then tells that a new call begins.
            if call is None or (part.id and part.id != call.id):
                call = ToolCall(id=part.id, function=Function(name="", arguments=""))
                open_calls[part.index] = call
                calls.append(call)
            call.function.name = (call.function.name or "") + (part.function.name or "")
            call.function.arguments = (call.function.arguments or "") + (
                part.function.arguments or ""
            )
    return Message.model_validate(
        {
            "role": "assistant",
            **texts,
            "tool_calls": [c.model_dump(exclude_unset=True) for c in calls],
        }
    )
