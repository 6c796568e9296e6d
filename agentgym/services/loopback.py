"""Protects servers on 127.0.0.1 from browsers: checks the host and the origin of requests.

A page in a browser can reach loopback addresses, under a name of its own if its DNS says so (DNS
rebinding). The transport section of MCP asks servers to refuse such origins.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agentgym.errors import ServiceError
from agentgym.records import Reply

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Loopback:
    """An application that answers only requests with a loopback host and no other site's origin.

    Args:
        app: The application; other requests are answered 403, code ``forbidden``, before it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        error = _refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if error is None:
            await self._app(scope, receive, send)
            return
        body = Reply(error=error).json
        await Response(body, 403, media_type="application/json")(scope, receive, send)


def _refusal(headers: Headers) -> ServiceError | None:
    seen = {"host": [f"//{host}" for host in headers.getlist("host")] or ["//"],
            "origin": headers.getlist("origin")}  # fmt: skip
    for field, addresses in seen.items():
        for address in addresses:
            if _host(address) not in LOOPBACK:
                told = address.removeprefix("//")[:80]
                return ServiceError(
                    "forbidden", f"expected one of {', '.join(LOOPBACK)}, got {told!r}", field
                )
    return None


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
