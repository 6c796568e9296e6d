"""The command line: one module a command, and one place where errors become words.

Exit codes: 0 it ran, 1 it could not run, 2 what was typed is wrong, 3 it ran and episodes are
missing from its numbers, 130 it was interrupted, 143 it was told to terminate.
"""

from __future__ import annotations

import io
import os
import sys

from agentgym.errors import AgentGymError, ConfigError

UNSCORED = 3
"""Exit code of an evaluation some of whose episodes have no score."""


def main() -> None:
    """Run the `agentgym` command."""
    from agentgym.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # else somebody has put their own in its place
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="agentgym")
    except AgentGymError as error:
        if os.environ.get("AGENTGYM_DEBUG"):
            raise
        complain(error)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except BrokenPipeError:
        _leave_quietly()
    finally:
        _flush()


def complain(error: AgentGymError) -> None:
    """Print an error on stderr, in red where that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    from agentgym.eval.printable import clean

    Console(stderr=True).print(Text(clean(f"error: {error}"), "red"), soft_wrap=True)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_quietly()


def _leave_quietly() -> None:
    # The reader of our output has gone, as `head` does. What is still buffered has to go
    # somewhere, or the interpreter complains about it when it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
