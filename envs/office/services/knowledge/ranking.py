"""Ranks articles for the words of a search, and finds the words in them."""

from __future__ import annotations


def matches(word: str, title: str, tags: str, body: str) -> int:
    """Return how well an article matches a word: titles and tags count more than bodies."""
    return (
        10 * title.casefold().count(word)
        + 5 * tags.casefold().count(word)
        + body.casefold().count(word)
    )


def around(words: list[str], body: str, width: int = 120) -> str:
    """Return the part of a body around the first of some words."""
    at = max(0, min((body.casefold().find(w) for w in words if w in body.casefold()), default=0))
    start = max(0, at - width // 3)
    return " ".join(body[start : start + width].split())
