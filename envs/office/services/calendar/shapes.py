"""Argument and result types of the calendar's tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

Time = Annotated[str, Field(pattern=r"^20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:00Z$")]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=20_000)]
Repeat = Literal["none", "weekdays", "weekly", "biweekly", "monthly"]
Answer = Literal["accepted", "tentative", "declined"]
Reason = Literal[
    "out of the office",
    "on leave",
    "ill",
    "another meeting",
    "public holiday",
    "no longer needed",
    "called off by the other side",
]
Zone = Literal[
    "America/New_York",
    "America/Toronto",
    "Asia/Singapore",
    "Europe/Berlin",
    "Europe/Lisbon",
    "Europe/London",
    "UTC",
]


class Room(TypedDict):
    """A meeting room; ``free`` is null where no time was asked about."""

    id: int
    name: str
    office: str
    seats: int
    video: bool
    free: bool | None


class Item(TypedDict):
    """One occurrence in a calendar; ``occurrence`` names it within its series."""

    event: int
    occurrence: str
    title: str
    start: str
    end: str
    room: str | None
    organizer: int
    response: str | None
    repeat: Repeat


class Attendee(TypedDict):
    """A person who is invited, with their answer."""

    person: int
    name: str
    response: Literal["none", "accepted", "tentative", "declined"]
    note: str


class Exceptional(TypedDict):
    """An occurrence of a series that is not as the others."""

    occurrence: str
    status: Literal["moved", "cancelled"]
    start: str
    end: str
    room: int | None
    note: str


class Event(TypedDict):
    """A meeting; ``busy`` are attendees who have something else at a time of it."""

    id: int
    title: str
    description: str
    organizer: int
    start: str
    end: str
    timezone: str
    room: int | None
    repeat: Repeat
    until: str | None
    status: Literal["confirmed", "cancelled"]
    private: bool
    note: str
    version: int
    updated_at: str
    attendees: list[Attendee]
    exceptions: list[Exceptional]
    busy: list[int]


class Slot(TypedDict):
    """A time at which everybody could meet."""

    start: str
    end: str
