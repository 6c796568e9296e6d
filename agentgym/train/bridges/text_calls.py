"""Episodes as text, for trainers whose policies read messages and answer with text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from agentgym.errors import ActionError
from agentgym.records import Action, ToolSpec
from agentgym.surfaces.schemas import tool_schemas

_FORM: Final = """\
{text}

You act through tools. Answer each message with one call, as JSON and nothing else:
{{"tool": "NAME", "arguments": {{...}}}}
The tools:
{tools}"""


def first_message(text: str, tools: Sequence[ToolSpec]) -> str:
    """Return the first message of an episode.

    Args:
        text: The text of the first observation.
        tools: The tools.
    """
    return _FORM.format(text=text, tools=json.dumps(tool_schemas(tools, "openai")))


def read_call(reply: str) -> Action:
    """Return the call that a reply makes, alone or in a fenced block.

    Raises:
        ActionError: It is no JSON object with a tool and its arguments.
    """
    text = reply.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ActionError(f"expected a call as JSON, got {text[:80]!r}: {error}") from None
    return Action.from_json(found)
