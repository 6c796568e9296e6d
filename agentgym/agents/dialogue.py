"""An episode's history as the chat messages a model reads.

The dialogue is rebuilt from the recorded steps for every decision, so a resumed episode sends
what an uninterrupted one would have sent. Steps of another agent, in a branched episode, become
tool calls like any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from agentgym.chat.completion import Message, ToolCall
from agentgym.chat.picture import picture_part
from agentgym.chat.toolcalls import ChatMessage
from agentgym.records import Briefing, Decision, Image, Json, Observation, Step

IMAGES_KEPT = 3

SYSTEM = """\
You work through the tools you are given. What you do with them is real.

- Call exactly one tool in each reply. You see its result before you choose the next call.
- Look before you change something, and check your work before you finish.
- Where no tool lets you write to a user, nobody answers questions. Where the task leaves \
something open, decide with care.
- When the task is done, call submit. If it truly cannot be done, call give_up and say why.
- You have at most {max_steps} calls."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One step of the dialogue: the model's call and what it was shown in return."""

    call: ChatMessage
    call_id: str
    output: str
    image: Image | None


def turns(history: Sequence[Step]) -> list[Turn]:
    """Turn recorded steps into dialogue; only the last few keep their image."""
    blind = len(history) - IMAGES_KEPT
    return [
        _turn(step, step.observation.image if number >= blind else None)
        for number, step in enumerate(history)
    ]


def opening(briefing: Briefing, first: Observation | None, left_out: int = 0) -> list[ChatMessage]:
    """Return the system prompt and the instruction.

    Args:
        briefing: What the episode is about.
        first: The observation after reset, where it is the one to act on.
        left_out: How many steps at the beginning of the history the dialogue lacks.
    """
    text = briefing.instruction
    if left_out:
        text += f"\n\n(The first {left_out} steps of your work are left out here to save room.)"
    image = first.image if first is not None else None
    return [
        {"role": "system", "content": SYSTEM.format(max_steps=briefing.max_steps)},
        {"role": "user", "content": text if image is None else _picture(text, image)},
    ]


def render(turn: Turn) -> list[ChatMessage]:
    """Return a turn's messages: the call, its result, and the image where there is one."""
    result: ChatMessage = {"role": "tool", "tool_call_id": turn.call_id, "content": turn.output}
    if turn.image is None:
        return [turn.call, result]
    # The API takes images in user messages only.
    seen: ChatMessage = {"role": "user", "content": _picture("It shows this picture:", turn.image)}
    return [turn.call, result, seen]


def _turn(step: Step, image: Image | None) -> Turn:
    message = _recorded(step.decision)
    made = message.tool_calls[0] if message.tool_calls else ToolCall()
    call_id = made.id or f"call{step.index:05d}"
    arguments = made.function.arguments or json.dumps(step.action.arguments, default=dict)
    # A made-up tool name stays in the dialogue, and the API refuses other characters in it.
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", step.action.tool)[:64] or "unnamed"
    call: ChatMessage = {
        "role": "assistant",
        "content": message.content or "",
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
        ],
    }
    # Servers that separate reasoning from content want it back under the name they gave it.
    for field in ("reasoning_content", "reasoning"):
        if text := getattr(message, field):
            call[field] = text
    return Turn(call, call_id, step.observation.text, image)


def _recorded(decision: Decision) -> Message:
    """Return the reply behind a decision; of other agents only the thought is known."""
    if isinstance(decision.reply, Mapping) and decision.reply.get("tool_calls"):
        try:
            return Message.model_validate(decision.reply)
        except ValidationError:
            pass
    return Message(content=decision.thought)


def _picture(text: str, image: Image) -> list[Json]:
    return [{"type": "text", "text": text}, picture_part(image)]
