"""An episode's history as the chat messages that a model reads.

The dialogue is rebuilt from the recorded steps for every decision, so a resumed episode sends the
same messages as an uninterrupted one. Steps of another agent, in a branched episode, become tool
calls like any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agentgym.agents.batch import place, reply_of
from agentgym.chat.completion import Message, ToolCall
from agentgym.chat.toolcalls import ChatMessage
from agentgym.records import Briefing, Image, Json, Observation, Step

IMAGES_KEPT = 3

Pictures: TypeAlias = Callable[[Image], dict[str, Json]]
"""Returns the content part of a message that shows an image."""

SYSTEM = """\
You work through the tools you are given. What you do with them is real.

- {calls}
- Look before you change something, and check your work before you finish.
- If no tool lets you write to a user, questions get no answer. Where the task leaves \
something open, decide with care.
- When the task is done, call submit. If it truly cannot be done, call give_up and say why.
- You have at most {max_steps} calls."""


ONE_CALL = (
    "Call exactly one tool in each reply. You see its result before you choose the next call."
)
SEVERAL_CALLS = (
    "Call one tool or several in each reply. Calls are executed in the order given, each counts, "
    "and you see all results before your next reply."
)


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One step of the dialogue: the model's call and its result.

    Attributes:
        call: The assistant message, with this call alone.
        call_id: Id of the call.
        output: Text of the result.
        image: Image of the result, or None.
        place: Number of the call in its reply, counted from 0.
    """

    call: ChatMessage
    call_id: str
    output: str
    image: Image | None
    place: int = 0


def turns(history: Sequence[Step], *, images: int = IMAGES_KEPT) -> list[Turn]:
    """Turn recorded steps into dialogue; only the last `images` steps keep their image."""
    blind = len(history) - images
    return [_turn(history, number, seen=number >= blind) for number in range(len(history))]


def opening(
    briefing: Briefing,
    first: Observation | None,
    pictures: Pictures,
    left_out: int = 0,
    *,
    several: bool = False,
) -> list[ChatMessage]:
    """Return the system prompt and the instruction.

    Args:
        briefing: Briefing of the episode.
        first: The observation after reset, if the agent acts on it now.
        pictures: Makes the parts of images.
        left_out: Number of steps at the beginning of the history that the dialogue lacks.
        several: Whether the model is told that a reply may make several calls.
    """
    calls = SEVERAL_CALLS if several else ONE_CALL
    text = briefing.instruction
    if left_out:
        text += f"\n\n(The first {left_out} steps of your work are left out here to save room.)"
    image = first.image if first is not None else None
    return [
        {"role": "system", "content": SYSTEM.format(calls=calls, max_steps=briefing.max_steps)},
        {"role": "user", "content": text if image is None else _picture(text, pictures(image))},
    ]


def render(kept: Sequence[Turn], pictures: Pictures) -> list[ChatMessage]:
    """Return the messages of turns: each reply with its calls, their results, their images."""
    messages: list[ChatMessage] = []
    for reply in _replies(kept):
        calls = [call for turn in reply for call in _calls(turn)]
        messages.append({**reply[0].call, "tool_calls": calls})
        for turn in reply:
            messages.append({"role": "tool", "tool_call_id": turn.call_id, "content": turn.output})
        for turn in reply:
            if turn.image is not None:
                # The API takes images in user messages only, and those after all results.
                shown = _picture("It shows this picture:", pictures(turn.image))
                messages.append({"role": "user", "content": shown})
    return messages


def _replies(kept: Sequence[Turn]) -> list[list[Turn]]:
    """Group turns by reply; a turn whose earlier calls are left out begins its own group."""
    groups: list[list[Turn]] = []
    for turn in kept:
        if turn.place and groups and groups[-1][-1].place == turn.place - 1:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return groups


def _calls(turn: Turn) -> Sequence[Json]:
    calls = turn.call["tool_calls"]
    assert isinstance(calls, list)
    return calls


def _turn(history: Sequence[Step], number: int, *, seen: bool) -> Turn:
    step = history[number]
    reply, which = reply_of(history, number), place(step)
    # Only the thought of another agent is known.
    message = reply or Message(content=step.decision.thought)
    calls = message.tool_calls or []
    made = calls[which] if which < len(calls) else ToolCall()
    call_id = made.id
    if not call_id or any(call.id == call_id for call in calls[:which]):
        # Some servers give calls no id, or all calls of a reply the same.
        call_id = _fresh_id(step.index, calls)
    arguments = made.function.arguments or json.dumps(step.action.arguments, default=dict)
    # A made-up tool name stays in the dialogue, and the API refuses other characters in it.
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", step.action.tool)[:64] or "unnamed"
    call: ChatMessage = {
        "role": "assistant",
        "content": (message.content or "") if which == 0 else "",
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
        if which == 0 and (text := getattr(message, field)):
            call[field] = text
    image = step.observation.image if seen else None
    return Turn(call, call_id, step.observation.text, image, which)


def _fresh_id(index: int, calls: Sequence[ToolCall]) -> str:
    """Return an id for the call of a step that no call of its reply has."""
    fresh = f"call{index:05d}"
    while any(call.id == fresh for call in calls):
        fresh += "_"
    return fresh


def _picture(text: str, part: dict[str, Json]) -> list[Json]:
    return [{"type": "text", "text": text}, part]
