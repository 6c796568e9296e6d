"""Consoles of the command line: colours and folding on a terminal, plain whole lines elsewhere."""

from __future__ import annotations

import sys

from rich.console import Console

_PIPED_WIDTH = 500
"""Wide enough that no line is folded or cut where a program reads it."""


def stdout_console() -> Console:
    """Return a console for what a command was asked to print."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return Console(width=width, highlight=False)


def stderr_console() -> Console:
    """Return a console for progress and remarks."""
    return Console(stderr=True, highlight=False)
