"""Services over HTTP: ``POST /tools/<name>`` with the arguments as a JSON object.

The answer is the envelope of every transport, with a status that fits the error's code. OpenAPI 3.1
at ``/openapi.json`` describes the tools; pictures are at ``/images/<name>``. The audit cannot be
reached from here, and the serving process fixes the actor of all calls.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentgym.errors import ServiceError
from agentgym.installation import missing_extra
from agentgym.records import Actor, Reply
from agentgym.services.backend import Backend
from agentgym.services.dispatch import MAX_CHARACTERS
from agentgym.services.openapi import STATUS, openapi

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from agentgym.services.accepting import ACCEPTED_AT_ONCE, AcceptingServer
    from agentgym.services.loopback import Loopback
except ImportError as error:
    raise missing_extra("starlette or uvicorn", "mcp") from error


def http_app(backend: Backend, actor: Actor = "agent") -> Starlette:
    """Return an ASGI application.

    Args:
        backend: The services to offer.
        actor: Actor of the calls.
    """

    async def call(request: Request) -> Response:
        tool = request.path_params["tool"]
        try:
            arguments = await _arguments(request)
        except ServiceError as error:
            return _answer(Reply(error=error))
        # A call takes less time than handing it to a thread would.
        return _answer(backend.call(tool, arguments, actor))

    async def picture(request: Request) -> Response:
        image = backend.images.get(request.path_params["name"])
        if image is None:
            return _answer(Reply(error=ServiceError("not_found", "no such image")))
        return Response(image.data, media_type=image.mime)

    async def description(request: Request) -> Response:
        return Response(json.dumps(openapi(backend.services)), media_type="application/json")

    return Starlette(
        routes=[
            Route("/tools/{tool}", call, methods=["POST"]),
            Route("/images/{name}", picture, methods=["GET"]),
            Route("/openapi.json", description, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _misdirected},
    )


@contextmanager
def serve_http(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Serve an application on 127.0.0.1 from a thread of its own.

    Requests that name another host, or come from a page of another site, are answered 403.

    Args:
        app: Application returned by `http_app` or `agentgym.services.mcp.mcp_app`.
        port: TCP port; 0 for a free one.

    Yields:
        The address, ``http://127.0.0.1:<port>``.
    """
    listening = listen(port)
    started = threading.Event()
    server = _Server(
        uvicorn.Config(
            Loopback(app),
            log_level="error",
            access_log=False,
            lifespan="auto",
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
        )
    )
    server.on_start = started
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not started.wait(0.05):
            if not thread.is_alive():
                raise ServiceError("unavailable", "the HTTP server ended while it was starting")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def listen(port: int = 0) -> socket.socket:
    """Return a socket that listens on 127.0.0.1.

    Args:
        port: TCP port; 0 for a free one.

    Raises:
        OSError: The port is taken.
    """
    # asyncio turns Nagle's delay off only if the protocol is told.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError:
        listening.close()
        raise
    listening.listen(128)
    return listening


class _Server(AcceptingServer):
    """A server that signals when it is listening."""

    on_start: threading.Event

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and signal it."""
        await super().startup(sockets)
        self.on_start.set()


async def _arguments(request: Request) -> Any:
    size, parts = 0, []
    try:
        async for part in request.stream():
            size += len(part)
            # An escape may take six bytes for one; the dispatcher enforces the exact bound.
            if size > 6 * MAX_CHARACTERS:
                raise ServiceError("invalid", f"the body is longer than {6 * MAX_CHARACTERS} bytes")
            parts.append(part)
        return json.loads(b"".join(parts) or b"{}")
    except (ValueError, RecursionError, ClientDisconnect) as error:
        raise ServiceError("invalid", f"the body is not JSON: {error}") from None


async def _misdirected(request: Request, error: Exception) -> Response:
    """Answer a request that matches no tool, in the envelope of every other answer."""
    assert isinstance(error, HTTPException)
    known = "POST /tools/NAME, GET /images/NAME, GET /openapi.json"
    seen = f"{request.method} {request.url.path}"[:80]
    code = "not_found" if error.status_code == 404 else "invalid"
    reply = Reply(error=ServiceError(code, f"nothing is at {seen}; expected one of: {known}"))
    return Response(
        reply.json, error.status_code, headers=error.headers, media_type="application/json"
    )


def _answer(reply: Reply) -> Response:
    status = 200 if reply.error is None else STATUS.get(reply.error.code, 500)
    return Response(reply.json, status, media_type="application/json")
