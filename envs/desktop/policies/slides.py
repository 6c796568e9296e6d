"""Moves in LibreOffice Impress: views, slides and their order."""

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
from .office import menu, save, save_as

__all__ = [
    "copy_all",
    "element_comes",
    "focused_title",
    "menu",
    "save",
    "save_as",
    "switch_to",
    "told",
    "until",
    "window_comes",
    "window_goes",
]

_TRIES = 4


def show_as(view: View, name: str) -> Moves:
    """Choose a view of the presentation: Normal, Outline, Notes or Slide Sorter."""
    yield from element_comes(view, "menu", "View")
    yield view.click("menu", "View")
    yield from element_comes(view, "menuitemradio", name)
    yield view.click("menuitemradio", name)
    yield from until(view, lambda: not view.find_all("menuitemradio"), "the end of the menu")


def slides(view: View) -> list[dict[str, Any]]:
    """Return the slides that the slide sorter or the slide pane shows, in their order."""
    found: list[dict[str, Any]] = []
    depth = None
    for node in view.nodes:
        if depth is not None and node["depth"] <= depth:
            break
        if node.get("name") == "Slides View":
            depth = node["depth"]
        elif depth is not None and node["depth"] == depth + 1:
            found.append(node)
    return found


def titles_of_slides(view: View) -> list[str]:
    """Return the titles of the slides that show, in their order."""
    return [str(node["name"]) for node in slides(view)]


def slides_come(view: View, count: int) -> Moves:
    """Wait until so many slides show."""
    yield from until(view, lambda: len(slides(view)) == count, f"{count} slides")


def select_slide(view: View, title: str) -> Moves:
    """Select one slide in the slide sorter or the slide pane."""

    def of_title() -> dict[str, Any] | None:
        return next((node for node in slides(view) if node["name"] == title), None)

    yield from until(view, lambda: of_title() is not None, f"the slide {title}")
    yield view.act("click", ref=(of_title() or {})["ref"])
    yield from until(view, lambda: bool((of_title() or {}).get("selected")), f"{title} selected")


def drag_slide(view: View, title: str, place: int) -> Moves:
    """Drag a slide in the slide sorter to a place, counted from 0.

    Impress inserts what is dropped on the left half of a slide before it, else behind it. A busy
    application misses a drag, so its outcome is looked at.
    """
    before = titles_of_slides(view)
    wanted = [name for name in before if name != title]
    wanted.insert(place, title)
    for _ in range(_TRIES):
        if titles_of_slides(view) == wanted:
            return
        boxes = {str(node["name"]): node["box"] for node in slides(view)}
        left, top, width, height = boxes[title]
        other = boxes[before[place]]
        at = 0.02 if place < before.index(title) else 0.97
        yield view.act(
            "drag",
            from_x=left + width // 2,
            from_y=top + height // 2,
            to_x=int(other[0] + at * other[2]),
            to_y=other[1] + other[3] // 2,
        )
        for _ in range(_TRIES):
            if titles_of_slides(view) != before:
                break
            yield view.act("wait", seconds=0.5)
    yield from until(view, lambda: titles_of_slides(view) == wanted, f"{title} at place {place}")


def new_presentation(view: View) -> Moves:
    """Begin an empty presentation, without a template, from any window of LibreOffice."""
    yield from menu(view, "File", "New", "Presentation")
    yield from window_comes(view, "^Select a Template")
    yield from element_comes(view, "button", "Close")
    yield view.click("button", "Close")
    yield from window_comes(view, "^Untitled")


def next_field(view: View, name: str) -> Moves:
    """Go on to the next field of the slide for writing; behind the last one comes a new slide.

    Args:
        view: What is seen.
        name: End of the field's name: Title, Subtitle or Outliner.
    """

    def is_open() -> bool:
        return bool(view.find_all("panel", f"Presentation{name}", selected=True))

    yield view.act("press", keys="Control+Return")
    yield from until(view, is_open, f"the field {name}")


def write_lines(view: View, lines: list[str]) -> Moves:
    """Write paragraphs into the field that is open, one at a time."""
    for number, line in enumerate(lines):
        if number:
            yield view.act("press", keys="Return")
        yield view.act("type", text=line)
        yield from until(
            view,
            lambda line=line: bool(view.find_all("paragraph", value=line)),
            f"the line {line!r}",
        )


def new_slide(view: View) -> Moves:
    """Add a slide behind the one whose last field is open."""
    count = len(slides(view))
    yield view.act("press", keys="Control+Return")
    yield from slides_come(view, count + 1)


def lines(view: View) -> list[str]:
    """Return the paragraphs of the slide that is open."""
    return [str(node.get("value", "")) for node in view.find_all("paragraph")]


def replace_on_slides(view: View, pairs: list[tuple[str, str]]) -> Moves:
    """Replace texts on all slides, by the dialog of Impress, which stays open meanwhile."""
    yield view.act("press", keys="Control+H")
    yield from window_comes(view, "^Find and Replace")
    for pair in pairs:
        yield from until(view, lambda: len(_fields(view)) == 2, "the fields of the dialog")
        for place, text in enumerate(pair):
            yield view.act("type", ref=_fields(view)[place]["ref"], text=text)
            yield from until(
                view,
                lambda place=place, text=text: (
                    len(_fields(view)) == 2 and _fields(view)[place].get("value") == text
                ),
                f"the field with {text!r}",
            )
        yield view.click("button", "Replace All")
        # The application does not answer while it searches.
        yield from element_comes(view, "button", "Close")
    yield view.click("button", "Close")
    yield from window_goes(view, "^Find and Replace")


def _fields(view: View) -> list[dict[str, Any]]:
    """Return the text fields of the dialog in front."""
    nodes = view.nodes
    start = next((n for n, node in enumerate(nodes) if node.get("role") == "dialog"), len(nodes))
    return [node for node in nodes[start:] if node.get("role") == "textbox"]
