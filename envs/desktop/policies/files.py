"""Moves in Thunar and in the text editor: entries by name, folders, lines.

An entry that the window may not show is selected by typing its name, and what opens then shows
whether it was the right one.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import Moves, element_comes, focused_title, until, window_comes, window_goes, windows

_TRIES = 4


def pick(view: View, name: str) -> Moves:
    """Select an entry of the folder in front by typing its name."""
    yield from until(view, lambda: focused_title(view).endswith(" - Thunar"), "Thunar")
    yield view.act("type", text=name)
    # The field of the search would take further keys for itself.
    yield view.act("press", keys="Escape")


def open_entry(view: View, name: str, title: str = "") -> Moves:
    """Open a file with its application, by Return.

    Args:
        view: What is seen.
        name: Name of the file.
        title: Pattern of the window's title; empty for one with the name.
    """
    yield from pick(view, name)
    yield view.act("press", keys="Return")
    yield from window_comes(view, title or re.escape(name))


def close_window(view: View, keys: str = "Control+W") -> Moves:
    """Close the window in front."""
    title = re.escape(focused_title(view))
    yield view.act("press", keys=keys)
    yield from window_goes(view, f"^{title}$")


def rename(view: View, old: str, new: str) -> Moves:
    """Give an entry of the folder in front another name.

    Raises:
        LookupError: Another entry was selected, several times.
    """
    for _ in range(_TRIES):
        yield from pick(view, old)
        yield view.act("press", keys="F2")
        yield from window_comes(view, "^Rename ")
        if focused_title(view) == f'Rename "{old}"':
            break
        yield view.act("press", keys="Escape")
        yield from window_goes(view, "^Rename ")
    else:
        raise LookupError(f"{old} cannot be selected")
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=f"{new}\n")
    yield from window_goes(view, "^Rename ")


def go_to_folder(view: View, path: str) -> Moves:
    """Show a folder, by the field of the place."""
    yield view.act("press", keys="Control+L")
    yield from until(view, lambda: _focused(view, "textbox"), "the field of the place")
    yield view.act("type", text=f"{path}\n")
    yield from window_comes(view, f"^{re.escape(path.rsplit('/', 1)[-1])} - Thunar$")
    # Until the folder is read, keys go to the field.
    yield from until(view, lambda: _focused(view, "table"), "the folder")


def _focused(view: View, role: str) -> bool:
    return bool(view.find_all(role, focused=True))


def names(view: View) -> Generator[Action, None, list[str]]:
    """Select all entries of the folder in front, and return their names in their order."""
    yield view.act("press", keys="Control+A Control+C")
    yield view.act("read_clipboard")
    told = view.observation.text
    # The clipboard is read without a look at the screen.
    yield view.act("wait", seconds=0)
    return [line.rsplit("/", 1)[-1] for line in told.splitlines() if line.startswith("/")]


def _shown(view: View) -> set[str]:
    """Return the names of all entries and other cells that show."""
    return {str(node.get("name", "")) for node in view.find_all("cell")}


def select(view: View, wanted: Iterable[str]) -> Moves:
    """Select entries of the folder in front, by clicks on their names."""
    modifiers: list[str] = []
    for name in wanted:
        yield from element_comes(view, "cell", name)
        yield view.act("click", ref=view.find("cell", name)["ref"], modifiers=modifiers)
        modifiers = ["Control"]


def move(view: View, source: str, wanted: list[str], target: str) -> Moves:
    """Move entries of a folder into an empty one, by the clipboard, and show the first again."""
    yield from select(view, wanted)
    yield view.act("press", keys="Control+X")
    yield from go_to_folder(view, target)
    yield view.act("press", keys="Control+V")
    yield from until(view, lambda: set(wanted) <= _shown(view), f"{len(wanted)} entries")
    yield from go_to_folder(view, source)


def new_folder(view: View, name: str) -> Moves:
    """Make a folder in the one in front."""
    yield view.act("press", keys="Control+Shift+N")
    yield from window_comes(view, "Folder")
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=f"{name}\n")
    yield from until(view, lambda: focused_title(view).endswith(" - Thunar"), "the new folder")


def delete(view: View, wanted: Iterable[str]) -> Moves:
    """Delete entries of the folder in front for good."""
    yield from select(view, wanted)
    yield view.act("press", keys="Shift+Delete")
    yield from element_comes(view, "button", "Delete")
    yield view.click("button", "Delete")
    yield from until(view, lambda: not view.find_all("button", "Delete"), "the end of the dialog")


def text(view: View) -> str:
    """Return the text that the editor shows; of a long one, the tree has the beginning only.

    Raises:
        LookupError: There is no editor.
    """
    is_editor = False
    for node in view.nodes:
        if node.get("role") == "application":
            is_editor = node.get("name") == "mousepad"
        elif is_editor and node.get("role") == "textbox":
            return str(node.get("value", ""))
    raise LookupError("there is no text editor")


def replace_line(view: View, number: int, line: str) -> Moves:
    """Put another line in place of one of the editor's; the first has the number 0."""
    yield view.act("press", keys="Control+Home")
    # One action presses only so many keys.
    for start in range(0, number, 25):
        yield view.act("press", keys=" ".join(["Down"] * min(25, number - start)))
    yield view.act("press", keys="Home Shift+End")
    yield view.act("type", text=line)


def save_text(view: View) -> Moves:
    """Save the text of the editor in front, which has changes; its title tells whether it has."""
    yield from until(view, lambda: focused_title(view).startswith("*"), "a change")
    yield view.act("press", keys="Control+S")
    yield from until(view, lambda: not focused_title(view).startswith("*"), "the saved text")


def folder_of_archive(view: View) -> str:
    """Return the folder that xarchiver shows; empty for the top."""
    return str(field_after(view, "label", "Location:").get("value", ""))


def field_after(view: View, role: str, name: str) -> dict[str, Any]:
    """Return the text field that follows an element, such as its label.

    Raises:
        LookupError: There is no such element, or no field after it.
    """
    place = view.nodes.index(view.find(role, name))
    for node in view.nodes[place:]:
        if node.get("role") == "textbox":
            return node
    raise LookupError(f"no field follows {role} {name!r}")


def archive_folders(view: View) -> Generator[Action, None, list[str]]:
    """Go down the list of folders of xarchiver, and return them in their order."""
    found: list[str] = []
    yield view.act("press", keys="Down Home")
    while (here := folder_of_archive(view)) not in found:
        found.append(here)
        yield from _step(view, "Down")
    return found


def show_archive_folder(view: View, name: str) -> Moves:
    """Go up the list of folders of xarchiver to one of them.

    Raises:
        LookupError: The list has no such folder above the selected one.
    """
    while (here := folder_of_archive(view)) != name:
        yield from _step(view, "Up")
        if folder_of_archive(view) == here:
            raise LookupError(f"the archive has no folder {name}")


def _step(view: View, key: str) -> Moves:
    """Press a key in the list of folders; at its end nothing changes, however long one waits."""
    here = folder_of_archive(view)
    yield view.act("press", keys=key)
    if folder_of_archive(view) == here:
        yield view.act("wait", seconds=1)


def extract(view: View, member: str, folder: str) -> Moves:
    """Extract a file of the folder that xarchiver shows, by its dialog.

    Args:
        view: What is seen.
        member: Name of the file in the folder.
        folder: Where it is saved.
    """
    yield view.act("press", keys="Control+E")
    yield from window_comes(view, "^Extract files$")
    yield from element_comes(view, "button", "Cancel")
    yield view.act("type", ref=field_after(view, "label", "Extract to:")["ref"], text=folder)
    if view.find("checkbox", "Ensure a containing directory").get("checked"):
        yield view.click("checkbox", "Ensure a containing directory")
    yield view.click("radio", "Without any path")
    yield view.click("radio", "Files:")
    yield view.act("type", ref=field_after(view, "radio", "Files:")["ref"], text=member)
    yield view.act("click", ref=view.find_all("button", "Extract")[-1]["ref"])
    yield from window_goes(view, "^Extract files$")


def retype(view: View, wanted: str) -> Moves:
    """Put another text into the editor in front."""
    yield view.act("press", keys="Control+A")
    yield view.act("type", text=wanted)
    yield from until(view, lambda: text(view) == wanted, "the new text")


def maximize(view: View) -> Moves:
    """Make the window in front as large as the screen, by a double click on its title."""
    left, top, width, _ = _front(view)
    yield view.act("click", x=left + width // 2, y=top - 10, count=2)
    yield from until(view, lambda: _front(view)[2] > width, "the large window")


def _front(view: View) -> list[int]:
    """Return left, top, width and height of the window with the focus."""
    found = next((window for window in windows(view) if window["focused"]), {})
    return list(found.get("box", (0, 0, 0, 0)))
