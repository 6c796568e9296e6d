"""Consoles of the command line: colours and folding on a terminal, plain whole lines elsewhere.

Every output of a command passes through here and loses terminal control sequences. Names of tools,
errors, files and models come from agents and other untrusted sources; callers need not escape them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from rich.console import Console

from agentgym.eval.clean_console import CleanConsole
from agentgym.eval.printable import clean

Tell: TypeAlias = Callable[[str], None]
"""Prints a line."""

_PIPED_WIDTH = 500
"""Width in columns at which no line is folded or cut if a program reads it."""


def stdout_console() -> Console:
    """Return a console for the requested output of a command."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return CleanConsole(width=width, highlight=False)


def stderr_console() -> Console:
    """Return a console for progress and remarks."""
    return CleanConsole(stderr=True, highlight=False)


def teller(console: Console) -> Tell:
    """Return a function that prints a line on a console as it is, without folding."""

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    return tell


def echo(text: str, *, is_error: bool = False) -> None:
    """Print a line without folding, and without terminal control sequences."""
    print(clean(text), file=sys.stderr if is_error else sys.stdout, flush=True)


def ask(prompt: str) -> str:
    """Return a line of standard input, after a prompt without terminal control sequences."""
    return input(clean(prompt))
