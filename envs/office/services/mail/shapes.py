"""Argument and result types of the mailbox's tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from agentgym.services.arguments import Email

Emails = Annotated[list[Email], Field(max_length=50)]
Line = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=100_000)]
Messages = Annotated[list[int], Field(min_length=1, max_length=100)]


class Folder(TypedDict):
    """A folder and how much is in it."""

    id: int
    name: str
    messages: int
    unread: int


class Summary(TypedDict):
    """A message in a list."""

    id: int
    thread: int
    folder: str
    sender: str
    to: list[str]
    subject: str
    sent_at: str | None
    unread: bool
    flagged: bool


class Message(Summary):
    """A message; ``event`` is the meeting that an invitation is for."""

    cc: list[str]
    bcc: list[str]
    body: str
    answers: int | None
    forwards: int | None
    event: int | None


class Page(TypedDict):
    """One page of a search."""

    total: int
    messages: list[Summary]
