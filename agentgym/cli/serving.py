"""The lines that `agentgym serve` prints, and the token that it tells its user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from agentgym.cli.console import Tell


def printer() -> Tell:
    """Return what prints a line on standard error, because the protocol uses standard output."""
    from agentgym.cli.console import stderr_console, teller

    return teller(stderr_console())


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
