"""Argument and result types of the tools for forms."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field as Bounded
from typing_extensions import TypedDict

from agentgym.services.arguments import Email

Place = Literal["mail", "note", "reply", "chat"]
Word = Annotated[str, Bounded(max_length=200)]
Value = int | float | Word
FormId = Annotated[str, Bounded(max_length=60)]
Emails = Annotated[list[Email], Bounded(max_length=50)]
Recipients = Annotated[list[Email], Bounded(min_length=1, max_length=50)]


class Entry(TypedDict):
    """A field and what is entered there."""

    field: Annotated[str, Bounded(max_length=40)]
    value: Value


Entries = Annotated[list[Entry], Bounded(max_length=30)]
Lines = Annotated[list[Annotated[list[Value], Bounded(max_length=10)]], Bounded(max_length=100)]


class Field(TypedDict):
    """A field of a form; ``choices`` is its closed list, if it has one."""

    name: str
    label: str
    kind: str
    expects: str
    required: bool
    choices: list[str]


class Summary(TypedDict):
    """A form in a list."""

    id: str
    title: str
    purpose: str
    place: Place
    reader: str


class Form(Summary):
    """A form; ``columns`` are the fields of each of its lines, ``text`` is what is made of it."""

    fields: list[Field]
    columns: list[Field]
    subject: str
    text: str


class Sent(TypedDict):
    """The message that a form has made.

    ``message``, ``comment`` or ``post`` is its number in the mailbox, on the ticket or in the chat.
    """

    form: str
    message: int | None
    comment: int | None
    post: int | None
    subject: str
    text: str
