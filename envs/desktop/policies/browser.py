"""Moves in Firefox: pages, links, the address."""

from __future__ import annotations

from collections.abc import Generator

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import Moves, copy_all, element_comes, told, until, window_comes, window_goes

__all__ = ["element_comes", "told", "until", "window_comes", "window_goes"]


def follow(view: View, link: str, title: str) -> Moves:
    """Follow a link of the page in front, to a page with such a title."""
    yield from element_comes(view, "link", link)
    yield view.click("link", link)
    yield from window_comes(view, title)


def copy_page(view: View, pattern: str) -> Generator[Action, None, str]:
    """Return the text of the page in front, which holds a pattern."""
    return (yield from copy_all(view, pattern))
