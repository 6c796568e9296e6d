"""Result types of the drive's tools."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from agentgym.services import Image

Kind = Literal["folder", "file"]
Role = Literal["viewer", "editor"]
Right = Literal["viewer", "editor", "owner"]


class Entry(TypedDict):
    """A file or folder in a list."""

    id: int
    kind: Kind
    name: str
    path: str
    owner: str
    size: int
    version: int
    updated_at: str
    trashed_at: str | None


class Share(TypedDict):
    """A person's right to see or change an item."""

    grantee: str
    role: Role
    granted_by: str
    granted_at: str
    expires_at: str | None
    expired: bool
    inherited_from: str | None


class Saved(TypedDict):
    """A version of a file, without its content."""

    number: int
    author: str
    saved_at: str
    note: str


class Item(Entry):
    """A file or folder with all that is known of it."""

    folder: int | None
    created_at: str
    your_right: Right
    shares: list[Share]
    versions: list[Saved]


class Content(TypedDict):
    """The content of a version of a file."""

    id: int
    path: str
    version: int
    content: str
    picture: Image | None
    author: str
    saved_at: str


class Page(TypedDict):
    """One page of a search."""

    total: int
    items: list[Entry]
