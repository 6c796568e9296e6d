"""The ASGI application of an environment server.

==========================  =====================================================================
``GET /health``             whether the server takes new sessions; needs no token
``GET /metrics``            the counts of `Metrics`
``GET /v1/schema``          the JSON Schemas of all messages; needs no token
``POST /v1/call``           one message, answered by one; the header ``Agentgym-Session`` has the
                            resume token
``/v1/session``             a session over WebSocket
``/openenv/ws``            a session over WebSocket for a client of OpenEnv
==========================  =====================================================================
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from agentgym import __version__
from agentgym.env.remote import wire
from agentgym.errors import AgentError
from agentgym.records.bounds import weight_of
from agentgym.session import direct as direct_messages
from agentgym.session import openenv, requests
from agentgym.session.accounts import Account, Accounts, Quota
from agentgym.session.answers import Failure, FailureCode
from agentgym.session.bounds import ServerBounds
from agentgym.session.held import Held, HeldTooMuch
from agentgym.session.metrics import CONTENT_TYPE, Metrics
from agentgym.session.requests import Requests
from agentgym.session.rich_messages import RichMessages
from agentgym.session.server import SessionServer
from agentgym.session.websocket import WebSocketSessions

Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

SESSION: Final = b"agentgym-session"
"""Header of a request with the resume token of its session."""

_STATUS: Final[dict[str, int]] = {
    requests.BAD_MESSAGE: 400,
    requests.VERSION: 400,
    requests.TOO_FAST: 429,
    requests.USED_UP: 429,
    FailureCode.INVALID: 400,
    FailureCode.FORBIDDEN: 403,
    FailureCode.UNKNOWN_SESSION: 404,
    FailureCode.UNKNOWN_EPISODE: 404,
    FailureCode.TOO_MANY: 429,
    FailureCode.NUMBER_TAKEN: 409,
    FailureCode.FORGOTTEN: 410,
    FailureCode.LATE: 202,
}
"""HTTP status of a message with an error; 200 for those that tell the end of an episode."""

_NO_TOKEN: Final = "expected the header 'Authorization: Bearer TOKEN' with a token of this server"
_JSON: Final = "application/json"


class EnvironmentApp:
    """Offers a server's sessions over WebSocket and HTTP.

    Args:
        sessions: The sessions.
        accounts: Who may use them.
        bounds: The bounds of connections.

    Attributes:
        metrics: What it has done.
    """

    def __init__(self, sessions: SessionServer, accounts: Accounts, bounds: ServerBounds) -> None:
        self.metrics = Metrics()
        terms = sessions.config
        accounts.share(
            Quota(
                sessions=terms.max_sessions,
                episodes=terms.max_live,
                connections=bounds.connections,
                held_bytes=bounds.held_bytes,
            )
        )
        self._sessions, self._accounts, self._bounds = sessions, accounts, bounds
        self._requests = Requests(sessions, bounds, self.metrics)
        self._rich = RichMessages()
        self._websocket = WebSocketSessions(self._requests, bounds, self.metrics, self._rich)
        self._openenv = openenv.OpenEnvConnections(sessions, bounds, self.metrics, self._rich)

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Answer a request, or serve a WebSocket connection."""
        headers = {name.lower(): value for name, value in scope.get("headers", ())}
        shown = headers.get(b"authorization", b"").decode("latin-1")
        if scope["path"] == openenv.PATH:
            shown = openenv.bearer_of(shown)
        account = self._accounts.find(shown)
        if scope["type"] == "websocket":
            await self._connect(scope, account, headers, receive, send)
        elif scope["type"] == "http":
            status, kind, body = await self._answer(scope, account, headers, receive)
            extra = {b"www-authenticate": b"Bearer"} if status == 401 else {}
            await _respond(send, "http.response", status, kind, body, extra)

    async def stop(self) -> None:
        """End every session because the server ends, and then their connections."""
        await self._sessions.stop()
        await self._websocket.stop()
        await self._openenv.stop()

    async def cut_short(self) -> None:
        """End what every session does, for a second signal; see `Session.cut_short`."""
        await self._sessions.cut_short(AgentError("the server was stopped"))

    async def _connect(
        self,
        scope: Event,
        account: Account | None,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
    ) -> None:
        refusal = (401, _NO_TOKEN) if account is None else None
        is_openenv = scope["path"] == openenv.PATH
        if not is_openenv and scope["path"] != wire.PATH:
            refusal = (404, f"expected the path {wire.PATH} or {openenv.PATH}")
        elif account is not None and (
            self._is_foreign_page(headers)
            # A browser sends the password of an address by itself, for any page.
            or (is_openenv and b"origin" in headers)
        ):
            refusal = (403, "this server takes no connections from web pages")
        elif account is not None and not account.may_connect:
            refusal = (429, _has_all_connections(account))
        if refusal is None:
            assert account is not None
            direct = (scope.get("extensions") or {}).get(direct_messages.NAME)
            if direct is not None:
                direct.belong_to(account)
            account.connections += 1
            try:
                if is_openenv:
                    await self._openenv.serve(account, receive, send, direct)
                else:
                    await self._websocket.serve(account, receive, send, direct)
            finally:
                account.connections -= 1
            return
        status, told = refusal
        self.metrics.refused += status == 401
        await receive()
        await _respond(send, "websocket.http.response", status, "text/plain", told.encode(), {})

    def _is_foreign_page(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a browser asks, and no token protects the server from its pages."""
        return self._accounts.are_open and b"origin" in headers

    async def _answer(
        self,
        scope: Event,
        account: Account | None,
        headers: dict[bytes, bytes],
        receive: Receive,
    ) -> tuple[int, str, bytes]:
        """Return the status, the content type and the body that answer a request."""
        method, path = scope["method"], scope["path"]
        if (method, path) == ("GET", "/health"):
            return self._health()
        if (method, path) == ("GET", "/v1/schema"):
            return 200, _JSON, _schemas()
        if (method, path) not in (("GET", "/metrics"), ("POST", "/v1/call")):
            return 404, "text/plain", b"expected /health, /metrics, /v1/schema or POST /v1/call"
        if account is None:
            self.metrics.refused += 1
            return 401, "text/plain", _NO_TOKEN.encode()
        if self._is_foreign_page(headers):
            return 403, "text/plain", b"this server answers no web pages"
        if path == "/metrics":
            counted = self.metrics.text(
                sessions=self._sessions.open_sessions, episodes=self._sessions.live
            )
            return 200, CONTENT_TYPE, counted.encode()
        if not account.may_connect:
            return 429, "text/plain", _has_all_connections(account).encode()
        account.connections += 1
        held = Held(account)
        try:
            body = await self._body(headers, receive, held)
            if body is None:
                told = f"expected a message of at most {self._bounds.message_bytes} bytes"
                return 413, "text/plain", told.encode()
            return await self._call(account, body, headers.get(SESSION, b"").decode("latin-1"))
        except HeldTooMuch as error:
            return 429, "text/plain", str(error).encode()
        finally:
            held.let_go()
            account.connections -= 1

    def _health(self) -> tuple[int, str, bytes]:
        stopped = self._sessions.is_stopped
        told = {"status": "stopping" if stopped else "ok", "server": f"agentgym {__version__}"}
        return 503 if stopped else 200, _JSON, json.dumps(told).encode()

    async def _body(
        self, headers: dict[bytes, bytes], receive: Receive, held: Held
    ) -> bytes | None:
        """Return the body of a request, None if it is too large."""
        bound, parts, size = self._bounds.message_bytes, [], 0
        told = headers.get(b"content-length", b"0")
        if not told.isdigit() or int(told[:20]) > bound:
            return None
        while True:
            event = await receive()
            part = event.get("body", b"")
            size += len(part)
            if size > bound:
                return None
            held.add(len(part))
            parts.append(part)
            if event["type"] != "http.request" or not event.get("more_body"):
                return b"".join(parts)

    async def _call(self, account: Account, body: bytes, token: str) -> tuple[int, str, bytes]:
        """Answer one message."""
        began_s = time.perf_counter()
        self.metrics.received_bytes += len(body)
        picture = b""
        await self._rich.wait(account, len(body), weight_of(body))
        request, message = self._requests.read(account, body)
        if isinstance(request, wire.Hello):
            greeted, message = self._requests.greet("http", account, request)
            if greeted is not None:
                message = greeted.welcome
        elif request is not None:
            session = self._sessions.find(token, account)
            if isinstance(session, Failure):
                message = {
                    "type": "error",
                    "call": request.call,
                    "code": session.code,
                    "message": f"header Agentgym-Session: {session.message}",
                }
            else:
                answering = self._requests.answer(session, request, "png")
                message, picture = await asyncio.shield(answering)
        assert message is not None
        if picture:
            message["observation"]["image"]["base64"] = base64.b64encode(picture).decode()
        status = _STATUS.get(message.get("code", ""), 200)
        answer = json.dumps(message, separators=(",", ":"), default=dict).encode()
        self.metrics.sent_bytes += len(answer)
        self.metrics.count_seconds(time.perf_counter() - began_s)
        return status, _JSON, answer


def _has_all_connections(account: Account) -> str:
    told = f"account {account.name!r} has {account.connections} connections"
    return f"{told}; close one, or come back later"


@functools.cache
def _schemas() -> bytes:
    """Return the schemas as JSON; anyone may ask for them at any rate."""
    return json.dumps(wire.schemas()).encode()


async def _respond(
    send: Send, kind: str, status: int, content: str, body: bytes, extra: dict[bytes, bytes]
) -> None:
    headers = [(b"content-type", content.encode()), (b"content-length", str(len(body)).encode())]
    headers += list(extra.items())
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
