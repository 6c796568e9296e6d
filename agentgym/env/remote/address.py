"""Addresses of environment servers."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from agentgym.env.remote import wire
from agentgym.errors import ConfigError

TOKEN_VARIABLE: Final = "AGENTGYM_SERVE_TOKEN"
"""Environment variable with the token of a server."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the terms of calls to it.

    Attributes:
        url: Such as ``"ws://127.0.0.1:8765"``; ``wss://`` for TLS.
        token: Token of an account, empty if the server asks for none.
        name: Name under which the episodes are recorded.
        call_s: Seconds until a call without an answer fails.
        reconnect_s: Seconds for which a dropped connection is tried again.
        trust: Certificates to trust in place of the system's, for ``wss://``.
    """

    url: str
    token: str = ""
    name: str = ""
    call_s: float = 900.0
    reconnect_s: float = 60.0
    trust: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            known = parts.scheme in ("ws", "wss") and bool(parts.hostname)
        except ValueError:
            known = False
        if not known or parts.query or parts.fragment or parts.username:
            raise ConfigError(
                f"server: expected an address such as 'ws://127.0.0.1:8765', got {self.url!r:.200}"
            )

    @property
    def endpoint(self) -> str:
        """The address of the WebSocket."""
        return self.url.rstrip("/") + wire.PATH

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(self.url)


def is_loopback(url: str) -> bool:
    """Return whether a URL names this machine."""
    return urlsplit(url).hostname in _LOOPBACK
