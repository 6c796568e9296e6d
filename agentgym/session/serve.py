"""Serves MCP until the client leaves or the server ends; every episode is recorded then."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from agentgym.errors import ConfigError
from agentgym.services.accepting import ACCEPTED_AT_ONCE, AcceptingServer
from agentgym.services.http import listen
from agentgym.services.mcp import over_stdio
from agentgym.session.admission import Admission
from agentgym.session.connections import HttpConnection
from agentgym.session.mcp import McpAdapter
from agentgym.session.places import Places

_MOST_CONNECTIONS = 256

_PARTING_S = 2
"""Longest time in seconds that connections stay open when the server ends."""


async def serve_stdio(adapter: McpAdapter, ending: asyncio.Event) -> None:
    """Serve one client over standard input and output until the input ends.

    Args:
        adapter: Serves the sessions.
        ending: Event that ends the server earlier, or cuts the last call short.
    """
    parting = asyncio.Event()
    serving = asyncio.create_task(over_stdio(adapter.server, parting))
    waiting = asyncio.create_task(ending.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    # A client that closes its end and terminates the server at once has left by itself.
    came_to_end = serving.done()
    left = came_to_end or parting.is_set()
    await (adapter.leave_stdio(ending) if left else adapter.stop())
    for task in (serving, waiting):
        task.cancel()
    await asyncio.gather(serving, waiting, return_exceptions=True)
    if came_to_end:
        serving.result()


def take_port(port: int) -> socket.socket:
    """Return a socket that listens on 127.0.0.1.

    Args:
        port: Number of the port; 0 for any free port.

    Raises:
        ConfigError: The port is taken.
    """
    try:
        return listen(port)
    except OSError as error:
        raise ConfigError(f"port {port}: {error.strerror}; choose another with --port") from error


async def serve_http(
    adapter: McpAdapter,
    listening: socket.socket,
    ending: asyncio.Event,
    tell: Callable[[str], None],
    token: str = "",
) -> None:
    """Serve any number of clients on 127.0.0.1.

    Args:
        adapter: Serves the sessions.
        listening: Socket from `take_port`; its owner closes it.
        ending: Event that ends the server.
        tell: Called with the address.
        token: Token that clients must send; empty serves every user of this machine.
    """

    class _Connection(HttpConnection):
        places = Places(_MOST_CONNECTIONS)

    server = AcceptingServer(
        uvicorn.Config(
            Admission(adapter.http_app(), token),
            http=_Connection,
            backlog=ACCEPTED_AT_ONCE,
            log_level="error",
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=_PARTING_S,
        )
    )
    accepting = _Connection.places.listener(listening)
    serving = asyncio.create_task(server.serve(sockets=[accepting]))
    waiting = asyncio.create_task(ending.wait())
    tell(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        await adapter.stop()
    finally:
        server.should_exit = True
        waiting.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        accepting.close()
