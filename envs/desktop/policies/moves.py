"""Moves on a desktop that every application shares: windows, menus, dialogs."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from agentgym.records import Action
from agentgym.task.reference_policy import View

Moves = Iterator[Action]

_PANEL = "tint2"
_PATIENCE = 40
_TRIES = 8


def told(view: View) -> str:
    """Return the instruction on one line."""
    return " ".join(view.instruction.split())


def windows(view: View) -> list[dict[str, Any]]:
    """Return the windows, the topmost last."""
    return [dict(window) for window in _screen(view).get("windows", ())]


def is_whole(view: View) -> bool:
    """Whether the tree and its values were read to their end; a busy desktop runs out of time."""
    return not _screen(view).get("cut")


def _screen(view: View) -> Mapping[str, Any]:
    """Return the data of the desktop; empty without one."""
    data = view.observation.data
    # The first observation has the views of all surfaces, by their names.
    views = [data, *(one for one in data.values() if isinstance(one, Mapping))]
    return next((one for one in views if "windows" in one), {})


def titles(view: View) -> list[str]:
    """Return the titles of the windows, the topmost last."""
    return [str(window["title"]) for window in windows(view)]


def focused_title(view: View) -> str:
    """Return the title of the window that has the focus; empty without one."""
    return next((str(window["title"]) for window in windows(view) if window["focused"]), "")


def until(view: View, holds: Callable[[], bool], what: str) -> Moves:
    """Wait until something holds of the view.

    Raises:
        LookupError: It does not come.
    """
    for _ in range(_PATIENCE):
        if holds():
            return
        yield view.act("wait", seconds=0.5)
    raise LookupError(f"{what} did not come; windows: {titles(view)}")


def element_comes(view: View, role: str, name: str | re.Pattern[str]) -> Moves:
    """Wait until an element shows; a busy application fills its tree late."""
    yield from until(view, lambda: bool(view.find_all(role, name)), f"{role} {name}")


def window_comes(view: View, pattern: str) -> Moves:
    """Wait until a window with such a title has the focus."""
    yield from until(view, lambda: re.search(pattern, focused_title(view)), f"window {pattern}")


def window_goes(view: View, pattern: str) -> Moves:
    """Wait until no window has such a title."""

    def gone() -> bool:
        return not any(re.search(pattern, title) for title in titles(view))

    yield from until(view, gone, f"the end of window {pattern}")


def switch_to(view: View, pattern: str) -> Moves:
    """Bring a window to the front, as Alt+Tab does, and look whether it came.

    Raises:
        LookupError: There is no such window.
    """
    for _ in range(_TRIES):
        before = focused_title(view)
        if re.search(pattern, before):
            return
        # The window that was in front before comes first. A busy desktop may lose a key.
        behind = [title for title in reversed(titles(view)) if title not in (_PANEL, before)]
        places = [place for place, title in enumerate(behind, 1) if re.search(pattern, title)]
        if not places:
            break
        yield view.act("key_down", key="Alt")
        yield view.act("press", keys=" ".join(["Tab"] * places[0]))
        yield view.act("key_up", key="Alt")
        if focused_title(view) in ("", before):
            yield view.act("wait", seconds=0.5)
    raise LookupError(f"no window {pattern}; windows: {titles(view)}")


def copy_all(view: View, pattern: str) -> Generator[Action, None, str]:
    """Return all text of what has the focus, once it holds a pattern.

    Raises:
        LookupError: It does not come to hold it.
    """
    text = ""
    for _ in range(_PATIENCE):
        yield view.act("press", keys="Control+A Control+C")
        yield view.act("read_clipboard")
        text = view.observation.text
        # The clipboard is read without a look at the screen.
        yield view.act("wait", seconds=0)
        if re.search(pattern, text):
            return text
    raise LookupError(f"{pattern} is not in the text, but {text[:200]!r}")
