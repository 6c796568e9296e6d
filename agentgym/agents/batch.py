"""Several tool calls in one reply: they are executed in order, each as a step of its own.

The first step of a reply holds the reply; a step that executes a later call of it says which one.
The next call is so found in the recorded history alone, and a resumed or branched episode goes on
in the middle of a reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from agentgym.chat.completion import Message
from agentgym.chat.toolcalls import UnusableReplyError, usable_calls
from agentgym.records import Decision, Step

_PLACE: Final = "call_of_reply"


def place(step: Step) -> int:
    """Return which call of its reply a step executed, counted from 0."""
    reply = step.decision.reply
    value = reply.get(_PLACE) if isinstance(reply, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


def reply_of(history: Sequence[Step], number: int) -> Message | None:
    """Return the reply that a step belongs to, or None if another agent made it."""
    first = number - place(history[number])
    if first < 0 or any(place(history[first + k]) != k for k in range(number - first)):
        return None
    reply = history[first].decision.reply
    if not isinstance(reply, Mapping) or not reply.get("tool_calls"):
        return None
    try:
        return Message.model_validate(reply)
    except ValidationError:
        return None


def next_call(history: Sequence[Step]) -> Decision | None:
    """Return the call that the last reply made after the one executed last, None if there is none.

    Calls from the first unreadable one on are left out.
    """
    if not history:
        return None
    following = place(history[-1]) + 1
    message = reply_of(history, len(history) - 1)
    try:
        calls = () if message is None else usable_calls(message)
    except UnusableReplyError:
        return None
    if following >= len(calls):
        return None
    return Decision(calls[following], reply={_PLACE: following})
