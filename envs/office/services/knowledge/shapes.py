"""Result types of the knowledge base's tools."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

Status = Literal["draft", "published", "archived"]
Change = Literal["", "title", "figures", "wording", "new rule", "correction", "after review"]


class Category(TypedDict):
    """A category of articles."""

    id: str
    title: str
    articles: int
    review_overdue: int


class Summary(TypedDict):
    """An article in a list."""

    id: int
    title: str
    category: str
    owner: str
    status: Status
    version: int
    published_version: int | None
    updated_at: str
    review_on: str
    review_overdue: bool


class Hit(Summary):
    """An article that a search found, with the place where."""

    snippet: str


class Saved(TypedDict):
    """A version of an article, without its body."""

    number: int
    author: str
    saved_at: str
    note: str


class Article(Summary):
    """An article with its latest body."""

    body: str
    tags: list[str]
    created_at: str
    replaced_by: int | None
    versions: list[Saved]


class Content(TypedDict):
    """One version of an article."""

    article: int
    version: int
    title: str
    body: str
    author: str
    saved_at: str


class Page(TypedDict):
    """One page of a search."""

    total: int
    articles: list[Hit]
