"""Argument and result types of the address book's tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=10_000)]
Zone = Literal[
    "America/New_York",
    "America/Toronto",
    "Asia/Singapore",
    "Europe/Berlin",
    "Europe/Lisbon",
    "Europe/London",
    "UTC",
]
Kind = Literal["colleague", "outside"]


class Person(TypedDict):
    """Somebody in a list."""

    id: int
    name: str
    email: str
    phone: str
    company: str
    department: str | None
    role: str
    office: str | None
    timezone: str
    kind: Kind
    status: Literal["active", "left"]
    handle: str | None


class Entry(Person):
    """Somebody with all that is known."""

    aliases: list[str]
    manager_id: int | None
    customer_id: int | None
    groups: list[str]
    note: str
    updated_at: str


class Group(TypedDict):
    """A group in a list."""

    id: int
    name: str
    email: str
    managed: bool
    note: str
    size: int


class FullGroup(Group):
    """A group with its members."""

    members: list[Person]


class People(TypedDict):
    """One page of a search."""

    total: int
    people: list[Person]
