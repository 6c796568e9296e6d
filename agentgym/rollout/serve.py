"""Serving a venue until the client leaves, the input ends or a signal comes; all ends recorded."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from agentgym.errors import ConfigError
from agentgym.rollout.mcp import Reception
from agentgym.services.http import listen
from agentgym.services.mcp import over_stdio

_PARTING_S = 2
"""How long connections may last on when the server ends."""


async def serve_stdio(reception: Reception) -> None:
    """Serve one client over standard input and output until the input ends, or a signal comes."""
    serving = asyncio.create_task(over_stdio(reception.server))
    _at_signals(serving.cancel)
    try:
        await asyncio.wait({serving})
    finally:
        await reception.close("the client left without submit or give_up")
    if not serving.cancelled():
        serving.result()


async def serve_http(reception: Reception, port: int, tell: Callable[[str], None]) -> None:
    """Serve any number of clients on 127.0.0.1 until a signal comes.

    Args:
        reception: Who is served.
        port: Where; 0 for any port that is free.
        tell: Hears the address.

    Raises:
        ConfigError: The port is taken.
    """
    try:
        listening = listen(port)
    except OSError as error:
        raise ConfigError(f"port {port}: {error.strerror}; choose another with --port") from error
    server = _Server(
        uvicorn.Config(
            reception.http_app(),
            log_level="error",
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=_PARTING_S,
        )
    )

    def end() -> None:
        server.should_exit = True

    _at_signals(end)
    tell(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
    try:
        await server.serve(sockets=[listening])
    finally:
        await reception.close("the server was stopped")
        listening.close()


class _Server(uvicorn.Server):
    """Leaves signals to us: what is under way has to be recorded first."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _at_signals(end: Callable[[], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
