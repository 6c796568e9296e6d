"""The address of an MCP server: a command or a URL, with its variables and time limits."""

from __future__ import annotations

import os
import shlex
import string
from dataclasses import dataclass

from agentgym.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and its time limits.

    Attributes:
        command: Command that starts it on this machine with this user's rights; empty with a URL.
        url: URL of its streamable HTTP endpoint; empty with a command.
        env: Variables of the command besides PATH, HOME, TMPDIR and those of `inherited`; ``$NAME``
            stands for a variable of this process.
        headers: Headers of every HTTP request; ``$NAME`` is replaced alike.
        start_s: Seconds until it must have answered the handshake and listed its tools.
        call_s: Longest time of a call, in seconds.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    start_s: float = 60.0
    call_s: float = 60.0

    def __str__(self) -> str:
        return self.url or shlex.join(self.command)


def read_place(text: str) -> tuple[tuple[str, ...], str]:
    """Return the command or the URL that a user wrote as one string; the other one is empty.

    Example:
        >>> read_place("uvx mcp-server-time --local-timezone 'Europe/Paris'")
        (('uvx', 'mcp-server-time', '--local-timezone', 'Europe/Paris'), '')

    Raises:
        ConfigError: The string is neither a command nor a URL.
    """
    if text.startswith(("http://", "https://")):
        return (), text
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"mcp: {text!r} is not a command line: {error}") from None
    if not command:
        raise ConfigError("mcp: expected a command or a URL (http://…), got nothing")
    return command, ""


def filled(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the pairs as a dict in which variables of this process replace ``$NAME``.

    Raises:
        ConfigError: A variable is not set, or a dollar sign stands alone.
    """
    found = {}
    for name, value in pairs:
        try:
            found[name] = string.Template(value).substitute(os.environ)
        except (KeyError, ValueError) as error:
            raise ConfigError(
                f"mcp: {name} = {value!r}: expected the names of variables that are set, "
                f"got {error}; set it, or write $$ for a dollar sign"
            ) from None
    return found
