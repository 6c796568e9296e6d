"""Records of what happens around an agent while it acts: events, faults, and the user's turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from agentgym.records.values import Json


class StepEventKind(StrEnum):
    """The origin of an event.

    An ``[[event]]``, a ``[[fault]]`` or the user of the task, or a trainer that suspended the
    computer before the step and restored it.
    """

    EVENT = "event"
    FAULT = "fault"
    USER = "user"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class UserCall:
    """A tool that the user called before answering."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


Intent: TypeAlias = Literal[
    "doubts", "refuses", "proposes", "offers_help", "reports", "waits", "greets", "closes"
]
"""The intents of a message to a user, beside asking:

- ``doubts``: it says that something does not fit or cannot be found, or asks to check it again;
- ``refuses``: its writer will not or may not do what was asked for;
- ``proposes``: it asks whether its writer should go ahead;
- ``offers_help``: it asks whether there is anything else;
- ``reports``: it tells what has been done or is being done;
- ``waits``: it asks for patience;
- ``greets``: it says hello or says who is writing;
- ``closes``: it thanks, or says goodbye.
"""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A user's answer to a message.

    Attributes:
        text: Text of the answer.
        left: Whether the user has left the conversation.
        calls: Calls of the user before the answer, in order.
        state: State of the user in its scenario; empty if the scenario has no states.
        understood: Whether the user understood the message; otherwise it asks back.
    """

    text: str
    left: bool = False
    calls: tuple[UserCall, ...] = ()
    state: str = ""
    understood: bool = True


@dataclass(frozen=True, slots=True)
class SentReply:
    """A saved reply that the agent sent to the user.

    Attributes:
        reply: Id of the saved reply.
        fields: Values of its fields, each in the one form in which it is kept.
    """

    reply: str
    fields: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the agent to the user.

    Attributes:
        text: What the user reads.
        replies: The saved replies that it is made of; empty for a message in free text.
    """

    text: str
    replies: tuple[SentReply, ...] = ()


@dataclass(frozen=True, slots=True)
class StepEvent:
    """An event, recorded with the step it belongs to.

    Attributes:
        kind: Its origin.
        id: Id of the table in the task; for a user's turn its state; ``computer`` if restored.
        detail: One line on its effect: ``"timeout after commit"``.
        turn: Turn of the user, if the event is one.
        message: The message that the user answers, if it is made of saved replies.
    """

    kind: StepEventKind
    id: str
    detail: str = ""
    turn: UserTurn | None = None
    message: UserMessage | None = None
