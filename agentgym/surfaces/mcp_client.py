"""An MCP server as its client sees it: its offer, and a session with it.

The official SDK speaks the protocol (2024-11-05 to 2026-07-28). This module owns the rest: every
session has a process of its own in an empty folder, which ends with all its children; calls have
deadlines; all failures become one kind of error.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import math
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Final

from agentgym.errors import ConfigError, SurfaceEndedError, SurfaceError
from agentgym.installation import missing_extra
from agentgym.scratch import scratch_folder
from agentgym.surfaces.inherited import inherited_variables
from agentgym.surfaces.mcp_address import Address, filled

try:
    import anyio
    import httpx2
    from jsonschema import Draft202012Validator
    from mcp import Client, MCPError, StdioServerParameters
    from mcp import types as types
    from mcp.client.streamable_http import streamable_http_client

    from agentgym.surfaces.mcp_schema import adapt_result
    from agentgym.surfaces.server_requests import with_few_open_requests
    from agentgym.surfaces.transport import MESSAGE_BYTES, BoundedTransport, over_stdio
except ImportError as error:
    raise missing_extra("mcp", "mcp") from error

_CLOSE_S: Final = 15.0
"""The SDK ends a server within about seven seconds: a wait, SIGTERM, a wait, SIGKILL."""

_CONNECT_S: Final = 30.0
_PAGES: Final = 100
_MOST_TOOLS: Final = 1_000
_MOST_CHECKED: Final = 200_000
"""Largest number of characters of a result that is checked against its tool's schema."""
_STDERR_BYTES: Final = 2_000
_AGAIN_S: Final = 0.25
_SDK_LOGGERS: Final = ("mcp", "client")
_NOT_SHOWN: Final = logging.NullHandler()


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's description of itself and of its tools."""

    name: str
    instructions: str
    tools: tuple[types.Tool, ...]


@functools.cache
def offer_of(address: Address) -> Offer:
    """Return the offer of a server. The first request in a process starts the server, then ends it.

    A caller with a running event loop blocks the loop until the server has answered.

    Raises:
        SurfaceError: The server cannot be started, or does not answer in time.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="agentgym-mcp") as aside:
        return aside.submit(asyncio.run, _ask(address)).result()


async def _ask(address: Address) -> Offer:
    session = Session(address)
    await session.open()
    try:
        return await session.offer()
    finally:
        await session.close()


class Session:
    """One client session, held by a task of its own; any task of the loop may await it.

    Args:
        address: Address of the server.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._scope = anyio.CancelScope()
        self._ready = asyncio.Event()
        self._leaving = asyncio.Event()
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._failure = self._said = ""
        self._folder: TemporaryDirectory[str] | None = None
        self._stderr: IO[bytes] | None = None
        self._promises: dict[str, dict[str, Any] | None] = {}

    async def open(self) -> None:
        """Start the server, or connect to it, and shake hands.

        Raises:
            ConfigError: The program does not exist, or a variable that it needs is not set.
            SurfaceError: The server cannot be reached or does not answer in time.
        """
        # Without a handler Python prints the SDK's warnings: any number, with texts of the server.
        for name in _SDK_LOGGERS:
            logging.getLogger(name).addHandler(_NOT_SHOWN)
        transport = self._transport()
        self._holder = asyncio.create_task(self._hold(transport), name=f"mcp {self._address}")
        try:
            await self._ready.wait()
        except BaseException:
            await self.close()
            raise
        if self._client is None:
            await self.close()
            raise self._broken(f"cannot be used: {self._failure}")

    async def offer(self) -> Offer:
        """Ask the server for its description and its tools.

        Raises:
            SurfaceError: No usable answer came in time.
        """
        client, tools = self._live(), []
        cursor: str | None = None
        try:
            with anyio.fail_after(self._address.start_s):
                for _ in range(_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    tools += page.tools
                    if len(tools) > _MOST_TOOLS:
                        raise self._broken(f"offers more than {_MOST_TOOLS} tools")
                    cursor = page.next_cursor
                    if not cursor:
                        break
        except TimeoutError:
            raise self._broken(f"listed no tools within {self._address.start_s:g} s") from None
        except (MCPError, ValueError) as error:
            raise self._broken(f"its tools cannot be listed: {error}") from error
        self._promises = {tool.name: tool.output_schema for tool in tools}
        # The SDK would check results against the server's own schemas, whose patterns may run for
        # ever.
        setattr(client.session, "validate_tool_result", self._keep_promise)  # noqa: B010
        info = client.server_info
        return Offer(info.name if info else "", client.instructions or "", tuple(tools))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool.

        Raises:
            TimeoutError: The call took too long; the session goes on.
            Refusal: The server answered with an error instead of a result.
            SurfaceEndedError: The server of this session has ended, or has ended the session.
            SurfaceError: A server that others share cannot be reached any more.
        """
        client = self._live()
        try:
            # The rounds of a call share its time.
            with anyio.fail_after(self._address.call_s):
                return await _result_of(client, tool, dict(arguments))
        except MCPError as error:
            if await self._is_lost(error):
                raise await self._gone(f"is gone: {error}") from error
            raise Refusal(str(error)) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise await self._gone("is gone") from error
        except (ValueError, RuntimeError, RecursionError) as error:
            # The answer violates the protocol, or the tool's own output schema.
            raise Refusal(f"the server's answer cannot be used: {error}") from error

    async def _keep_promise(self, name: str, result: types.CallToolResult) -> None:
        """Check a result against its tool's output schema, as far as that can be done quickly.

        Raises:
            RuntimeError: The result violates the schema.
        """
        promised = self._promises.get(name)
        if promised is None or (schema := adapt_result(promised)) is None:
            return
        if result.structured_content is None:
            raise RuntimeError(f"tool {name[:80]} promises structured content and returned none")
        if len(json.dumps(result.structured_content)) > _MOST_CHECKED:
            return
        found = next(Draft202012Validator(schema).iter_errors(result.structured_content), None)
        if found is not None:
            said = f"{found.json_path[:200]}: {found.message[:400]}"
            raise RuntimeError(f"tool {name[:80]} returned other content than it promises: {said}")

    async def close(self) -> None:
        """End the session and the server's process, with all its children. Never raises."""
        self._leaving.set()
        if self._holder is not None:
            done, _ = await asyncio.wait([self._holder], timeout=_CLOSE_S)
            if not done:
                self._scope.cancel()
                await asyncio.wait([self._holder], timeout=_CLOSE_S)
        self._client = None

    async def _hold(self, transport: AbstractAsyncContextManager[Any]) -> None:
        """Enter and leave the client in one task, as its cancel scopes require."""
        self._scope.deadline = anyio.current_time() + self._address.start_s
        try:
            with self._scope:
                async with Client(transport) as client:
                    self._scope.deadline = math.inf
                    self._client = client
                    self._ready.set()
                    await self._leaving.wait()
            if self._scope.cancelled_caught:
                self._failure = f"no answer to the handshake within {self._address.start_s:g} s"
        except Exception as error:  # noqa: BLE001 - whatever a transport raises
            self._failure = _cause(error)
        finally:
            self._said = self._last_words()
            if self._stderr is not None:
                self._stderr.close()
            if self._folder is not None:
                self._folder.cleanup()
            self._ready.set()

    async def _is_lost(self, error: MCPError) -> bool:
        """Return whether the session is over: then the server answers no further request.

        A server that has forgotten the session refuses all requests as invalid. Over HTTP a single
        request can fail, for instance because its answer is too large, and the session goes on.
        """
        if error.code not in (types.INVALID_REQUEST, types.CONNECTION_CLOSED):
            return False
        try:
            await self.offer()
        except SurfaceError:
            return True
        return False

    def _live(self) -> Client:
        if self._client is None:
            raise SurfaceError(f"MCP server {self._address}: the session is closed; open it first")
        return self._client

    async def _gone(self, what: str) -> SurfaceError:
        """Return the error for a session that broke off during a call.

        Only this agent uses a server of this session alone, so its calls ended the server. A server
        at a URL that begins another session works, and has ended this one.
        """
        if not self._address.url:
            return SurfaceEndedError(str(self._broken(what)))
        try:
            await _ask(self._address)
        except (SurfaceError, ConfigError):
            return self._broken(what)
        return SurfaceEndedError(str(self._broken(f"{what}; it begins other sessions")))

    def _broken(self, what: str) -> SurfaceError:
        return SurfaceError(f"MCP server {self._address} {what}{self._last_words()}")

    # --- its process ---

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self._address.url:
            return _limited(_over_http(self._address.url, filled(self._address.headers)))
        given = filled(self._address.env)
        name, *arguments = self._address.command
        program = shutil.which(name, path=given.get("PATH", os.environ.get("PATH")))
        if program is None:
            raise ConfigError(
                f"mcp: no program named {name!r} on PATH; install it, or name its path"
            )
        self._folder = scratch_folder("mcp")
        self._stderr = TemporaryFile(dir=self._folder.name)  # noqa: SIM115 - `_hold` closes it
        home, temporary = Path(self._folder.name, "home"), Path(self._folder.name, "tmp")
        home.mkdir()
        temporary.mkdir()
        started = StdioServerParameters(
            command=os.path.abspath(program),
            args=arguments,
            env={**inherited_variables(), "HOME": str(home), "TMPDIR": str(temporary), **given},
            cwd=home,
        )
        return _limited(over_stdio(started, Path(self._folder.name), self._stderr))

    def _last_words(self) -> str:
        """Return the end of the server's standard error."""
        if self._stderr is None or self._stderr.closed:
            return self._said
        descriptor = self._stderr.fileno()
        begin = max(0, os.fstat(descriptor).st_size - _STDERR_BYTES)
        said = os.pread(descriptor, _STDERR_BYTES, begin).decode("utf-8", "replace").strip()
        return f"; its last words:\n{said}" if said else ""


class Refusal(Exception):
    """The server refused a call; the text is the reason."""


async def _result_of(client: Client, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Call a tool, again as long as the server says that it is not ready.

    Raises:
        Refusal: The server asks for input, such as an answer of the user or of a model.
    """
    state: str | None = None
    while True:
        result = await client.session.call_tool(
            tool, arguments, request_state=state, allow_input_required=True
        )
        if isinstance(result, types.CallToolResult):
            return result
        assert isinstance(result, types.InputRequiredResult)
        if result.input_requests:
            methods = sorted({request.method for request in result.input_requests.values()})
            raise Refusal(f"the server asks for {', '.join(methods)}, which is not offered")
        state = result.request_state
        await anyio.sleep(_AGAIN_S)


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    # A stream may be silent for the whole length of a call, which has a deadline of its own.
    patient = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(headers), timeout=patient, transport=BoundedTransport()
        ) as client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


@asynccontextmanager
async def _limited(transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    async with (
        transport as (incoming, outgoing, *_),
        with_few_open_requests(incoming, outgoing) as streams,
    ):
        yield streams


def _cause(error: BaseException) -> str:
    """Return the message of the innermost error: task groups wrap it, sometimes twice."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
