"""Tools outside the surfaces: `submit`, `give_up`, and `message_user` if a task has a user."""

from __future__ import annotations

from agentgym.records import ToolSpec

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
    "give_up",
    "Say that the task cannot or should not be done, and why. This ends the episode.",
    {
        "type": "object",
        "properties": {"reason": {"type": "string", "minLength": 1}},
        "required": ["reason"],
        "additionalProperties": False,
    },
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
