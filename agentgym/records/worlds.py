"""What happens around an agent while it acts: events, faults, and what its user does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from agentgym.records.values import Json


class StepEventKind(StrEnum):
    """What makes something happen: an ``[[event]]``, a ``[[fault]]`` or the user of the task."""

    EVENT = "event"
    FAULT = "fault"
    USER = "user"


@dataclass(frozen=True, slots=True)
class UserCall:
    """A tool that the user called before answering."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


Intent: TypeAlias = Literal[
    "doubts", "refuses", "proposes", "offers_help", "reports", "waits", "greets", "closes"
]
"""What a message to a user does, beside asking:

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
    """What a user answers to a message.

    Attributes:
        text: What they say.
        left: Nothing more will come from them.
        calls: What they did before, in order.
        state: Where in its scenario the user then is; empty where it has no states.
        understood: Whether the message made sense to the user, who otherwise asks back.
    """

    text: str
    left: bool = False
    calls: tuple[UserCall, ...] = ()
    state: str = ""
    understood: bool = True


@dataclass(frozen=True, slots=True)
class StepEvent:
    """Something that happened, recorded with the step it belongs to.

    Attributes:
        kind: Event, fault or user.
        id: Of the table in the task that asked for it; of a user's turn its state.
        detail: What it did, in a line: ``"timeout after commit"``.
        turn: Of a user: their turn.
    """

    kind: StepEventKind
    id: str
    detail: str = ""
    turn: UserTurn | None = None
