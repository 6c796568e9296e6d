"""Tool calls in OpenAI's function format: reads replies and writes corrections of bad ones.

Only a call that cannot become an `Action` is sent back to the model. The environment itself refuses
an unknown tool or arguments that break the schema, in an observation.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from agentgym.chat.completion import Function, Message
from agentgym.records import Action, Json

ChatMessage: TypeAlias = dict[str, Json]


class UnusableReplyError(ValueError):
    """The reply holds no readable tool call; the model sees the text of this error."""


UNREADABLE = (
    "Your tool call could not be read. Make it again, with its arguments as one JSON object."
)
"""The answer to a model whose call the server cannot read."""


def usable_calls(message: Message, finish_reason: str = "") -> tuple[Action, ...]:
    """Read the tool calls of a reply up to the first unreadable one; at least one.

    Args:
        message: The reply.
        finish_reason: Reason why the reply ended, for the message to the model.

    Raises:
        UnusableReplyError: The reply has no call, or its first call cannot be read.
    """
    if not message.tool_calls:
        why = _ENDINGS.get(finish_reason, "Your reply called no tool.")
        raise UnusableReplyError(f"{why} Call exactly one of the tools.")
    calls = []
    for call in message.tool_calls:
        try:
            calls.append(_read_call(call.function))
        except UnusableReplyError:
            if not calls:
                raise
            break
    return tuple(calls)


_ENDINGS = {
    "length": "Your reply was cut off at its largest length before it called a tool.",
    "content_filter": "Your reply was stopped by a content filter before it called a tool.",
}


def _read_call(function: Function) -> Action:
    if not function.name:
        raise UnusableReplyError("Your tool call names no tool. Call exactly one of the tools.")
    try:
        arguments = json.loads(function.arguments or "{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnusableReplyError(
            f"The arguments of your call of {function.name} are not valid JSON ({error}). "
            "Make the call again with its arguments as one JSON object."
        ) from error
    if not isinstance(arguments, dict):
        raise UnusableReplyError(
            f"The arguments of your call of {function.name} must be one JSON object, "
            f"not {type(arguments).__name__}. Make the call again."
        )
    return Action(function.name, arguments)


def correction(message: Message, problem: UnusableReplyError) -> list[ChatMessage]:
    """Return the messages added to the dialogue before the model is asked again.

    The bad call is quoted as text: many servers refuse a dialogue with broken arguments in it.
    """
    text = said(message)
    quoted: list[ChatMessage] = [{"role": "assistant", "content": text}] if text else []
    return [*quoted, {"role": "user", "content": str(problem)}]


def said(message: Message) -> str:
    """Return a reply as text, its tool calls included."""
    parts = [message.content or "", message.refusal or ""]
    for call in message.tool_calls or ():
        parts.append(f"{call.function.name}({call.function.arguments})")
    return "\n".join(part for part in parts if part)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
