"""Limits the requests of an MCP server that wait for the client's answer.

The SDK starts a task for each request of a server (a ping, a question to the user). A server that
asks without end and reads no answer would fill the client's memory with such tasks. Here the
client reads on only while few requests are open, so the server has to wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from agentgym.surfaces.message_bounds import checked

OPEN_REQUESTS: Final = 64
"""Most requests of a server that may wait for an answer at a time."""

_FLUSH_S: Final = 1.0
_ENDED: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)


@asynccontextmanager
async def with_few_open_requests(incoming: Any, outgoing: Any) -> AsyncIterator[Any]:
    """Yield the two streams of a server, with at most `OPEN_REQUESTS` of its requests open.

    Args:
        incoming: Stream of messages from the server.
        outgoing: Stream of messages to the server.
    """
    seen, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, due = anyio.create_memory_object_stream[SessionMessage](0)
    requests = _OpenRequests()
    forwarded = anyio.Event()

    async def receive() -> None:
        with suppress(*_ENDED):
            async with seen:
                async for arrived in incoming:
                    one = checked(arrived)
                    await requests.note_received(one)
                    await seen.send(one)

    async def send() -> None:
        try:
            async with due:
                async for one in due:
                    await outgoing.send(one)
                    requests.note_sent(one)
        except _ENDED:
            await seen.aclose()  # else a request would wait for its answer
        finally:
            forwarded.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield received, sent
        finally:
            received.close()
            sent.close()
            with anyio.move_on_after(_FLUSH_S, shield=True):
                await forwarded.wait()
            tasks.cancel_scope.cancel()


class _OpenRequests:
    """Counts the requests of a server that were neither answered nor cancelled, by their id."""

    def __init__(self) -> None:
        self._open: Counter[types.RequestId] = Counter()
        self._fewer = anyio.Event()

    async def note_received(self, one: SessionMessage | Exception) -> None:
        """Count a request, as soon as there is room for it; discount one that is cancelled."""
        if isinstance(one, Exception):
            return
        match one.message:
            case types.JSONRPCRequest(id=number):
                while self._open.total() >= OPEN_REQUESTS:
                    await self._fewer.wait()
                self._open[number] += 1
            case types.JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": int() | str() as number}
            ):
                self._discount(number)

    def note_sent(self, one: SessionMessage) -> None:
        """Discount the request that a message answers."""
        match one.message:
            case types.JSONRPCResponse(id=number) | types.JSONRPCError(id=int() | str() as number):
                self._discount(number)

    def _discount(self, number: types.RequestId) -> None:
        if self._open[number] > 1:
            self._open[number] -= 1
        else:
            del self._open[number]
        self._fewer.set()
        self._fewer = anyio.Event()
