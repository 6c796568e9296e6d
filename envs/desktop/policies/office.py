"""Moves in LibreOffice: cells, dialogs, saving."""

from __future__ import annotations

import re
from typing import Any

from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    copy_all,
    element_comes,
    focused_title,
    is_whole,
    switch_to,
    titles,
    told,
    until,
    window_comes,
    window_goes,
)

__all__ = [
    "copy_all",
    "element_comes",
    "focused_title",
    "is_whole",
    "switch_to",
    "titles",
    "told",
    "until",
    "window_comes",
    "window_goes",
]

Value = str | int | float

_TRIES = 8


def cells(view: View) -> dict[str, str]:
    """Return the visible cells of the sheet in front, by name, as they are shown."""
    return {
        str(node["name"]): str(node.get("value", ""))
        for node in view.find_all("cell")
        if re.fullmatch(r"[A-Z]{1,3}\d+", str(node.get("name", "")))
    }


def cells_come(view: View, *names: str) -> Moves:
    """Wait until the sheet in front shows cells; a busy application fills its tree late."""
    yield from until(
        view, lambda: is_whole(view) and set(names) <= set(cells(view)), f"cells {names}"
    )


def amount(shown: str) -> float:
    """Return the number that a cell shows."""
    return float(shown.replace(",", "").strip())


def go_to(view: View, place: str) -> Moves:
    """Select a cell or a range by the name box of Calc.

    An application that is still opening its document loses keys, so the focus is looked at. A busy
    one jumps late, and what is typed meanwhile goes elsewhere, so the box has to show the place.
    """
    for _ in range(_TRIES):
        yield view.act("press", keys="Control+Shift+T")
        if _in_name_box(view):
            break
        yield view.act("wait", seconds=0.5)
        if _in_name_box(view):
            break
    yield view.act("type", text=f"{place}\n")
    yield from until(view, lambda: _is_selected(view, place), f"the selected {place}")


def _in_name_box(view: View) -> bool:
    return any(
        node.get("focused") and re.fullmatch(r"[A-Z]{1,3}\d+(:.+)?", str(node.get("value")))
        for node in view.find_all("textbox")
    )


def _is_selected(view: View, place: str) -> bool:
    return any(
        not node.get("focused") and node.get("value") == place for node in view.find_all("textbox")
    )


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

    The button of the tool bar shows whether there are changes. A busy application shows the last
    change late, so the button has to look the same twice before the keys are pressed.
    """
    yield from until(view, lambda: bool(_save_buttons(view)), "the tool bar")
    before = b""
    while before != (now := _save_look(view)) or not now:
        before = now
        yield view.act("wait", seconds=0.5)
    yield view.act("press", keys="Control+S")

    yield from until(view, lambda: _save_look(view) not in (b"", before), "the saved document")


def _save_look(view: View) -> bytes:
    """Return the pixels of the button that saves in LibreOffice; empty if none shows."""
    found = _save_buttons(view)
    return look_of(view, found[0]) if found else b""


def _save_buttons(view: View) -> list[dict[str, Any]]:
    """Return the buttons that save in LibreOffice; other applications may have some, too."""
    is_office, found = False, []
    for node in view.nodes:
        if node.get("role") == "application":
            is_office = node.get("name") == "soffice"
        elif is_office and (node.get("role"), node.get("name")) == ("button", "Save"):
            found.append(node)
    return found


def look_of(view: View, node: dict[str, Any]) -> bytes:
    """Return the pixels of an element."""
    left, top, width, height = node["box"]
    image = view.observation.image
    assert image is not None, "a desktop shows pictures"
    return image[top : top + height, left : left + width].tobytes()


def find_text(view: View, text: str) -> Moves:
    """Select the next place of a text in Writer, by the search bar.

    A busy application brings the bar late, and what it finds even later; the status bar tells
    what is selected. The first key ends an earlier selection.
    """
    yield view.act("press", keys="Right Control+F")
    yield from until(view, lambda: _in_search_bar(view), "the search bar")
    yield view.act("type", text=f"{text}\n")
    found = f"{len(text):,}"
    yield from until(view, lambda: _has_selected(view, found), f"the found text {text!r}")
    yield view.act("press", keys="Escape")
    yield from until(view, lambda: not view.find_all("toolbar", "Find"), "the end of the bar")


def tab_to(view: View, count: int, cell: str) -> Moves:
    """Go so many cells on in a table of Writer, to a cell that the status bar then names.

    A Tab at the end of the table adds a line. With a selection, it would select more cells; and
    for a moment after the search bar, keys still go there.
    """
    yield view.act("press", keys="End")
    yield from until(view, lambda: not _has_selected(view), "the end of the selection")
    yield view.act("press", keys=" ".join(["Tab"] * count))
    yield from in_cell(view, cell)


def in_cell(view: View, cell: str) -> Moves:
    """Wait until the status bar of Writer names a cell of a table as the place of the cursor."""
    place = re.compile(rf"\w+:{cell}")

    def is_there() -> bool:
        return any(place.fullmatch(str(node.get("value"))) for node in view.find_all("label"))

    yield from until(view, is_there, f"the cell {cell}")


def _in_search_bar(view: View) -> bool:
    in_field = view.find_all("textbox", focused=True)
    return bool(in_field and view.find_all("toolbar", "Find"))


def _has_selected(view: View, characters: str = "[0-9,]+") -> bool:
    told = re.compile(f"Selected: .* {characters} characters?")
    return any(told.fullmatch(str(node.get("value"))) for node in view.find_all("label"))


def set_style(view: View, name: str) -> Moves:
    """Give the paragraph of the cursor a style, by the list of the tool bar of Writer."""
    yield from until(view, lambda: bool(_style_box(view)), "the list of styles")
    yield view.act("type", ref=_style_box(view)[0]["ref"], text=f"{name}\n")


def _style_box(view: View) -> list[dict[str, Any]]:
    """Return the field of the tool bar that holds the style of the paragraph."""
    known = re.compile("Default Paragraph Style|Title|Heading .*|Text Body|Body Text|Normal")
    return [node for node in view.find_all("textbox") if known.fullmatch(str(node.get("value")))]


def replace_all(view: View, old: str, new: str) -> Moves:
    """Replace a text everywhere, by the dialog of Writer or Calc."""
    yield view.act("press", keys="Control+H")
    yield from window_comes(view, "^Find and Replace")
    yield view.act("type", text=old)

    def empty_fields() -> list[dict[str, Any]]:
        return [node for node in view.find_all("textbox") if not node.get("value")]

    yield from until(view, lambda: len(empty_fields()) == 1, "the field of the replacement")
    yield view.act("type", ref=empty_fields()[0]["ref"], text=new)
    yield view.click("button", "Replace All")
    yield view.act("click", ref=_in_dialog(view, "button", "Close")["ref"])
    yield from window_goes(view, "^Find and Replace")


def _in_dialog(view: View, role: str, name: str) -> dict[str, Any]:
    """Return an element of the dialog that is open; other windows may have one of this name.

    Raises:
        LookupError: There is no dialog, or no such element in it.
    """
    nodes = view.nodes
    start = next((n for n, node in enumerate(nodes) if node.get("role") == "dialog"), len(nodes))
    for node in nodes[start:]:
        if (node.get("role"), node.get("name")) == (role, name):
            return node
    raise LookupError(f"no {role} {name!r} in a dialog")


def menu(view: View, *names: str) -> Moves:
    """Choose an entry of a menu; a name stands for the entry that begins with it."""
    yield from element_comes(view, "menu", names[0])
    yield view.click("menu", names[0])
    for name in names[1:]:
        entry = re.compile(re.escape(name) + ".*")
        yield from until(view, lambda entry=entry: bool(_entries(view, entry)), f"entry {name}")
        yield view.act("click", ref=_entries(view, entry)[0]["ref"])


def _entries(view: View, name: re.Pattern[str]) -> list[dict[str, Any]]:
    roles = ("menuitem", "menuitemcheckbox", "menuitemradio", "menu")
    return [node for role in roles for node in view.find_all(role, name)]


def close_dialog(view: View, title: str) -> Moves:
    """Close a dialog by the keyboard."""
    yield view.act("press", keys="Escape")
    yield from window_goes(view, title)


def save_as(view: View, path: str, *, over: bool = False) -> Moves:
    """Save the document in front under another name, in the format that it has.

    Args:
        view: What is seen.
        path: Where to save it.
        over: Whether a file is there, which is replaced.
    """
    yield view.act("press", keys="Control+Shift+S")
    yield from window_comes(view, "^Save")
    # A busy dialog takes keys late, and one that lists files while it is typed in loses some.
    yield from until(view, lambda: bool(_focused_field(view)), "the field of the name")
    yield view.act("type", text=path)
    yield from until(view, lambda: _focused_field(view) == [path], f"the name {path}")
    yield view.act("press", keys="Return")
    if over:
        yield from element_comes(view, "button", "Yes")
        yield view.click("button", "Yes")
    name = re.escape(path.rsplit("/", 1)[-1])
    yield from window_comes(view, rf"^{name} ")


def _focused_field(view: View) -> list[str]:
    """Return what the text field holds that has the focus; empty without one."""
    return [str(node.get("value", "")) for node in view.find_all("textbox", focused=True)]
