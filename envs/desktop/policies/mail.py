"""Moves in Claws Mail: the mails of a folder, which its tree does not list, and their parts."""

from __future__ import annotations

import re

from agentgym.task.reference_policy import View

from .moves import Moves, element_comes, told, until, window_comes, window_goes
from .pictures import name_file

__all__ = [
    "element_comes",
    "open_folder",
    "open_mail",
    "reply",
    "save_last_part",
    "send_later",
    "text",
    "told",
    "total",
]

_FIRST_PX, _PITCH_PX = 163, 17
_FOLDERS, _MAILS = 88, 330
_COMPOSED = "Compose message"


def open_folder(view: View, place: int) -> Moves:
    """Open a folder by its place below the mailbox, from 1 on, and wait for its mails."""
    yield from window_comes(view, "Claws Mail")
    yield view.act("click", x=_FOLDERS, y=_FIRST_PX + _PITCH_PX * place)
    yield from until(view, lambda: total(view) > 0, "the mails of the folder")


def total(view: View) -> int:
    """Return how many mails the folder in front has."""
    counts = view.find_all("label", re.compile(r".*\b\d+ total.*"))
    found = re.search(r"(\d+) total", str(counts[0]["name"])) if counts else None
    return int(found[1]) if found else 0


def text(view: View) -> str:
    """Return what is shown of a mail, with its header."""
    shown = view.find_all("textbox", readonly=True)
    return str(shown[0].get("value", "")) if shown else ""


def open_mail(view: View, place: int) -> Moves:
    """Show a mail by its place in the list, from 0 on."""
    before = text(view)
    yield view.act("click", x=_MAILS, y=_FIRST_PX + _PITCH_PX * place)

    def is_shown() -> bool:
        return text(view) != before and text(view).startswith("From:")

    yield from until(view, is_shown, f"mail {place}")


def save_last_part(view: View, path: str) -> Moves:
    """Save the last part of the mail that is shown, an attachment."""
    parts = view.find_all("drawing-area")
    last = max(parts, key=lambda node: node["box"][1])
    yield view.act("click", ref=last["ref"])
    yield from until(view, lambda: "Shortcut key: 'Y'" in text(view), "the part")
    yield view.act("press", keys="y")
    yield from name_file(view, "^Save as", path)
    yield from window_goes(view, "^Save as")


def reply(view: View, lines: list[str]) -> Moves:
    """Begin an answer to the mail that is shown, and put lines in place of what it quotes.

    The program breaks lines that are too long, so only the words of the text are looked at.
    """
    yield view.act("press", keys="Control+R")
    yield from window_comes(view, _COMPOSED)
    yield from until(view, lambda: "wrote:" in _body(view), "the quoted mail")
    yield view.act("press", keys="Control+A")
    yield view.act("type", text="\n".join(lines) + "\n")
    words = " ".join(lines).split()
    yield from until(view, lambda: _body(view).split() == words, "the text of the answer")


def send_later(view: View) -> Moves:
    """Put the mail that is being written into the queue."""
    yield view.click("button", "Send later")
    yield from window_goes(view, _COMPOSED)


def _body(view: View) -> str:
    """Return the text of the mail that is being written, if it has the focus."""
    fields = view.find_all("textbox", focused=True)
    return str(fields[-1].get("value", "")) if fields else ""
