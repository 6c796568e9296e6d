"""Moves in LibreOffice Writer: headings, searches by pattern, export as PDF."""

from __future__ import annotations

from typing import Any

from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    copy_all,
    element_comes,
    focused_title,
    switch_to,
    told,
    until,
    window_comes,
    window_goes,
)
from .office import amount, cells, cells_come, find_text, menu, replace_all, save, save_as

__all__ = [
    "amount",
    "cells",
    "cells_come",
    "copy_all",
    "element_comes",
    "find_text",
    "focused_title",
    "menu",
    "replace_all",
    "save",
    "save_as",
    "switch_to",
    "told",
    "until",
    "window_comes",
    "window_goes",
]


def export_pdf(view: View, path: str) -> Moves:
    """Export the document in front as PDF, all of it and without a look at the options."""
    yield from menu(view, "File", "Export As", "Export Directly as PDF")
    yield from window_comes(view, "^Export")

    def held() -> list[str]:
        return [str(node.get("value", "")) for node in view.find_all("textbox", focused=True)]

    # A busy dialog takes keys late, and one that lists files while it is typed in loses some.
    yield from until(view, lambda: bool(held()), "the field of the name")
    yield view.act("type", text=path)
    yield from until(view, lambda: held() == [path], f"the name {path}")
    yield view.act("press", keys="Return")
    yield from window_goes(view, "^Export")
    # The application does not answer while it exports.
    yield from element_comes(view, "menu", "File")


def insert_picture(view: View, path: str) -> Moves:
    """Insert a picture from a file at the cursor, in place of what is selected."""
    yield from menu(view, "Insert", "Image...")
    yield from window_comes(view, "^Insert Image")

    def held() -> list[str]:
        return [str(node.get("value", "")) for node in view.find_all("textbox", focused=True)]

    # The dialog of GTK shows a field for the name as soon as a path is typed.
    yield view.act("type", text=path)
    yield from until(view, lambda: held() == [path], f"the name {path}")
    yield view.act("press", keys="Return")
    yield from window_goes(view, "^Insert Image")
    yield from element_comes(view, "menu", "File")


def anchor_as_character(view: View) -> Moves:
    """Let the selected picture lie in the line of the text, so that no text is beside it."""
    yield from menu(view, "Format", "Anchor", "As Character")
    yield view.act("press", keys="Escape")


def remove_empty_paragraphs(view: View) -> Moves:
    """Remove all empty paragraphs, by a regular expression in the dialog of Writer.

    The dialog remembers its last texts and boxes, so both fields are written, and the box is
    cleared again.
    """
    yield view.act("press", keys="Control+H")
    yield from window_comes(view, "^Find and Replace")
    yield from _set_pattern(view, True)
    yield from _fill(view, 0, "^$")
    yield from _fill(view, 1, "")
    yield view.click("button", "Replace All")
    # A message tells the number; it goes away with the next click.
    yield from _set_pattern(view, False)
    yield view.click("button", "Close")
    yield from window_goes(view, "^Find and Replace")


def _set_pattern(view: View, on: bool) -> Moves:
    """Check or clear the box for regular expressions."""
    name = "Regular expressions"
    yield from element_comes(view, "checkbox", name)
    if bool(view.find("checkbox", name).get("checked")) != on:
        yield view.click("checkbox", name)
    yield from until(
        view,
        lambda: bool(view.find("checkbox", name).get("checked")) == on,
        f"the box {name} to be {on}",
    )


def _fill(view: View, place: int, text: str) -> Moves:
    """Write into a field of the dialog in front, counted from 0."""

    def field() -> dict[str, Any]:
        nodes = view.nodes
        start = next(n for n, node in enumerate(nodes) if node.get("role") == "dialog")
        return [node for node in nodes[start:] if node.get("role") == "textbox"][place]

    if text:
        yield view.act("type", ref=field()["ref"], text=text)
    elif field().get("value"):
        yield view.act("press", ref=field()["ref"], keys="Control+A Delete")
    yield from until(view, lambda: field().get("value", "") == text, f"the field with {text!r}")
