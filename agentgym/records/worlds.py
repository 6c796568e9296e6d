"""What happens around an agent while it acts: events, faults, and what its user does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgym.records.acting import Json


class HappeningKind(StrEnum):
    """What makes something happen: an ``[[event]]``, a ``[[fault]]`` or the user of the task."""

    EVENT = "event"
    FAULT = "fault"
    USER = "user"


@dataclass(frozen=True, slots=True)
class UserCall:
    """A tool that the user called before answering."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What a user answers to a message.

    Attributes:
        text: What they say.
        left: Nothing more will come from them.
        calls: What they did before, in order.
        state: Where in its scenario the user then is; empty where it has no states.
    """

    text: str
    left: bool = False
    calls: tuple[UserCall, ...] = ()
    state: str = ""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened, recorded with the step it belongs to.

    Attributes:
        kind: Event, fault or user.
        id: Of the table in the task that asked for it; of a user's turn its state.
        detail: What it did, in a line: ``"timeout after commit"``.
        turn: Of a user: their turn.
    """

    kind: HappeningKind
    id: str
    detail: str = ""
    turn: UserTurn | None = None
