"""The view of a page: its nodes as text and as data, within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.gui.tree import tree_data, tree_lines
from agentgym.records import Json


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as it was seen at one moment.

    Attributes:
        url: Its address.
        title: Its title.
        nodes: Its nodes in the order of the document, with references.
        focused: Reference of the focused element, None without focus.
        cut: Number of elements that the budget has left out, 0 if none.
        scroll: Scrolled pixels and size of the document: x, y, width, height.
        size: Width and height of the viewport.
        documents: Tokens of the documents, the main one first.
        ready: The document's ready state.
        blocked: Why the page could not be read; empty if it could.
    """

    url: str
    title: str = ""
    nodes: Sequence[Mapping[str, Any]] = ()
    focused: int | None = None
    cut: int = 0
    scroll: tuple[int, ...] = (0, 0, 0, 0)
    size: tuple[int, int] = (0, 0)
    documents: tuple[str, ...] = ()
    ready: str = "complete"
    blocked: str = ""
    digest: str = field(default="", compare=False)

    def lines(self) -> list[str]:
        """Return the tree, one line for each node."""
        return tree_lines(self.nodes, self.url)

    def data(self) -> list[Json]:
        """Return the nodes as JSON."""
        return tree_data(self.nodes)
