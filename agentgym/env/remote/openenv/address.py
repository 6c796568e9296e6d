"""Addresses of servers of OpenEnv."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from agentgym.env.remote.address import is_loopback
from agentgym.errors import ConfigError

PREFIX: Final = "openenv+"
"""Beginning of an address of OpenEnv: ``openenv+http://127.0.0.1:8000``."""

_SCHEMES: Final = {"http": "http", "ws": "http", "https": "https", "wss": "https"}


@dataclass(frozen=True, slots=True)
class OpenEnvAddress:
    """The address of a server of OpenEnv; `parse` reads it.

    Attributes:
        url: Such as ``"http://127.0.0.1:8000"``, with a path where the server is below one.
        authorization: Value of the header ``Authorization``; empty for none.
        call_s: Seconds until a call without an answer fails.
        trust: Certificates to trust in place of the system's.
    """

    url: str
    authorization: str = field(default="", repr=False)
    call_s: float = 900.0
    trust: ssl.SSLContext | None = None

    @classmethod
    def parse(
        cls, given: str, token: str = "", call_s: float = 900.0, trust: ssl.SSLContext | None = None
    ) -> OpenEnvAddress:
        """Read an address such as ``"openenv+http://127.0.0.1:8000"``.

        Args:
            given: The address; ``https``, ``ws`` and ``wss`` may stand for ``http``. A user and a
                password in it are sent as OpenEnv's own client sends them.
            token: Token that is sent as ``Bearer``; it wins over the password.
            call_s: Seconds until a call without an answer fails.
            trust: Certificates to trust in place of the system's.

        Raises:
            ConfigError: It is no such address.
        """
        shown = given.rpartition("@")[2]
        wrong = ConfigError(
            f"server: expected an address such as '{PREFIX}http://127.0.0.1:8000', "
            f"got {shown!r:.200}"
        )
        try:
            parts = urlsplit(given.removeprefix(PREFIX))
            host, port, scheme = parts.hostname, parts.port, _SCHEMES.get(parts.scheme)
        except ValueError:
            raise wrong from None
        if not given.startswith(PREFIX) or not host or scheme is None or parts.query:
            raise wrong
        place = f"[{host}]" if ":" in host else host
        netloc = place if port is None else f"{place}:{port}"
        said = f"Bearer {token}" if token else ""
        if not said and parts.password is not None:
            pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
            said = f"Basic {base64.b64encode(pair.encode()).decode()}"
        url = urlunsplit((scheme, netloc, parts.path.rstrip("/"), "", ""))
        return cls(url, said, call_s, trust)

    @property
    def endpoint(self) -> str:
        """The address of the WebSocket."""
        return f"ws{self.url.removeprefix('http')}/ws"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"Authorization": self.authorization} if self.authorization else {}

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(self.url)
