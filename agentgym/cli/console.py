"""Consoles of the command line: colours and folding on a terminal, plain whole lines elsewhere.

Whatever a command prints passes here, and here texts lose what a terminal would obey. Names of
tools, errors, files and models come from agents and strangers, and no caller has to think of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from agentgym.eval.printable import clean

_PIPED_WIDTH = 500
"""Wide enough that no line is folded or cut where a program reads it."""


class CleanConsole(Console):
    """A console whose texts cannot steer the terminal; colours and cursor are its own alone."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of something printable, their texts made safe to show."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(clean(segment.text), segment.style)
            else:
                yield segment


def stdout_console() -> Console:
    """Return a console for what a command was asked to print."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return CleanConsole(width=width, highlight=False)


def stderr_console() -> Console:
    """Return a console for progress and remarks."""
    return CleanConsole(stderr=True, highlight=False)


def echo(text: str) -> None:
    """Print a line as it is, without folding, but for what a terminal would obey."""
    print(clean(text))
