"""Tools as the ``tools`` parameter of two APIs: OpenAI's chat completions, Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from agentgym.errors import NotFoundError
from agentgym.records import ToolSpec

ToolForm: TypeAlias = Literal["openai", "anthropic"]


def tool_schemas(tools: Sequence[ToolSpec], form: ToolForm) -> list[dict[str, Any]]:
    """Return tools in the form of an API, as plain dicts and lists.

    Raises:
        NotFoundError: The form is unknown.
    """
    forms = {"openai": ToolSpec.to_openai, "anthropic": ToolSpec.to_anthropic}
    if form not in forms:
        known = get_args(ToolForm)
        raise NotFoundError("form of tools", str(form), known, f"known: {', '.join(known)}")
    shaped: list[dict[str, Any]] = json.loads(
        json.dumps([forms[form](tool) for tool in tools], default=dict)
    )
    return shaped
