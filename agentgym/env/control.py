"""Tools outside the surfaces: `submit`, `give_up`, and `message_user` if a task has a user."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.records import ToolSpec
from agentgym.task.replies import SavedReply
from agentgym.verify import giving_up
from agentgym.verify.reply_form import replies_schema

SUBMIT = ToolSpec(
    "submit",
    "Say that the task is done. Where the task asks a question, give the answer. "
    "This ends the episode.",
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": [],
        "additionalProperties": False,
    },
)

GIVE_UP = ToolSpec(
    giving_up.GIVE_UP,
    "Say that the task cannot or should not be done: what stands in the way, and of what exactly. "
    "This ends the episode, unless a field is refused.",
    giving_up.give_up_schema(),
)

MESSAGE_USER = ToolSpec(
    "message_user",
    "Write to the user you work for. The result is their answer.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1, "maxLength": 20_000}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


def message_tool(replies: Sequence[SavedReply]) -> ToolSpec:
    """Return the tool that writes to the user: in free text, or in saved replies if there are."""
    if not replies:
        return MESSAGE_USER
    return ToolSpec(
        MESSAGE_USER.name,
        "Send saved replies to the user, who reads nothing else. The result is their answer.",
        replies_schema(replies),
    )
