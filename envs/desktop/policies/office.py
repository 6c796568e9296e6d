"""Moves in LibreOffice: cells, dialogs, saving."""

from __future__ import annotations

import re
from typing import Any

from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    element_comes,
    focused_title,
    switch_to,
    told,
    until,
    window_comes,
    window_goes,
)

__all__ = ["element_comes", "focused_title", "switch_to", "told", "window_comes", "window_goes"]

Value = str | int | float


def cells(view: View) -> dict[str, str]:
    """Return the visible cells of the sheet in front, by name, as they are shown."""
    return {
        str(node["name"]): str(node.get("value", ""))
        for node in view.find_all("cell")
        if re.fullmatch(r"[A-Z]{1,3}\d+", str(node.get("name", "")))
    }


def cells_come(view: View, *names: str) -> Moves:
    """Wait until the sheet in front shows cells; a busy application fills its tree late."""
    yield from until(view, lambda: set(names) <= set(cells(view)), f"cells {names}")


def amount(shown: str) -> float:
    """Return the number that a cell shows."""
    return float(shown.replace(",", "").strip())


def go_to(view: View, place: str) -> Moves:
    """Select a cell or a range by the name box of Calc."""
    yield view.act("press", keys="Control+Shift+T")
    yield view.act("type", text=f"{place}\n")


def enter(view: View, place: str, rows: list[list[Value]]) -> Moves:
    """Type rows into a sheet, from a cell on."""
    yield from go_to(view, place)
    lines = ["\t".join(str(value) for value in row) for row in rows]
    yield view.act("type", text="\n".join(lines) + "\n")


def open_file(view: View, path: str) -> Moves:
    """Open a file by the dialog of LibreOffice."""
    yield view.act("press", keys="Control+O")
    yield from window_comes(view, "^Open$")
    yield view.act("type", text=f"{path}\n")
    name = re.escape(path.rsplit("/", 1)[-1])
    yield from window_comes(view, rf"^{name} ")


def close_file(view: View) -> Moves:
    """Close the document in front, which holds no changes."""
    before = focused_title(view)
    yield view.act("press", keys="Control+W")
    yield from until(view, lambda: focused_title(view) != before, "the end of the document")


def save(view: View) -> Moves:
    """Save the document in front, which has changes, in its own format.

    The button of the tool bar shows whether there are changes.
    """
    yield from until(view, lambda: bool(view.find_all("button", "Save")), "the tool bar")
    before = look_of(view, view.find("button", "Save"))
    yield view.act("press", keys="Control+S")

    def is_saved() -> bool:
        found = view.find_all("button", "Save")
        return bool(found) and look_of(view, found[0]) != before

    yield from until(view, is_saved, "the saved document")


def look_of(view: View, node: dict[str, Any]) -> bytes:
    """Return the pixels of an element."""
    left, top, width, height = node["box"]
    image = view.observation.image
    assert image is not None, "a desktop shows pictures"
    return image[top : top + height, left : left + width].tobytes()
