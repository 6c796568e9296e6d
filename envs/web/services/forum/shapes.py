"""Argument and result types of the forum's tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

Line = Annotated[str, Field(min_length=1, max_length=200)]
Body = Annotated[str, Field(min_length=1, max_length=8_000)]
Text = Annotated[str, Field(max_length=8_000)]
Slug = Annotated[str, Field(max_length=40)]
Label = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}$")]
Days = Annotated[int, Field(ge=0, le=365)]
Status = Literal["open", "answered", "planned", "done", "declined"]
Reason = Literal["spam", "insult", "private", "off-topic", "other"]
Role = Literal["member", "moderator", "admin"]
Order = Literal["active", "newest", "oldest", "replies"]


class User(TypedDict):
    """Somebody with an account; a suspension that is over is empty."""

    id: int
    handle: str
    name: str
    role: Role
    town: str
    about: str
    suspended_until: str
    created_at: str
    posts: int


class Board(TypedDict):
    """A board, with the number of its threads."""

    slug: str
    name: str
    about: str
    staff_only: bool
    threads: int


class Thread(TypedDict):
    """A thread as lists show it; ``posts`` counts the visible ones."""

    id: int
    board: str
    title: str
    author: str
    status: Status
    assignee: str
    pinned: bool
    locked: bool
    merged_into: int | None
    created_at: str
    updated_at: str
    posts: int
    labels: list[str]


class Threads(TypedDict):
    """One page of threads."""

    total: int
    threads: list[Thread]


class Post(TypedDict):
    """A post; moderators see the hidden ones, too."""

    id: int
    thread: int
    title: str
    author: str
    author_role: Role
    body: str
    status: Literal["visible", "hidden"]
    reason: str
    created_at: str
    edited_at: str


class Posts(TypedDict):
    """One page of posts."""

    total: int
    posts: list[Post]


class Flag(TypedDict):
    """A complaint about a post, and what became of it."""

    id: int
    post: int
    thread: int
    title: str
    author: str
    body: str
    by: str
    reason: Reason
    note: str
    status: Literal["open", "upheld", "rejected"]
    created_at: str


class Draft(TypedDict):
    """A text that is not published: a new thread of a board, or a reply."""

    id: int
    board: str
    thread: int | None
    title: str
    body: str
    updated_at: str


class Entry(TypedDict):
    """An entry of the moderators' log."""

    id: int
    by: str
    what: str
    target: str
    reason: str
    created_at: str
