"""Moves that tasks with workbooks share: sources opened from a folder, and whole rows."""

from __future__ import annotations

import re
from collections.abc import Generator

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    copy_all,
    element_comes,
    focused_title,
    switch_to,
    until,
    window_comes,
)
from .office import cells, go_to

_FILES = "Thunar$"
_TRIES = 8


def read_files(
    view: View, kind: str, count: int, pattern: str
) -> Generator[Action, None, list[str]]:
    """Return the texts of all files of a kind in the file manager, in the order of their names.

    Args:
        view: What is seen.
        kind: What the file manager says of them, such as "PDF document".
        count: How many there are.
        pattern: What each of the texts holds.
    """
    texts: list[str] = []
    yield from switch_to(view, _FILES)
    for place in range(count):
        yield from element_comes(view, "cell", kind)
        # The tree has the files in their order, without their names.
        listed = view.find_all("cell", kind)
        if len(listed) != count:
            raise LookupError(f"{len(listed)} files are a {kind}, expected {count}")
        # On a busy machine two clicks can be too far apart for a double click.
        yield view.act("click", ref=listed[place]["ref"])
        yield view.act("press", keys="Return")
        yield from until(
            view,
            lambda: not re.search(_FILES, focused_title(view) or "Thunar"),
            "the opened file",
        )
        texts.append((yield from _copy_new(view, pattern, texts)))
        yield view.act("press", keys="Alt+F4")
        yield from window_comes(view, _FILES)
    return texts


def _copy_new(view: View, pattern: str, known: list[str]) -> Generator[Action, None, str]:
    """Return the text in front; a viewer may still show what it showed before."""
    for _ in range(_TRIES):
        text = yield from copy_all(view, pattern)
        if text not in known:
            return text
        yield view.act("wait", seconds=0.5)
    raise LookupError(f"no other text came than {known[-1][:200]!r}")


def open_sheet(view: View, name: str, cell: str) -> Moves:
    """Go to a sheet of the workbook in front, and wait until it shows a cell that is not empty."""
    yield view.click("tab", name)
    yield from until(view, lambda: bool(cells(view).get(cell)), f"cell {cell} of {name}")


def make_bold(view: View, place: str) -> Moves:
    """Make cells bold that are not."""
    yield from go_to(view, place)
    yield view.act("press", keys="Control+B")


def formula(view: View, cell: str) -> Generator[Action, None, str]:
    """Return the formula of a cell, copied from its input line; the tree has the value only."""
    yield from go_to(view, cell)
    yield view.act("press", keys="F2")
    text = yield from copy_all(view, "^=")
    yield view.act("press", keys="Escape")
    return text.strip()


def copy_cell(view: View, cell: str, to: str) -> Moves:
    """Copy a cell with its formula over one that holds something, which Calc asks about."""
    before = cells(view)[to]
    yield from go_to(view, cell)
    yield view.act("press", keys="Control+C")
    yield from go_to(view, to)
    yield view.act("press", keys="Control+V")
    yield from element_comes(view, "button", "Yes")
    yield view.click("button", "Yes")
    yield from until(view, lambda: cells(view).get(to, before) != before, f"the new {to}")
    yield view.act("press", keys="Escape")
