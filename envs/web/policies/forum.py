"""Policies of members and moderators of the forum."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any
from urllib.parse import quote_plus

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    cells,
    fact_of,
    links,
    number_in,
    open_whole,
    sign_in,
    with_secret,
    within,
)

__all__ = ["HOST", "cells", "fact_of", "links", "links_of", "number_in", "open_whole", "within"]

HOST = "http://forum.shop.example"
_UPHOLD = r"(?:Uphold|Accept|Hide the post) \({}\)"


def enter_forum(view: View, who: str = "nora.winter") -> Moves:
    """Sign in in the forum."""
    email, password = with_secret(view, who)
    yield from sign_in(view, "forum.shop.example", email, password)


def links_of(row: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the links to threads in a row."""
    return [n for n in row if n["role"] == "link" and "/thread/" in str(n.get("url"))]


def reports(view: View) -> Generator[Action, None, dict[int, str]]:
    """Read all open reports; return the text of each by number."""
    found: dict[int, str] = {}
    page = 1
    while True:
        yield view.goto(f"{HOST}/reports?page={page}")
        articles = view.find_all("article", re.compile(r"Report \d+"))
        for article in articles:
            found[int(article["name"].split()[1])] = "\n".join(within(view, article))
        if not view.find_all("link", "Next"):
            return found
        page += 1


def decide(view: View, number: int, uphold: bool) -> Moves:
    """Decide a report that is on this page."""
    label = re.compile(_UPHOLD.format(number)) if uphold else f"Reject ({number})"
    while not view.find_all("button", label):
        yield view.click("link", "Next")
    yield view.click("button", label)


def suspend(view: View, handle: str, days: int, reason: str) -> Moves:
    """Suspend a member."""
    yield view.goto(f"{HOST}/user/{handle}/suspend")
    yield view.act("type", ref=view.find(name="Days")["ref"], text=str(days))
    yield view.enter("Reason", reason)
    yield view.click("button", "Save suspension")


def threads_of(view: View, board: str, **conditions: str) -> Generator[Action, None, list[int]]:
    """Return the numbers of the threads of a board, over all pages."""
    asked = "&".join(f"{name}={quote_plus(value)}" for name, value in conditions.items())
    yield view.goto(f"{HOST}/board/{board}?{asked}")
    found: list[int] = []
    while True:
        found += [number_in(link["url"]) for link in links(view, r"/thread/\d+$")]
        if not view.find_all("link", "Next"):
            return found
        yield view.click("link", "Next")


def arrange(view: View, thread: int, **wanted: str) -> Moves:
    """Set board, status or responsible moderator, or add a label."""
    yield view.goto(f"{HOST}/thread/{thread}/manage")
    for name, value in wanted.items():
        if name == "label":
            present = view.find(name="Labels").get("value", "")
            yield view.enter("Labels", f"{present}, {value}" if present else value)
        elif name == "labels":
            yield view.enter("Labels", value)
        elif name in ("pinned", "locked"):
            yield view.click("checkbox", name.capitalize())
        else:
            yield view.choose(name.capitalize(), value)
    yield view.click("button", "Save")


def merge(view: View, thread: int, into: int) -> Moves:
    """Merge a thread into another."""
    yield view.goto(f"{HOST}/thread/{thread}/merge")
    field = view.find(name="Number of the thread that stays")
    yield view.act("type", ref=field["ref"], text=str(into))
    yield view.click("button", "Merge threads")


def reply(view: View, thread: int, text: str) -> Moves:
    """Reply in a thread."""
    yield view.goto(f"{HOST}/thread/{thread}")
    yield view.enter("Your reply", text)
    yield view.click("button", re.compile("Reply|Post reply|Publish reply"))
