"""Argument and result types of the chat's tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

Words = Annotated[str, Field(min_length=1, max_length=10_000)]
ChannelName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]
Emoji = Annotated[str, Field(pattern=r"^[a-z0-9_+-]{1,30}$")]


class Channel(TypedDict):
    """A channel, or a conversation between some (``direct``)."""

    id: int
    name: str
    topic: str
    kind: Literal["public", "private", "direct"]
    archived: bool
    member: bool
    members: int


class Member(TypedDict):
    """A member of a channel."""

    person: int
    name: str
    handle: str | None
    status: str


class Reaction(TypedDict):
    """A reaction to a message."""

    emoji: str
    person: int


class Message(TypedDict):
    """A message; ``missed`` are those mentioned who are not in the channel."""

    id: int
    channel: int
    thread: int | None
    author: int
    author_name: str
    text: str
    sent_at: str
    edited_at: str | None
    mentions: list[int]
    missed: list[int]
    replies: int
    reactions: list[Reaction]
