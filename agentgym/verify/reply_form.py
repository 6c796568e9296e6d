"""Saved replies: the JSON Schema of a message made of them, and its reading and wording.

The values of a reply are read like those of an answer: in every usual spelling that has one
meaning. The user reads the sentence of the task, with the values in their one form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from agentgym.errors import ActionError, NotFoundError
from agentgym.records import Json, SentReply, UserMessage
from agentgym.task.answer import AnswerField
from agentgym.task.replies import FIELD, ID, SavedReply
from agentgym.verify.answer_form import field_schema, read_fields
from agentgym.verify.values import brief

MOST_REPLIES: Final = 8
"""Largest number of saved replies in a message."""

_ARGUMENT: Final = "replies"


def replies_schema(replies: Sequence[SavedReply]) -> dict[str, Json]:
    """Return the JSON Schema of a message made of saved replies.

    It is one that strict modes of model APIs accept.
    """
    items: dict[str, Json] = {"anyOf": [_reply_schema(reply) for reply in replies]}
    told = "Saved replies, in the order in which the user reads them."
    array: dict[str, Json] = {
        "type": "array",
        "description": told,
        "items": items,
        "minItems": 1,
        "maxItems": MOST_REPLIES,
    }
    return {
        "type": "object",
        "properties": {_ARGUMENT: array},
        "required": [_ARGUMENT],
        "additionalProperties": False,
    }


def _reply_schema(reply: SavedReply) -> dict[str, Json]:
    named: Json = {"type": "string", "enum": [reply.id]}
    return {
        "type": "object",
        "description": f'The user reads: "{reply.say}"',
        "properties": {ID: named, **{field.name: field_schema(field) for field in reply.field}},
        "required": [ID, *(field.name for field in reply.field)],
        "additionalProperties": False,
    }


def read_message(replies: Sequence[SavedReply], arguments: Mapping[str, Json]) -> UserMessage:
    """Return the message that a call sends.

    Raises:
        ActionError: The arguments are no such message; says what to write.
    """
    given = arguments.get(_ARGUMENT)
    known = {reply.id: reply for reply in replies}
    if arguments.keys() != {_ARGUMENT} or isinstance(given, str) or not isinstance(given, Sequence):
        raise ActionError(
            f"not sent: the user reads only saved replies. Expected {_ARGUMENT} = a list of "
            f"objects with the id of a reply and its fields; ids: {', '.join(known)}"
        )
    if not 1 <= len(given) <= MOST_REPLIES:
        raise ActionError(f"not sent: expected 1 to {MOST_REPLIES} replies, got {len(given)}")
    sent, texts = list[SentReply](), list[str]()
    for one in given:
        reply, values = _read_reply(known, one)
        sent.append(SentReply(reply.id, values))
        texts.append(reply_text(reply, values))
    return UserMessage(" ".join(texts), tuple(sent))


def _read_reply(
    known: Mapping[str, SavedReply], given: Json
) -> tuple[SavedReply, Mapping[str, Json]]:
    if isinstance(given, str):
        given = {ID: given}  # a reply without fields is its id
    if not isinstance(given, Mapping) or not isinstance(given.get(ID), str):
        raise ActionError(f"not sent: expected an object with {ID} = its id, got {brief(given)}")
    name = str(given[ID])
    if name not in known:
        raise ActionError(f"not sent: {NotFoundError('saved reply', name[:200], known)}")
    values = {field: value for field, value in given.items() if field != ID}
    return known[name], read_fields(known[name].field, values, f"not sent: reply {name!r}")


def reply_text(reply: SavedReply, values: Mapping[str, Json]) -> str:
    """Return the sentence that the user reads."""
    fields = {field.name: field for field in reply.field}
    return FIELD.sub(lambda found: _shown(fields[found[1]], values[found[1]]), reply.say)


def _shown(field: AnswerField, value: Any) -> str:
    if isinstance(value, list | tuple):
        parts = [_shown(field, item) for item in value]
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    if field.type == "amount":
        return f"{field.unit} {float(value):,.2f}"
    if field.type == "yes_no":
        return "yes" if value else "no"
    if field.type in ("date", "datetime"):
        day, _, hour = str(value).partition("T")
        read = date.fromisoformat(day)
        return f"{read:%A}, {read.day} {read:%B %Y}" + (f", {hour}" if hour else "")
    return str(value)
