"""Controls access to an environment served over HTTP, and bounds the size of a request.

Every user of a machine can reach its loopback addresses, so clients must send a bearer token
(RFC 6750) unless the server is started without one.
"""

from __future__ import annotations

import hmac
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentgym.records import bounds
from agentgym.session.accounts import Account, Quota
from agentgym.session.held import Held, HeldTooMuch

HELD_BYTES: Final = 128 * 2**20
"""Bytes of the requests of all clients that are being read or answered."""

MAX_BODY: Final = 4 * 2**20
"""Largest request in bytes; the arguments of a call have 1 MiB, and escapes make them longer."""


class Admission:
    """An application that answers only requests with the token, and none that are too large.

    Args:
        app: The application.
        token: Token in the header ``Authorization: Bearer …``; empty admits every client.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token
        self._clients = Account("clients", Quota(held_bytes=HELD_BYTES))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body, held = bytearray(), Held(self._clients)

        async def bounded() -> Message:
            message = await receive()
            body.extend(message.get("body", b""))
            whole = not message.get("more_body", False)
            try:
                held.add(len(message.get("body", b"")))
            except HeldTooMuch:
                return {"type": "http.disconnect"}
            # A body that grows too large is cut off, as if the client hung up, and so is one that
            # would take long to parse.
            if len(body) > MAX_BODY or (whole and bounds.is_too_rich(bytes(body))):
                return {"type": "http.disconnect"}
            if whole:
                body.clear()
            return message

        try:
            await self._app(scope, bounded, send)
        finally:
            held.let_go()

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        given = shown.strip().encode() if scheme.lower() == "bearer" else b""
        if self._token and not hmac.compare_digest(given, self._token.encode()):
            told = "expected the header 'Authorization: Bearer TOKEN'; the server printed the token"
            return PlainTextResponse(told, 401, {"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY:
            return PlainTextResponse(f"expected a body of at most {MAX_BODY} bytes", 413)
        return None
