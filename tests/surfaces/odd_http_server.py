"""The odd server as the official SDK serves it."""

import asyncio

import odd_server
from mcp import MCPError, types
from mcp.server.lowlevel import Server


async def list_tools(context, params):
    return types.ListToolsResult.model_validate(odd_server.page(params and params.cursor))


async def call(context, params):
    try:
        result = odd_server.call(params.name, params.arguments or {})
    except odd_server.Refused as refused:
        raise MCPError(code=refused.code, message=str(refused)) from None
    if result is None:
        await asyncio.sleep(600)
    return types.CallToolResult.model_validate(result)


def odd_http_server():
    return Server(
        "odd",
        version="1",
        instructions=odd_server.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
    )
