"""Messages of an MCP server, of bounded size: over the pipes of its process, and over HTTP.

The SDK's own transports buffer a message of any length. Here a message has a largest size, and a
server that exceeds it is ended. Shutdown of a process follows the MCP specification: close its
standard input, wait, SIGTERM, wait, SIGKILL. Whatever the server started ends with it
(`server_process`).
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, Final

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import StdioServerParameters, types
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from agentgym.records.bounds import MAX_VALUES, is_too_rich
from agentgym.surfaces.server_process import around

MESSAGE_BYTES: Final = 32 << 20
"""Largest size of one message from a server, in bytes."""

_TOO_RICH: Final = f"it has far more than {MAX_VALUES:,} values"
_ID: Final = re.compile(rb'(?<!\\)"id"\s{0,9}:\s{0,9}([0-9]{1,15}|"[0-9A-Za-z_-]{1,64}")')
_HEAD_BYTES: Final = 1_000
_SAID_CHARS: Final = 200
_EVENT_END: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")

_FLUSH_S: Final = 1.0
_REPORT_S: Final = 2.0
_PATIENCE_S: Final = 2.0
_KILLING_S: Final = 10.0
_ENDING: Final = (
    *((None, _PATIENCE_S), (signal.SIGTERM, _PATIENCE_S), (signal.SIGQUIT, _KILLING_S)),
    (signal.SIGKILL, None),
)
"""Signals to the parent of a server, and the seconds in which it has to end after each."""
_ENDED: Final = (
    *(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream),
    *(ConnectionError, OSError),
)

Incoming = SessionMessage | Exception


@asynccontextmanager
async def over_stdio(
    started: StdioServerParameters, folder: Path, said: IO[bytes]
) -> AsyncIterator[Any]:
    """Start a server and yield the streams of messages from it and to it.

    Args:
        started: Command of the server.
        folder: Folder of the server. If this process is killed, it is removed when the server has
            ended.
        said: Gets the end of its standard error. The file has no name that the server could give
            to another one.

    Raises:
        OSError: The server cannot be started.
    """
    process = await anyio.open_process(
        around([started.command, *started.args], str(folder)),
        stderr=said,
        env=get_default_environment() | (started.env or {}),
        cwd=started.cwd,
        start_new_session=True,
    )
    seen, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, due = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, seen, said)
        tasks.start_soon(_write, process, due, seen, written)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                with anyio.move_on_after(_FLUSH_S):
                    await written.wait()
                await _stop(process)
            tasks.cancel_scope.cancel()


async def _read(process: Process, seen: MemoryObjectSendStream[Incoming], said: IO[bytes]) -> None:
    """Forward the server's output line by line, until it ends or a line is too long."""
    assert process.stdout is not None
    line = bytearray()
    with suppress(*_ENDED):
        async with seen:
            async for chunk in process.stdout:
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    await seen.send(_message(bytes(line + end)))
                    line.clear()
                line += rest
                if len(line) > MESSAGE_BYTES:
                    said.write(b"[ended: a message of more than %d bytes]\n" % MESSAGE_BYTES)
                    said.flush()
                    _signal(process, signal.SIGQUIT)
                    return
            await _reported(process)
    # A task that is cancelled while it writes must be able to finish the write.
    with suppress(*_ENDED):
        async for _ in process.stdout:
            pass


async def _write(
    process: Process,
    due: MemoryObjectReceiveStream[SessionMessage],
    seen: MemoryObjectSendStream[Incoming],
    written: anyio.Event,
) -> None:
    assert process.stdin is not None
    try:
        async with due:
            async for one in due:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(f"{text}\n".encode())
    except _ENDED:
        await _reported(process)
        await seen.aclose()  # else a request would wait for its answer
    finally:
        written.set()


async def _reported(process: Process) -> None:
    """Wait until a server that closed its pipes has ended, so that its exit code is reported."""
    with anyio.move_on_after(_REPORT_S):
        await process.wait()


def _message(line: bytes) -> Incoming:
    """Return a message; an answer that cannot be read becomes an error, for which a call waits."""
    if is_too_rich(line):
        return _unreadable(line, ValueError(_TOO_RICH))
    try:
        return _parsed(line)
    except ValueError:
        try:
            return _parsed(with_whole_characters(line))
        except (ValueError, RecursionError) as error:
            return _unreadable(line, error)


def _parsed(line: bytes) -> SessionMessage:
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))


def with_whole_characters(text: bytes) -> bytes:
    """Return a JSON text with question marks for halves of characters, which JavaScript makes.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deep.
    """
    return json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")


def _unreadable(line: bytes, error: Exception) -> Incoming:
    found = _ID.search(line[:_HEAD_BYTES]) or _ID.search(line[-_HEAD_BYTES:])
    if found is None:
        return error
    said = f"the answer cannot be read: {str(error)[:_SAID_CHARS]}"
    data = types.ErrorData(code=types.PARSE_ERROR, message=said)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=data))


async def _stop(process: Process) -> None:
    """End a server and all processes that it started."""
    assert process.stdin is not None
    with suppress(*_ENDED):
        await process.stdin.aclose()
    for number, then_s in _ENDING:
        _signal(process, number)
        with anyio.move_on_after(then_s):
            await process.wait()
            break
    await process.aclose()


def _signal(process: Process, number: signal.Signals | None) -> None:
    """Send a signal to the parent of a server; see `server_process`."""
    if number is not None:
        with suppress(ProcessLookupError, PermissionError):
            process.send_signal(number)


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """HTTP transport that cuts off a large response, and answers a request that failed itself.

    The SDK ends a whole session if one of its requests raises an exception, for instance because a
    response is too large. Here such a request gets an error of the protocol, with the code
    `CONNECTION_CLOSED`, as its response.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; a stream of events raises an error once it is too large."""
        # What is compressed could be measured only after it was unpacked.
        request.headers["accept-encoding"] = "identity"
        try:
            response = await super().handle_async_request(request)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding != "identity":
                await response.aclose()
                raise httpx2.ReadError("a compressed response, which was not asked for")
            response.stream = _Bounded(response.stream)
            kind = response.headers.get("content-type", "").strip().lower()
            if not kind.startswith("text/event-stream"):
                await _read_whole(response)
        except httpx2.TransportError as error:
            return _failed(request, error)
        return response


async def _read_whole(response: httpx2.Response) -> None:
    try:
        await response.aread()
    finally:
        await response.aclose()


def _failed(request: httpx2.Request, error: httpx2.TransportError) -> httpx2.Response:
    """Return an error of the protocol as the response to a request that failed."""
    data = types.ErrorData(code=types.CONNECTION_CLOSED, message=str(error) or type(error).__name__)
    message = types.JSONRPCError(jsonrpc="2.0", id=None, error=data)
    return httpx2.Response(
        HTTPStatus.BAD_GATEWAY,
        headers={"content-type": "application/json"},
        content=message.model_dump_json(by_alias=True),
        request=request,
    )


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, event = 0, bytearray()
        async for chunk in self._stream:
            size += len(chunk)
            if size > MESSAGE_BYTES:
                raise httpx2.ReadError(f"a response of more than {MESSAGE_BYTES} bytes")
            # The events of a stream are measured one by one, like responses without a stream.
            searched = max(0, len(event) - 3)
            event += chunk
            if ends := [found.end() for found in _EVENT_END.finditer(event, searched)]:
                yield _measured(bytes(event[: ends[-1]]))
                del event[: ends[-1]]
        yield _measured(bytes(event))

    async def aclose(self) -> None:
        await self._stream.aclose()


def _measured(text: bytes) -> bytes:
    """Return a text of bounded richness, to be parsed. Raises ReadError otherwise."""
    if is_too_rich(text):
        raise httpx2.ReadError(_TOO_RICH)
    return text
