"""An MCP server with state, odd names and bad manners: what a client has to put up with.

Run over stdio; ``odd_server.py stubborn`` outlives the end of its input and SIGTERM, other words
are names of further tools.
"""

import asyncio
import base64
import io
import json
import os
import signal
import subprocess
import sys
import time

from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from PIL import Image

_FILE = io.BytesIO()
Image.frombytes("RGB", (2, 1), bytes([255, 0, 0, 0, 0, 255])).save(_FILE, "PNG")
PIXELS = _FILE.getvalue()
NO_ARGUMENTS = {"type": "object", "properties": {}}
TEXT = types.TextContent
count = 0


def tool(name, schema=NO_ARGUMENTS, **more):
    return types.Tool(name=name, description=f"Does {name}.", input_schema=schema, **more)


TOOLS = [
    tool("count", annotations=types.ToolAnnotations(read_only_hint=False)),
    tool("look", annotations=types.ToolAnnotations(read_only_hint=True)),
    tool("fail"),
    tool("refuse"),
    tool("crash"),
    tool("hang"),
    tool("picture"),
    tool("broken_picture"),
    tool("resources"),
    tool("talk", {"type": "object", "properties": {"size": {"type": "integer", "maximum": 10**6}}}),
    tool("promise", output_schema={"type": "object", "required": ["kept"]}),
    tool("structure", output_schema={"type": "object", "properties": {"n": {"type": "integer"}}}),
    tool("surroundings"),
    tool("leave_a_child"),
    tool("anything", {"type": "object"}),
    tool("submit"),
    tool("dotted.name"),
    tool("dotted/name"),
    tool("long" * 30),
    tool(
        "refer",
        {
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/To"}},
            "required": ["to"],
            "$defs": {"To": {"type": "object", "properties": {"who": {"type": "string"}}}},
        },
    ),
]


async def call(context, params):
    global count
    name, arguments = params.name, params.arguments or {}
    if name == "count":
        count += 1
        return said(str(count))
    if name == "fail":
        return types.CallToolResult(content=[TEXT(type="text", text="it failed")], is_error=True)
    if name == "refuse":
        raise MCPError(code=-32602, message="refused by the protocol")
    if name == "crash":
        print("about to crash", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        await asyncio.sleep(600)
    if name == "picture":
        return types.CallToolResult(content=[TEXT(type="text", text="see:"), picture(PIXELS)])
    if name == "broken_picture":
        return types.CallToolResult(content=[picture(b"no picture")])
    if name == "resources":
        return types.CallToolResult(content=resources())
    if name == "talk":
        return said("t\0" + "x" * arguments.get("size", 0))
    if name in ("promise", "structure"):
        return types.CallToolResult(content=[], structured_content={"n": 7})
    if name == "surroundings":
        return said(
            json.dumps({"cwd": os.getcwd(), "files": os.listdir(), "env": dict(os.environ)})
        )
    if name == "leave_a_child":
        child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
        return said(str(child.pid))
    return said(f"{name}: {json.dumps(arguments, sort_keys=True)}")


def said(text):
    return types.CallToolResult(content=[TEXT(type="text", text=text)])


def picture(data):
    text = base64.b64encode(data).decode()
    return types.ImageContent(type="image", data=text, mime_type="image/png")


def resources():
    text = types.TextResourceContents(uri="note://1", text="the note", mime_type="text/plain")
    blob = types.BlobResourceContents(uri="blob://1", blob="AAAA")
    return [
        types.ResourceLink(type="resource_link", name="n", uri="note://2", description="a link"),
        types.EmbeddedResource(type="resource", resource=text),
        types.EmbeddedResource(type="resource", resource=blob),
        types.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    ]


async def list_tools(context, params):
    """Tell the tools in pages of seven."""
    start = int(params.cursor) if params and params.cursor else 0
    after = start + 7
    cursor = str(after) if after < len(TOOLS) else None
    return types.ListToolsResult(tools=TOOLS[start:after], next_cursor=cursor)


def odd_server():
    return Server(
        "odd",
        version="1",
        instructions="Mind the gaps.",
        on_list_tools=list_tools,
        on_call_tool=call,
    )


async def main():
    async with stdio_server() as streams:
        server = odd_server()
        await server.run(*streams, server.create_initialization_options())


if __name__ == "__main__":
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        asyncio.run(main())
        time.sleep(600)
    else:
        TOOLS += [tool(name) for name in sys.argv[1:]]
        asyncio.run(main())
