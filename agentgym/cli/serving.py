"""The lines that `agentgym serve` prints, and the token that it tells its user."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

from agentgym.errors import ConfigError

Tell: TypeAlias = Callable[[str], None]


def printer() -> Tell:
    """Return what prints a line on standard error, because the protocol uses standard output."""
    from agentgym.cli.console import stderr_console

    console = stderr_console()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    return say


def choose_token(say: Tell) -> str:
    """Return the token that clients must send; a generated token is printed, once.

    Raises:
        ConfigError: The token that the user chose is too short.
    """
    from agentgym.session.accounts import SHORTEST_TOKEN, VARIABLE, new_token

    if chosen := os.environ.get(VARIABLE, "").strip():
        if len(chosen) < SHORTEST_TOKEN:
            raise ConfigError(
                f"${VARIABLE} has {len(chosen)} characters; expected at least {SHORTEST_TOKEN}, "
                "which nobody can guess, or unset it for a token that is printed"
            )
        say(f"clients send the token of ${VARIABLE}: Authorization: Bearer …")
        return chosen
    token = new_token()
    say(f"clients send this header: Authorization: Bearer {token}")
    return token
