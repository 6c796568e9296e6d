"""Tool calls in OpenAI's function format: tools described, a reply read, a bad reply answered.

Only what cannot become an `Action` is sent back to the model. A call that the environment would
refuse (unknown tool, arguments against the schema) is its business to refuse, in an observation.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from agentgym.chat.completion import Message
from agentgym.records import Action, Json, ToolSpec

ChatMessage: TypeAlias = dict[str, Json]


class UnusableReplyError(ValueError):
    """The reply holds no tool call that can be read; the text says so to the model."""


def describe(tool: ToolSpec) -> dict[str, Json]:
    """Return a tool as the API's ``tools`` parameter wants it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def first_call(message: Message) -> Action:
    """Read the first tool call of a reply; further calls are left out.

    Raises:
        UnusableReplyError: There is none, or it cannot be read.
    """
    if not message.tool_calls:
        raise UnusableReplyError("Your reply called no tool. Call exactly one of the tools.")
    function = message.tool_calls[0].function
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
    """Return what is added to the dialogue before the model is asked again.

    The bad call is quoted as text: many servers refuse a dialogue with broken arguments in it.
    """
    said = [message.content or ""]
    for call in message.tool_calls or ():
        said.append(f"{call.function.name}({call.function.arguments})")
    text = "\n".join(part for part in said if part)
    quoted: list[ChatMessage] = [{"role": "assistant", "content": text}] if text else []
    return [*quoted, {"role": "user", "content": str(problem)}]


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
