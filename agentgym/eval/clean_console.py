"""A console that a text of an agent or a stranger cannot control."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from agentgym.eval.printable import clean


class CleanConsole(Console):
    """A console that escapes the texts it prints, so that they cannot control the terminal.

    Brackets are no markup, and names of emoji between colons stay as they are: ``openai:m:`` is an
    agent, and ``[/x]`` may be the name of a task.
    """

    def __init__(self, **options: Any) -> None:
        """Make a console with options of `rich.console.Console`."""
        super().__init__(**{"emoji": False, "markup": False, **options})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of a printable object, with texts escaped for display."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(clean(segment.text), segment.style)
            else:
                yield segment
