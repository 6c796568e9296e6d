"""Classifies refusals of a server: the dialogue is too long, its content, its model's reply, other.

There is no standard. The spellings are those of OpenAI, Azure, Anthropic, Gemini, Mistral, Groq,
xAI, Bedrock, DashScope, vLLM, SGLang, llama.cpp, Ollama and text-generation-inference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

_CONTEXT_CODES: Final = re.compile(
    r"context_length|context_window|exceed_context|context_exceeded|string_above_max_length"
    r"|prompt_too_long|input_too_long|request_too_large",
    re.I,
)
_CONTEXT: Final = re.compile(
    r"context.{0,20}(length|size|window|limit)"
    r"|(prompt|input|messages?|request|inputs?`?)\b.{0,20}\b(is|are) too (long|large)"
    r"|too (long|large) for (the |this )?(requested )?model|too many (input )?tokens"
    r"|maximum (prompt|input|model|sequence) length|maximum number of (input )?tokens"
    r"|input (token|tokens|length|token count)\b.{0,60}\b(exceed|limit|maximum|longer)"
    r"|tokens?`? ?\+ ?`?max_new_tokens|`inputs` must have less than|range of input length"
    r"|reduce the length of the (messages|prompt|input)|exceeds? the (model's )?maximum context",
    re.I,
)
_CONTENT: Final = re.compile(
    r"content[_ ](filter|policy|management|moderation)|responsible_?ai|safety[_ ](system|filter)"
    r"|data_?inspection|inappropriate content|usage[_ ]polic|flagged|prohibited[_ ]content",
    re.I,
)
_REPLY_CODES: Final = re.compile(r"tool_use_failed|json_validate_failed", re.I)
_REPLY: Final = re.compile(
    # Groq; Ollama; llama.cpp
    r"failed_generation|error parsing tool call:|failed to parse input at pos"
    r"|model produced output that does not match|invalid UTF-8 byte at index",
    re.I,
)
_ACCOUNT: Final = re.compile(
    r"rate.?limit|tokens per (min|day)|per.minute|\bTPM\b|quota|billing|credit balance"
    r"|insufficient.{0,20}(funds|balance|credit)",
    re.I,
)


_ALONE_TOO_LARGE: Final = re.compile(
    r"request too large for .{0,200}\b(tokens per min|TPM\b)", re.I | re.S
)
"""A request that is larger than the tokens of a minute (OpenAI, Groq): a size, no rate."""


class Refusal(Enum):
    """Why a request was refused."""

    CONTEXT = "the dialogue is longer than the model's context window"
    CONTENT = "a filter refused what the dialogue says"
    REPLY = "the model wrote a tool call that the server cannot read"
    OTHER = "something else"


def read_refusal(status: int | None, error: object, said: str) -> Refusal:
    """Return the reason of a refusal.

    Args:
        status: Status of the HTTP answer; None if an error came in place of a reply.
        error: The ``error`` object of the body, if it has one.
        said: Message of the error.
    """
    codes = ""
    if isinstance(error, Mapping):
        inner = error.get("innererror")
        of = [error, inner] if isinstance(inner, Mapping) else [error]
        codes = " ".join(str(one.get(name)) for one in of for name in ("code", "type", "param"))
    if status in (413, 429) and _ALONE_TOO_LARGE.search(said):
        return Refusal.CONTEXT
    if status in (401, 403, 404, 429):
        return Refusal.OTHER
    # Before the rest, because the message may quote what the model wrote.
    if _REPLY_CODES.search(codes) or _REPLY.search(said):
        return Refusal.REPLY
    if _ACCOUNT.search(f"{codes} {said}"):
        return Refusal.OTHER
    if status == 413 or _CONTEXT_CODES.search(codes) or _CONTEXT.search(said):
        return Refusal.CONTEXT
    if (status is None or status < 500) and _CONTENT.search(f"{codes} {said}"):
        return Refusal.CONTENT
    return Refusal.OTHER


def read_status(error: object) -> int | None:
    """Return the status of an error that came in place of a reply; None if it does not say.

    Args:
        error: The ``error`` object of the body.
    """
    if not isinstance(error, Mapping):
        return None
    code = error.get("code")
    if isinstance(code, str) and re.fullmatch(r"[1-5][0-9]{2}", code):
        return int(code)
    if type(code) is int:
        return code
    return 429 if _ACCOUNT.search(f"{code} {error.get('type')}") else None
