"""Messages of a WebSocket connection that skip the queue of its ASGI application.

ASGI hands on each message through a queue, a task and several calls, which cost more than a step of
a small environment. The extension `NAME` of a connection's scope holds `DirectMessages`: what comes
whole in one read is handed on within that read, and an answer is written at once if the client
keeps up. Everything else goes the usual way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from agentgym.session.accounts import Account

NAME: Final = "agentgym.direct_messages"
"""Name of the extension in a scope."""

TOO_LARGE: Final = "too_large"
"""Key of an event in place of a message that is too large; its value is how the message begins."""

Take: TypeAlias = Callable[[str], bool]
"""Takes a message, or refuses it; a refused one goes the usual way."""


class DirectMessages(Protocol):
    """A connection that hands messages on at once, and writes them at once."""

    def belong_to(self, account: Account) -> None:
        """Count what the connection holds for its account; beyond its quota it is closed."""
        ...

    def hand_to(self, take: Take) -> None:
        """Hand every later text to a function, unless earlier ones wait in the queue."""
        ...

    def tell_too_large(self) -> None:
        """Put the beginning of a message that is too large into the queue, and go on after it."""
        ...

    def write_now(self, frame: str | bytes) -> bool:
        """Write a text or binary message if the connection takes it at once; return whether."""
        ...
