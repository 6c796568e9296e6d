"""The common JSON forms of conversations: OpenAI's fine-tuning format and TRL's.

- ``messages``: a line an episode, ``{"messages", "tools", "parallel_tool_calls"}`` as OpenAI's
  fine-tuning takes it. An assistant message with ``"weight": 0`` is read and not trained.
- ``trl``: a line a reply, ``{"prompt", "completion", "tools"}``, TRL's conversational
  prompt-completion type. Its completion is one assistant message, so a loss on completions counts
  what the policy wrote and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentgym.chat.toolcalls import ChatMessage
from agentgym.records import Json, ToolSpec
from agentgym.train.datasets.dialogues import Dialogue

Row = dict[str, Any]


def messages_row(dialogue: Dialogue, tools: Sequence[ToolSpec], trained: Sequence[bool]) -> Row:
    """Return an episode in OpenAI's fine-tuning format.

    Args:
        dialogue: The episode.
        tools: Its tools.
        trained: For each step whether it is trained.
    """
    messages: list[ChatMessage] = [*dialogue.opening]
    for reply in dialogue.replies:
        messages.append({**reply.message, "weight": int(trained[reply.first])})
        messages += reply.results
    return {
        "messages": messages,
        "tools": [tool.to_openai() for tool in tools],
        "parallel_tool_calls": dialogue.several,
    }


def trl_rows(
    dialogue: Dialogue, tools: Sequence[ToolSpec], trained: Sequence[bool]
) -> Iterator[tuple[int, Row]]:
    """Yield the first step of each trained reply, and the reply in TRL's format."""
    told = tools_text(tools)
    for number, reply in enumerate(dialogue.replies):
        if trained[reply.first]:
            prompt, shown = as_trl(dialogue.before(number))
            completion, _ = as_trl([reply.message])
            row: Row = {"prompt": prompt, "completion": completion, "tools": told}
            yield reply.first, {**row, **({"images": shown} if shown else {})}


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """Return tools as JSON text: as objects, Arrow would merge the schemas of different tools."""
    return json.dumps([tool.to_openai() for tool in tools], default=dict)


def as_trl(messages: Sequence[ChatMessage]) -> tuple[list[Row], list[str]]:
    """Return messages as chat templates read them, and the files of their pictures in order.

    Arguments of calls are objects instead of JSON text, and a picture is a placeholder.
    """
    found, files = list[Row](), list[str]()
    for message in messages:
        row: Row = dict(message)
        if isinstance(content := row.get("content"), list):
            row["content"] = [_part(part, files) for part in content]
        if calls := row.get("tool_calls"):
            row["tool_calls"] = [_call(call) for call in calls]
        found.append(row)
    return found, files


def _part(part: Any, files: list[str]) -> Json:
    if part.get("type") != "image_url":
        return dict(part)
    files.append(part["image_url"]["url"])
    return {"type": "image"}


def _call(call: Any) -> Row:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except (ValueError, RecursionError):
        arguments = function["arguments"]
    return {**call, "function": {**function, "arguments": arguments}}
