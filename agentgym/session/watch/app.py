"""The ASGI application of the page.

=========================  ======================================================================
``GET /``                  the page, with ``/watch.js`` and ``/watch.css``; needs no token
``GET /events?after=N``    the events after the first N, as JSON; waits a while for one
``GET /frame?number=N``    a picture, as PNG
``POST /control``          ``{"person": true}`` takes over, false hands back
``POST /act``              one action, as ``{"tool": …, "arguments": …}``
=========================  ======================================================================

All but the page itself need the header ``Authorization: Bearer TOKEN`` and a ``Host`` that the
server was told, so no other site that a browser shows can ask for anything.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib.resources import files
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from agentgym.errors import ActionError
from agentgym.session.watch.live import Live, action_of

Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

_WAIT_S: Final = 8.0
_MOST_BYTES: Final = 256 * 1024
_MOST_EVENTS: Final = 200
_PAGE: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/watch.js": ("watch.js", "text/javascript; charset=utf-8"),
    "/watch.css": ("watch.css", "text/css; charset=utf-8"),
}
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class _Refused(Exception):
    """A request that gets an error.

    Attributes:
        status: Its status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WatchApp:
    """Answers the requests of pages.

    Args:
        live: The episode.
        token: Token that pages show.
        hosts: Names in the header ``Host`` that are answered, beside the address of the server.
    """

    def __init__(self, live: Live, token: str, hosts: frozenset[str]) -> None:
        self._live, self._token, self._hosts = live, token, hosts

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            # A server closes a WebSocket that is not accepted.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            kind, body = await self._answer(scope, receive)
            await _reply(send, 200, kind, body)
        except _Refused as refused:
            await _reply(send, refused.status, "text/plain; charset=utf-8", str(refused).encode())

    async def stop(self) -> None:
        """Do nothing: the episode ends by itself."""

    def _is_own(self, host: str, scope: Event) -> bool:
        """Return whether a `Host` is a name of this server, or the address of the connection."""
        address, port = scope["server"]
        name = host.removesuffix(f":{port}")
        return name in {*self._hosts, f"[{address}]" if ":" in address else address}

    async def _answer(self, scope: Event, receive: Receive) -> tuple[str, bytes]:
        method, path = scope["method"], scope["path"]
        headers = {bytes(name): bytes(value) for name, value in scope["headers"]}
        if not self._is_own(headers.get(b"host", b"").decode("latin-1").lower(), scope):
            raise _Refused(421, "this server has another name")
        if method == "GET" and path in _PAGE:
            name, kind = _PAGE[path]
            return kind, (files(__package__) / "page" / name).read_bytes()
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(shown, self._token.encode()):
            raise _Refused(401, "expected the token; open the address that the command printed")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if (method, path) == ("GET", "/events"):
            known = await self._live.after(_number(query, "after"), _WAIT_S)
            return "application/json", json.dumps(known[:_MOST_EVENTS]).encode()
        if (method, path) == ("GET", "/frame"):
            frame = self._live.frame(_number(query, "number"))
            if frame is None:
                raise _Refused(404, "this picture is not kept")
            return "image/png", frame
        if (method, path) == ("POST", "/control"):
            told = await _body(receive)
            if not isinstance(told, dict) or not isinstance(told.get("person"), bool):
                raise _Refused(400, 'expected {"person": true} or {"person": false}')
            try:
                self._live.take_over(person=told["person"])
            except ActionError as error:
                raise _Refused(409, str(error)) from None
            return "application/json", b"{}"
        if (method, path) == ("POST", "/act"):
            told = await _body(receive)
            try:
                self._live.act(action_of(told))
            except ActionError as error:
                raise _Refused(409, str(error)) from None
            return "application/json", b"{}"
        raise _Refused(404, "there is nothing here")


def _number(query: Mapping[str, list[str]], name: str) -> int:
    (text,) = query.get(name, ["0"])[:1]
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise _Refused(400, f"{name}: expected a number")
    return int(text)


async def _body(receive: Receive) -> Any:
    """Return the JSON of a request."""
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Refused(400, "the client has left")
        data += message.get("body", b"")
        if len(data) > _MOST_BYTES:
            raise _Refused(413, f"expected a body of at most {_MOST_BYTES} bytes")
        if not message.get("more_body"):
            break
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise _Refused(400, "expected JSON") from None


async def _reply(send: Send, status: int, kind: str, body: bytes) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
