"""Consoles of the command line: colours and folding on a terminal, plain whole lines elsewhere.

Every output of a command passes through here and loses terminal control sequences. Names of tools,
errors, files and models come from agents and other untrusted sources; callers need not escape them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from agentgym.eval.printable import clean

_PIPED_WIDTH = 500
"""Width in columns at which no line is folded or cut if a program reads it."""


class CleanConsole(Console):
    """A console that escapes the texts it prints, so that they cannot control the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of a printable object, with texts escaped for display."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(clean(segment.text), segment.style)
            else:
                yield segment


def stdout_console() -> Console:
    """Return a console for the requested output of a command."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return CleanConsole(width=width, highlight=False)


def stderr_console() -> Console:
    """Return a console for progress and remarks."""
    return CleanConsole(stderr=True, highlight=False)


def echo(text: str) -> None:
    """Print a line without folding, and without terminal control sequences."""
    print(clean(text))
