"""Parses chat-completion replies: whole bodies, and the events of streams.

It follows OpenAI's chat-completions API and the additions of compatible servers: reasoning text
under two names, nulls for absent fields, streams without a ``[DONE]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from agentgym.chat.tokens import TokenCollector
from agentgym.records import Json, TokenTrace, TokenUsage

_MOST_TOKENS = 2**40

MOST_CHARACTERS = 8 * 2**20
"""Longest body in bytes, or longest streamed message in characters."""

MOST_CALLS = 1000
"""Largest number of tool calls in one reply."""

_MOST_PARTS = 200_000
"""Largest number of objects and lists in a body: small ones take 100 times their text in memory."""


class ReplyError(ValueError):
    """The body is not a chat completion."""


class CutOffError(ReplyError):
    """The stream ended before the reply did."""


class OverlongReplyError(ReplyError):
    """The reply is longer than any model's reply; the model is at fault."""


class ErrorReplyError(ReplyError):
    """An error came in place of a reply.

    Attributes:
        error: The body's description of the error.
    """

    def __init__(self, message: str, error: object) -> None:
        self.error = error
        super().__init__(message)


def _as_text(value: object) -> object:
    """Write a value that some servers pass on as the model wrote it, in place of text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _as_name(value: object) -> object:
    return value if isinstance(value, str) else None


def _as_id(value: object) -> object:
    return str(value) if isinstance(value, int) else _as_name(value)


def _as_call(value: object) -> object:
    return {} if value is None else value


def _text_of(value: object, kind: str = "text") -> str | None:
    """Return the text of a field that some servers send as a list of parts.

    Args:
        value: The field.
        kind: Type of the parts: ``text``, or ``thinking``, whose own text may be in parts too.
    """
    if value is None or isinstance(value, str):
        return value if kind == "text" else None
    parts = value if isinstance(value, list) else [value]
    texts = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type", "text") == kind:
            inner = part.get(kind)
            texts.append(inner if isinstance(inner, str) else _text_of(inner))
        elif isinstance(part, str) and kind == "text":
            texts.append(part)
    return "".join(text for text in texts if text) if texts else None


Text: TypeAlias = Annotated[str | None, BeforeValidator(_text_of)]
"""A text, sent as one or as a list of parts."""


class Function(BaseModel):
    """Name and arguments of a call; the arguments are JSON text and may be broken.

    A model may write either as another type, and some servers pass that on.
    """

    model_config = ConfigDict(extra="allow")
    name: Annotated[str | None, BeforeValidator(_as_name)] = None
    arguments: Annotated[str | None, BeforeValidator(_as_text)] = None


class ToolCall(BaseModel):
    """A call or, in a stream, the part of a call that one chunk carries."""

    model_config = ConfigDict(extra="allow")
    index: int | None = None
    id: Annotated[str | None, BeforeValidator(_as_id)] = None
    function: Annotated[Function, BeforeValidator(_as_call)] = Function()


class Message(BaseModel):
    """An assistant message as the server sent it; unknown fields are kept.

    Content may come as a list of parts. Those of the type ``thinking`` become `thinking`, which,
    unlike the other names of reasoning, no server wants back.
    """

    model_config = ConfigDict(extra="allow")
    content: Text = None
    thinking: Text = None
    reasoning_content: Text = None
    reasoning: Text = None
    refusal: Text = None
    tool_calls: list[ToolCall] | None = None

    @model_validator(mode="before")
    @classmethod
    def _parts(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or isinstance(value.get("content"), str | None):
            return value
        thinking = _text_of(value["content"], "thinking")
        return dict(value) if thinking is None else {**value, "thinking": thinking}

    @classmethod
    def read(cls, value: object) -> Message:
        """Read a message and replace its lone surrogates."""
        return cls.model_validate(encodable(value))

    def to_json(self) -> dict[str, Json]:
        """Return the message as it was received."""
        return self.model_dump(mode="json", exclude_unset=True)


class _Choice(BaseModel):
    message: Message | None = None
    delta: Message | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    token_ids: Any = None
    prompt_token_ids: Any = None


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
    model: Any = None
    system_fingerprint: Any = None
    prompt_token_ids: Any = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of the model and its token usage.

    Attributes:
        message: Empty if the server sent no message, as some do for a call that they cannot read.
        usage: Tokens of the request and the reply.
        finish_reason: Reason why the reply ended; empty if the server does not say.
        tokens: Tokens of the prompt and the reply, as far as the server tells them.
        version: The model as the server names it, None if the server does not say.
    """

    message: Message
    usage: TokenUsage
    finish_reason: str = ""
    tokens: TokenTrace = field(default_factory=TokenTrace)
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One event of a stream.

    Attributes:
        delta: Part that it adds to the message.
        usage: Tokens so far; None if the event does not say.
        finish_reason: Reason why the reply ended; empty before its end.
    """

    delta: Message
    usage: TokenUsage | None
    finish_reason: str


def read_json(body: bytes) -> Completion:
    """Read the body of a reply that was not streamed.

    Raises:
        ReplyError: The body is not a chat completion.
        OverlongReplyError: The body is longer than a reply can be.
    """
    if body.count(b"{") + body.count(b"[") > _MOST_PARTS:
        raise OverlongReplyError(f"more than {_MOST_PARTS} brackets")
    reply = _read(body, encodable)
    if reply.choices is None:
        raise ReplyError(f"a reply without choices: {excerpt(body)}")
    choice = reply.choices[0] if reply.choices else _Choice()
    message = choice.message or Message()
    if len(message.tool_calls or ()) > MOST_CALLS:
        raise OverlongReplyError(f"more than {MOST_CALLS} tool calls")
    usage = TokenUsage() if reply.usage is None else _token_usage(reply.usage)
    tokens = TokenCollector()
    _collect(tokens, reply, choice)
    reason = choice.finish_reason or ""
    return Completion(message, usage, reason, tokens.trace(), tokens.version)


def read_part(data: bytes, tokens: TokenCollector) -> Part:
    """Read one event of a stream.

    Args:
        data: The event.
        tokens: Takes down the tokens that the event tells.

    Raises:
        ReplyError: The event is not part of a chat completion.
    """
    if data.count(b"{") + data.count(b"[") > _MOST_PARTS:
        raise OverlongReplyError(f"more than {_MOST_PARTS} brackets")
    event = _read(data, lambda value: value)
    choice = event.choices[0] if event.choices else _Choice()
    usage = None if event.usage is None else _token_usage(event.usage)
    _collect(tokens, event, choice)
    return Part(choice.delta or Message(), usage, choice.finish_reason or "")


def encodable(value: Any) -> Any:
    """Return a JSON value with its lone surrogates, which UTF-8 cannot carry, as ``?``."""
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return json.loads(text.encode(errors="replace"))


def excerpt(body: bytes) -> str:
    """Quote the beginning of a body in an error message."""
    text = " ".join(body[:1000].decode(errors="replace").split())
    return repr(text if len(text) <= 200 else text[:200] + "…")


def _read(body: bytes, clean: Callable[[Any], Any]) -> _Body:
    try:
        # A model may write half of a character.
        value = clean(json.loads(body.decode(json.detect_encoding(body), errors="replace")))
        if isinstance(value, Mapping) and value.get("error"):
            raise ErrorReplyError(f"an error instead of a reply: {excerpt(body)}", value["error"])
        return _Body.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ReplyError(
            f"not a chat completion ({field}: {first['msg']}): {excerpt(body)}"
        ) from None
    except ReplyError:
        raise
    except json.JSONDecodeError as error:
        raise ReplyError(f"not a chat completion ({error}): {excerpt(body)}") from error
    except (ValueError, RecursionError) as error:
        # Of a completion, only what the model wrote can be beyond what readers of JSON take.
        if b'"choices"' in body:
            raise OverlongReplyError(f"{error}: {excerpt(body)}") from error
        raise ReplyError(f"not a chat completion ({error}): {excerpt(body)}") from error


def _collect(tokens: TokenCollector, reply: _Body, choice: _Choice) -> None:
    tokens.add_version(reply.model, reply.system_fingerprint)
    tokens.add_prompt(choice.prompt_token_ids or reply.prompt_token_ids)
    tokens.add(choice.token_ids, choice.logprobs)


def _token_usage(usage: _Usage) -> TokenUsage:
    details = usage.prompt_tokens_details or _PromptDetails()
    counts = (usage.prompt_tokens, usage.completion_tokens, details.cached_tokens)
    # A senseless count is the server's fault and must not count against the model.
    return TokenUsage(*(min(max(count or 0, 0), _MOST_TOKENS) for count in counts))
