"""Several tool calls in one reply, executed in order, each as a step of its own.

The first step of a reply holds the reply; the step of a later call holds the number of that call.
So the recorded history alone determines the next call, and a resumed or branched episode continues
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
    """Return the number of the call in its reply that a step executed, counted from 0."""
    reply = step.decision.reply
    value = reply.get(_PLACE) if isinstance(reply, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


def reply_of(history: Sequence[Step], number: int) -> Message | None:
    """Return the reply that a step belongs to, or None if another agent made the step."""
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
    """Return the call after the one executed last in the last reply; None if it was the last.

    The first unreadable call and the calls after it are left out.
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
    return Decision(calls[following], reply={_PLACE: following}, generations=())
