"""Services over MCP, with the official SDK: stdio and streamable HTTP.

A failed call is a result with ``isError``; its structured content is the envelope of every
transport. Pictures that a result names follow it as image content.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any, cast

from agentgym.installation import missing_extra
from agentgym.records import Actor, ToolSpec
from agentgym.services.backend import Backend
from agentgym.services.functions import Function
from agentgym.services.stdio import ClientGoneError, Input, Output, standard_streams

try:
    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from starlette.applications import Starlette
except ImportError as error:
    raise missing_extra("mcp", "mcp") from error


def mcp_server(backend: Backend, actor: Actor = "agent") -> Server[Any]:
    """Return an MCP server.

    Args:
        backend: The services to offer.
        actor: Actor of the calls.
    """

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(f) for f in backend.services.functions.values()])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        reply = backend.call(params.name, params.arguments or {}, actor)
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=reply.json)]
        for image_name in reply.images:
            image = backend.images.get(image_name)
            assert image is not None
            content.append(picture_of(image.data, image.mime))
        return types.CallToolResult(
            content=content,
            structured_content=json.loads(reply.json),
            is_error=reply.error is not None,
        )

    return Server("agentgym", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(backend: Backend, actor: Actor = "agent") -> None:
    """Serve over standard input and output until the input ends."""
    await over_stdio(mcp_server(backend, actor), asyncio.Event())


async def over_stdio(server: Server[Any], parting: asyncio.Event) -> None:
    """Run any server over standard input and output until the input ends.

    A client that takes no output for a minute, or for a second after it closed the input, counts
    as gone.

    Args:
        server: The server.
        parting: Is set when the input ends; the last calls may still run then.
    """
    with standard_streams() as (standard_input, standard_output):
        given, taken = Input(standard_input, parting), Output(standard_output, parting)
        # The SDK asks for files of anyio, and uses only the iteration, `write` and `flush`.
        streams = stdio_server(cast(Any, given), cast(Any, taken))
        try:
            async with streams as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        except* ClientGoneError:
            pass


def mcp_app(backend: Backend, actor: Actor = "agent") -> Starlette:
    """Return an ASGI application that serves MCP at ``/mcp`` (streamable HTTP)."""
    return mcp_server(backend, actor).streamable_http_app(json_response=True)


def _tool(function: Function) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not function.writes)
    return tool_of(function.spec, hints)


def tool_of(spec: ToolSpec, hints: types.ToolAnnotations | None = None) -> types.Tool:
    """Return a tool in the protocol's form."""
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema={"type": "object", **spec.parameters},
        annotations=hints,
    )


def picture_of(data: bytes, mime: str) -> types.ImageContent:
    """Return a picture as a part of a result."""
    return types.ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type=mime)
