"""Moves in the terminal: commands that are typed, and what they print."""

from __future__ import annotations

import re
from collections.abc import Generator

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import until, window_comes

_PRINTED = re.compile(r"(.*?)^end of (\d+)$", re.DOTALL | re.MULTILINE)


def text(view: View) -> str:
    """Return what the terminal shows."""
    shown = view.find_all("terminal")
    return str(shown[0].get("value", "")) if shown else ""


def run(view: View, command: str) -> Generator[Action, None, str]:
    """Run a command in the terminal in front, and return what it prints, at most a screen.

    A mark is printed at its end, with a number that the shell works out: neither the typed line
    nor the end of an earlier command has it.
    """
    yield from window_comes(view, "Terminal")
    number = _printed(view)[1] + 1
    yield view.act("type", text=f"clear; {command}; echo end of $(({number}+0))\n")
    yield from until(view, lambda: _printed(view)[1] == number, f"the end of {command!r}")
    return _printed(view)[0]


def _printed(view: View) -> tuple[str, int]:
    """Return what the latest command has printed, and the number of its end; 0 if none shows."""
    found = _PRINTED.match(text(view))
    return (found[1], int(found[2])) if found else ("", 0)
