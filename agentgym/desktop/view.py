"""The view of a desktop: its windows and the tree of its applications."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentgym.desktop.messages import Look, Tree
from agentgym.errors import SurfaceEndedError
from agentgym.gui.references import References
from agentgym.gui.scaling import Scale
from agentgym.gui.tree import digest_of

_NUMBER: Final = re.compile(r"/(\d+)$")
MOST_ELEMENTS: Final = 100_000
"""Elements that the applications of one episode may show; they are kept as long as it lasts."""


@dataclass(frozen=True, slots=True)
class DesktopView:
    """A desktop as it was seen at one moment; boxes are in pixels of the picture.

    Attributes:
        windows: The windows, the topmost last: ``title``, ``class``, ``box``, ``focused``,
            ``minimized``, ``fullscreen``.
        pointer: Where the pointer is.
        held: Names of keys and buttons that stay down.
        nodes: The tree, in the form of `agentgym.gui.tree`.
        cut: Why the tree is not whole; empty if it is.
        digest: Hash of the windows and the tree.
    """

    windows: Sequence[Mapping[str, Any]] = ()
    pointer: tuple[int, int] = (0, 0)
    held: tuple[str, ...] = ()
    nodes: Sequence[Mapping[str, Any]] = ()
    cut: str = ""
    digest: str = field(default="", compare=False)

    @property
    def focused(self) -> int | None:
        """Reference of the focused element, None without focus."""
        focused = [n["ref"] for n in self.nodes if "focused" in n["f"] and "ref" in n]
        return focused[-1] if focused else None


class Elements:
    """The references of a desktop's elements, and where they are found again."""

    def __init__(self) -> None:
        self._references = References()
        self._known: dict[str, set[int]] = {}
        self._paths: dict[tuple[str, int], str] = {}

    def assign(self, nodes: Sequence[dict[str, Any]]) -> None:
        """Give the nodes of a whole tree their references.

        Raises:
            SurfaceEndedError: There have been too many elements.
        """
        if len(self._paths) > MOST_ELEMENTS:
            raise SurfaceEndedError(f"the desktop has shown more than {MOST_ELEMENTS:,} elements")
        by_bus: dict[str, list[dict[str, Any]]] = {}
        for node in nodes:
            bus, path = node["at"]
            node["i"] = _number(path)
            self._paths[bus, node["i"]] = path
            by_bus.setdefault(bus, []).append(node)
        for bus, own in by_bus.items():
            present = {node["i"] for node in own}
            gone = sorted(self._known.get(bus, set()) - present)
            self._references.assign(bus, bus, own, gone)
            self._known[bus] = present

    def find(self, reference: int) -> tuple[str, str, str] | None:
        """Return the name on the bus, the path and the label of an element, None if unknown."""
        handle = self._references.find(reference)
        if handle is None:
            return None
        return handle.document, self._paths[handle.document, handle.number], handle.label


def as_view(told: Look, tree: Tree, elements: Elements, scale: Scale) -> DesktopView:
    """Return the view of what a desktop has told; its elements get their references."""
    nodes = [node.model_dump(exclude_none=True) for node in tree.nodes]
    elements.assign(nodes)
    for node in nodes:
        node["b"] = scale.to_picture(node["b"])
    windows = [
        {**window.model_dump(by_alias=True), "box": scale.to_picture(window.box)}
        for window in told.windows
    ]
    return DesktopView(
        windows=windows,
        pointer=_point(told.pointer, scale),
        held=tuple(told.held),
        nodes=nodes,
        cut=tree.cut,
        digest=digest_of(nodes, ()) + _hash(windows),
    )


def _point(at: Sequence[int], scale: Scale) -> tuple[int, int]:
    x, y, _, _ = scale.to_picture((at[0], at[1], 1, 1))
    return x, y


def _hash(windows: Sequence[Mapping[str, Any]]) -> str:
    return hashlib.sha256(repr(windows).encode()).hexdigest()


def _number(path: str) -> int:
    """Return the number at the end of an object's path; one of its text if it has none."""
    found = _NUMBER.search(path)
    return int(found[1]) if found else -int.from_bytes(hashlib.sha256(path.encode()).digest()[:6])
