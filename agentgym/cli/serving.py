"""The lines that `agentgym serve` prints, and the token that it tells its user."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], None]


def printer() -> Tell:
    """Return what prints a line on standard error, because the protocol uses standard output."""
    from agentgym.cli.console import stderr_console

    console = stderr_console()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    return say


def choose_token(say: Tell) -> str:
    """Return the token that clients must send; a generated token is printed, once."""
    from agentgym.session.accounts import VARIABLE, new_token

    if chosen := os.environ.get(VARIABLE, "").strip():
        say(f"clients send the token of ${VARIABLE}: Authorization: Bearer …")
        return chosen
    token = new_token()
    say(f"clients send this header: Authorization: Bearer {token}")
    return token
