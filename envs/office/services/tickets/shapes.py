"""Result types of the help desk's tools."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from agentgym.services import Image

Priority = Literal["low", "normal", "high", "urgent"]
Status = Literal["open", "pending", "closed", "merged"]


class Customer(TypedDict):
    """A customer, who writes tickets."""

    id: int
    name: str
    company: str
    email: str
    phone: str
    plan: Literal["basic", "business", "enterprise"]
    since: str


class Agent(TypedDict):
    """An agent, who works on tickets."""

    id: str
    name: str
    team: str
    active: bool
    open_tickets: int


class Comment(TypedDict):
    """A comment on a ticket."""

    id: int
    author: str
    body: str
    internal: bool
    picture: Image | None
    created_at: str


class Link(TypedDict):
    """A ticket that another one has to do with."""

    ticket: int
    kind: str


class Summary(TypedDict):
    """A ticket in a list."""

    id: int
    subject: str
    customer_id: int
    customer: str
    product: str
    status: Status
    priority: Priority
    assignee: str | None
    created_at: str
    due_at: str
    overdue: bool
    version: int


class Ticket(Summary):
    """A ticket with all that belongs to it."""

    body: str
    updated_at: str
    resolution: str | None
    merged_into: int | None
    tags: list[str]
    links: list[Link]
    comments: list[Comment]


class Page(TypedDict):
    """One page of a search."""

    total: int
    tickets: list[Summary]
