"""Listens for HTTP and WebSocket connections with uvicorn, and bounds what strangers cost."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from agentgym.errors import ConfigError
from agentgym.installation import missing_extra
from agentgym.services.accepting import ACCEPTED_AT_ONCE, AcceptingServer
from agentgym.session.bounds import ServerBounds
from agentgym.session.connections import HttpConnection
from agentgym.session.places import Places
from agentgym.session.websocket_connection import Outbox, WebSocketConnection

try:
    import uvicorn
except ImportError as error:
    raise missing_extra("uvicorn", "server") from error

MOST_CONNECTIONS: Final = 1_024
"""Largest number of connections, those with a WebSocket included."""

_PARTING_S: Final = 2
"""Longest time in seconds that connections stay open when the server ends."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for TLS.

    Attributes:
        chain: PEM file with the certificate and its chain.
        key: PEM file with its key.
    """

    chain: Path
    key: Path


def spare_collections() -> None:
    """Let the garbage collector skip all that is loaded by now, and run less often.

    For the start of a process that only serves: a collection looks at 300,000 objects of modules
    otherwise, again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: Address or name of an interface of this machine.
        port: TCP port; 0 for a free one.

    Raises:
        ConfigError: The address is not one of this machine, or the port is taken.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        told = f"{host} port {port}: {error.strerror}"
        raise ConfigError(f"{told}; choose others with --host and --port") from error
    return listening


def address_of(listening: socket.socket, *, tls: bool) -> str:
    """Return the address that clients use, as ``ws://HOST:PORT``."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'wss' if tls else 'ws'}://{shown}:{port}"


class Application(Protocol):
    """An ASGI application that ends what it holds before the server ends."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        ...

    async def stop(self) -> None:
        """End what it holds."""
        ...


async def serve(
    app: Application,
    listening: socket.socket,
    ending: asyncio.Event,
    bounds: ServerBounds,
    certificate: Certificate | None = None,
) -> None:
    """Serve until an event; then every episode is recorded and every connection closed.

    Args:
        app: The application.
        listening: Socket from `listen`; its owner closes it.
        ending: Event that ends the server.
        bounds: The bounds of connections.
        certificate: Certificate for TLS.
    """

    class _Http(HttpConnection):
        places = Places(MOST_CONNECTIONS)

    class _Connection(WebSocketConnection):
        outbox = Outbox()

    tls: dict[str, Any] = {}
    if certificate is not None:
        tls = {"ssl_certfile": certificate.chain, "ssl_keyfile": certificate.key}
    server = AcceptingServer(
        uvicorn.Config(
            app,
            http=_Http,
            ws=_Connection,
            backlog=ACCEPTED_AT_ONCE,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws_max_size=bounds.message_bytes,
            ws_ping_interval=bounds.ping_s,
            ws_ping_timeout=bounds.ping_s,
            ws_per_message_deflate=False,
            server_header=False,
            timeout_graceful_shutdown=_PARTING_S,
            **tls,
        )
    )
    accepting = _Http.places.listener(listening)
    serving = asyncio.create_task(server.serve(sockets=[accepting]))
    waiting = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        await app.stop()
    finally:
        server.should_exit = True
        waiting.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        accepting.close()
        # A client that takes nothing more would keep its connection open.
        for connection in tuple(server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)
    serving.result()  # A server that could not go on tells why.
