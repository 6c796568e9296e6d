"""Asks a server of OpenEnv about its environment: its name, its actions as tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from agentgym.env.remote.openenv.address import OpenEnvAddress
from agentgym.env.remote.openenv.connection import OPEN_S, Connection, said_in
from agentgym.env.remote.openenv.observations import PICTURES
from agentgym.errors import ServerError
from agentgym.records import Json, ToolSpec, bounds
from agentgym.surfaces.mcp_schema import adapt

STEP: Final = "step"
"""Name of the only tool where the server's actions are not calls of MCP tools."""

_DESCRIBE_BYTES: Final = 4 * 2**20
_TOOLS: Final = 500
_SAID_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Described:
    """The description that a server gives of its environment.

    Attributes:
        name: Name of the environment.
        about: Description of it; may be empty.
        tools: Tools that stand for its actions.
        called: Name that the server knows each tool by; empty if actions are not calls of tools.
        pictures: Whether observations may have a picture.
    """

    name: str
    about: str
    tools: tuple[ToolSpec, ...]
    called: Mapping[str, str]
    pictures: bool


async def describe(address: OpenEnvAddress) -> Described:
    """Ask a server for its environment: ``/metadata``, ``/schema``, and its MCP tools.

    A server without these pages is played with a tool that takes any object.

    Raises:
        ServerError: The server cannot be reached, refuses, or has no usable action.
    """
    verify = address.trust if address.trust is not None else True
    # A server may end a kept connection just then, and a compressed page of a kilobyte may have
    # gigabytes.
    headers = {**address.headers, "Connection": "close", "Accept-Encoding": "identity"}
    options: dict[str, Any] = {"headers": headers, "timeout": OPEN_S, "verify": verify}
    async with httpx.AsyncClient(**options, trust_env=not address.is_loopback) as client:
        metadata = await _page(client, f"{address.url}/metadata", address)
        schema = await _page(client, f"{address.url}/schema", address)
    name = str(metadata.get("name") or urlsplit(address.url).hostname)[:200]
    about = str(metadata.get("description") or "")[:_SAID_CHARS]
    action = schema.get("action")
    seen = schema.get("observation")
    fields = seen.get("properties") if isinstance(seen, Mapping) else None
    pictures = not isinstance(fields, Mapping) or any(key in fields for key in PICTURES)
    if _calls_tools(action):
        tools, called = await _mcp_tools(address)
        return Described(name, about, tools, called, pictures)
    return Described(name, about, (_step_tool(action, about),), {}, pictures)


async def _page(client: httpx.AsyncClient, url: str, address: OpenEnvAddress) -> Mapping[str, Any]:
    """Return the JSON object of a page; an empty one if the server has no such page."""
    content = bytearray()
    try:
        async with asyncio.timeout(OPEN_S), client.stream("GET", url) as response:
            if response.status_code in (401, 403):
                told = f"{address.url} answered {response.status_code}; pass server_token="
                raise ServerError("unauthorized", told)
            if response.status_code != 200:
                return {}
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > _DESCRIBE_BYTES:
                    raise ServerError("bad_message", f"{url} is larger than 4 MiB")
    except (httpx.HTTPError, TimeoutError, OSError) as error:
        told = f"{address.url} cannot be reached: {error or type(error).__name__}"
        raise ServerError("unreachable", told) from error
    try:
        if bounds.is_too_rich(bytes(content)):
            return {}
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _calls_tools(action: object) -> bool:
    """Return whether an action is OpenEnv's ``CallToolAction``."""
    fields = action.get("properties") if isinstance(action, Mapping) else None
    return isinstance(fields, Mapping) and {"tool_name", "arguments"} <= set(fields)


def _step_tool(action: object, about: str) -> ToolSpec:
    """Return the tool whose arguments are an action."""
    adapted = adapt(action) if isinstance(action, Mapping) else adapt({"type": "object"})
    fields = adapted.get("properties")
    if isinstance(fields, dict):
        fields.pop("metadata", None)
    said = f"Acts in the environment. {about}".strip()
    return ToolSpec(STEP, said, adapted)


async def _mcp_tools(address: OpenEnvAddress) -> tuple[tuple[ToolSpec, ...], dict[str, str]]:
    """Return the MCP tools of an environment, and the server's names for them.

    Raises:
        ServerError: It does not tell them.
    """
    connection = await Connection.open(address)
    try:
        request: dict[str, Json] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        answer = await connection.ask("mcp", request)
    finally:
        await connection.close()
    result = answer.get("data", {}).get("result")
    listed = result.get("tools") if isinstance(result, Mapping) else None
    if not isinstance(listed, list) or not listed:
        told = f"{address.url} lists no tools: {said_in(answer) or 'its answer has none'}"
        raise ServerError("bad_message", told)
    tools, called = [], {}
    for one in listed[:_TOOLS]:
        given = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(given, str) or not 0 < len(given) <= bounds.MAX_NAME or given in called:
            raise ServerError("bad_message", f"{address.url} lists a tool without a usable name")
        schema = one.get("inputSchema", one.get("input_schema"))
        about = str(one.get("description") or "")[:_SAID_CHARS]
        tools.append(ToolSpec(given, about or f"{given}, undescribed.", adapt(schema)))
        called[given] = given
    return tuple(tools), called
