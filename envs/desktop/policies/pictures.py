"""Moves in Drawing and the picture viewer.

The window of Drawing fills the screen, and its tools show their names (`set_up_drawing`).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    copy_all,
    element_comes,
    focused_title,
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
    "switch_to",
    "titles",
    "told",
    "until",
    "window_comes",
    "window_goes",
]

CANVAS = (176, 47)
"""Place of the corner of a picture that is not scrolled or enlarged."""

_TOOLS = {"Pencil": "Pencil", "Shape": "Press <Alt>, <Shift>", "Crop": "Cropping", "Scale": "Scal"}
_NAMES = (
    *("Pencil", "Eraser", "Highlighter", "Text", "Rectangle selection", "Free selection"),
    *("Line", "Curve", "Shape", "Crop", "Scale", "Rotate", "Skew", "Filters"),
)
_FIRST_PX, _PITCH_PX = 70, 48


def choose_tool(view: View, name: str) -> Moves:
    """Choose a tool from the list at the left; the title bar then tells about it."""
    yield from until(view, lambda: bool(view.find_all("label", re.compile("Pencil.*"))), "Drawing")
    place = _FIRST_PX + _PITCH_PX * _NAMES.index(name)
    yield view.act("click", x=80, y=place)
    shown = re.compile(f"{_TOOLS[name]}.*")
    yield from until(view, lambda: bool(view.find_all("label", shown)), f"the tool {name}")


def apply(view: View) -> Moves:
    """Press the button at the right end of the tool's bar, which carries the change out."""
    buttons = [node for node in view.find_all("button") if node["box"][1] > view_height(view) // 2]
    last = max(buttons, key=lambda node: node["box"][0])
    yield view.act("click", ref=last["ref"])
    yield from until(view, lambda: bool(view.find_all("label", re.compile("Pencil.*"))), "the end")


def option(view: View, tool: str, name: str) -> Moves:
    """Choose an option of a tool from its menu, which closes then."""
    yield from element_comes(view, "togglebutton", f"{tool} options")
    yield view.click("togglebutton", f"{tool} options")
    yield from element_comes(view, "radio", name)
    yield view.click("radio", name)
    yield from until(view, lambda: not view.find_all("radio", name), "the closed menu")


def set_colour(view: View, colour: str) -> Moves:
    """Make a colour, such as ``#1D5C8F``, the main colour by the editor of colours."""
    below = [
        n for n in view.find_all("togglebutton", "Menu") if n["box"][1] > view_height(view) // 2
    ]
    first = min(below, key=lambda node: node["box"][0])
    yield view.act("click", ref=first["ref"])
    yield from element_comes(view, "button", "Custom color")
    yield view.click("button", "Custom color")
    yield from element_comes(view, "textbox", "Color Name")
    yield view.enter("Color Name", f"{colour}\n")

    def is_there() -> bool:
        return bool(view.find_all("textbox", "Color Name", value=colour))

    yield from until(view, is_there, f"the colour {colour}")
    yield view.act("press", keys="Escape")
    yield from until(view, lambda: not view.find_all("textbox", "Color Name"), "the closed editor")


def save_picture(view: View) -> Moves:
    """Save the picture in front, which has changes: its title has a star until then."""
    yield from window_comes(view, r"^\*")
    yield view.act("press", keys="Control+S")
    yield from window_comes(view, r"^[^*].*\.\w+$")


def set_number(view: View, place: int, number: int) -> Moves:
    """Type a number into a field; its middle may lie on a button of the field."""
    left, top, _, height = view.find_all("spinbutton")[place]["box"]
    yield view.act("click", x=left + 16, y=top + height // 2)
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=f"{number}\n")
    yield from until(view, lambda: numbers(view)[place] == number, f"the number {number}")


def scale_to_width(view: View, width: int) -> Moves:
    """Scale the picture in front to a width, with its proportions kept."""
    yield from choose_tool(view, "Scale")
    yield from until(view, lambda: len(numbers(view)) == 2, "the size")
    before = numbers(view)
    yield from set_number(view, 0, width)
    height = round(width * before[1] / before[0])
    if numbers(view)[1] != height:
        yield from set_number(view, 1, height)
    yield from apply(view)


def numbers(view: View) -> list[int]:
    """Return what the fields for numbers hold, from left to right."""
    return [int(node.get("value", 0)) for node in view.find_all("spinbutton")]


def save_picture_as(view: View, path: str) -> Moves:
    """Save the picture in front under another name; the ending decides the format.

    Drawing asks before it replaces a file, or what a format cannot hold.
    """
    yield view.act("press", keys="Control+Shift+S")
    yield from name_file(view, "^Save picture as", path)
    name = re.escape(path.rsplit("/", 1)[-1])

    def is_over() -> bool:
        asks = view.find_all("button", "Replace")
        return bool(asks) or re.search(rf"^{name}$", focused_title(view)) is not None

    yield from until(view, is_over, f"the saved {path}")
    if view.find_all("button", "Replace"):
        yield view.click("button", "Replace")
        yield from window_comes(view, rf"^{name}$")


def save_copy(view: View, path: str) -> Moves:
    """Save a copy of the file that the picture viewer shows."""
    yield view.act("press", keys="Control+S")
    yield from name_file(view, "^Save copy", path)
    yield from window_goes(view, "^Save copy")


def name_file(view: View, window: str, path: str) -> Moves:
    """Type a name into the dialog that saves a file, once it is ready, and confirm it."""
    yield from window_comes(view, window)
    yield from until(view, lambda: bool(_focused_field(view)), "the field of the name")
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=path)
    yield from until(view, lambda: _focused_field(view) == [path], f"the name {path}")
    yield view.act("press", keys="Return")


def _focused_field(view: View) -> list[str]:
    return [str(node.get("value", "")) for node in view.find_all("textbox", focused=True)]


def screen(view: View) -> np.ndarray[Any, Any]:
    """Return what is seen as whole numbers, ``int16[H, W, 3]``."""
    image = view.observation.image
    assert image is not None, "a desktop shows pictures"
    return np.asarray(image).astype(np.int16)


def view_height(view: View) -> int:
    """Return the height of what is seen in pixels."""
    return int(screen(view).shape[0])
