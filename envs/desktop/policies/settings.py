"""Moves in dialogs of settings: tabs, switches, fields for numbers."""

from __future__ import annotations

import re
from typing import Any

from agentgym.task.reference_policy import View

from .moves import Moves, element_comes, focused_title, told, until, window_comes, window_goes

__all__ = ["element_comes", "focused_title", "told", "until", "window_comes", "window_goes"]

_TABS = 12


def open_tab(view: View, name: str) -> Moves:
    """Bring a tab of a dialog to the front."""
    yield from element_comes(view, "tab", name)
    yield view.click("tab", name)

    def is_open() -> bool:
        return bool(view.find_all("tab", name, selected=True))

    yield from until(view, is_open, f"the tab {name}")


def switch(view: View, name: str, *, on: bool = True) -> Moves:
    """Switch a setting on or off, if it is not so already."""
    yield from element_comes(view, "checkbox", name)
    if _is_on(view, name) != on:
        yield view.click("checkbox", name)
        yield from until(view, lambda: _is_on(view, name) == on, f"the switched {name}")


def _is_on(view: View, name: str) -> bool:
    return bool(view.find("checkbox", name).get("checked"))


def number_beside(view: View, label: str, number: int) -> Moves:
    """Go to the field in the line of a label by the Tab key, and type a number into it.

    A click does not always bring the focus there, and its middle may lie on its buttons.

    Raises:
        LookupError: The focus does not come to the field.
    """
    for _ in range(_TABS):
        if field_beside(view, label).get("focused"):
            break
        yield view.act("press", keys="Tab")
    else:
        raise LookupError(f"the focus does not come to the number beside {label!r}")
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=f"{number}\t")

    def is_there() -> bool:
        field = field_beside(view, label)
        return field.get("value") == str(number) and not field.get("focused")

    yield from until(view, is_there, f"the number {number} at {label}")


def field_beside(view: View, label: str) -> dict[str, Any]:
    """Return the field for a number in the line of a label or a switch.

    Raises:
        LookupError: No field stands there.
    """
    name = re.compile(re.escape(label) + ".*")
    box = (view.find_all("checkbox", name) or view.find_all("label", name))[0]["box"]
    middle = box[1] + box[3] // 2
    for field in view.find_all("spinbutton"):
        if field["box"][1] <= middle <= field["box"][1] + field["box"][3]:
            return field
    raise LookupError(f"there is no number beside {label!r}")
