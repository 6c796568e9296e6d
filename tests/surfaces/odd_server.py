"""An MCP server with state, odd names and bad manners: what a client has to put up with.

Tests start it many times and the official SDK takes most of a second to import, so this program
writes its messages itself, as the specification of 2026-07-28 has them. `odd_http_server` serves
the same tools with the SDK.

Run over stdio; ``odd_server.py stubborn`` outlives the end of its input and SIGTERM, other words
are names of further tools.
"""

import base64
import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib

NO_ARGUMENTS = {"type": "object", "properties": {}}
INSTRUCTIONS = "Mind the gaps."
PAGE = 7
count = 0


class Refused(Exception):
    """A request is answered with an error of the protocol."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def tool(name, schema=NO_ARGUMENTS, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, **more}


TOOLS = [
    tool("count", annotations={"readOnlyHint": False}),
    tool("look", annotations={"readOnlyHint": True}),
    tool("fail"),
    tool("refuse", {"type": "object", "properties": {"code": {"type": "integer"}}}),
    tool("crash"),
    tool(
        "headed",
        {"type": "object", "properties": {"at": {"type": "string", "x-mcp-header": "At"}}},
    ),
    tool("hang"),
    tool("rich"),
    tool("half"),
    tool("unreadable"),
    tool("poll"),
    tool("ask"),
    tool("picture"),
    tool("broken_picture"),
    tool("resources"),
    tool("talk", {"type": "object", "properties": {"size": {"type": "integer", "maximum": 10**6}}}),
    tool("promise", outputSchema={"type": "object", "required": ["kept"]}),
    tool("structure", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}}),
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


def call(name, arguments):
    """Return the result of a call; None if it never ends."""
    global count
    if name == "count":
        count += 1
        return said(str(count))
    if name == "fail":
        return {**said("it failed"), "isError": True}
    if name == "refuse":
        raise Refused(arguments.get("code", -32602), "refused by the protocol")
    if name == "crash":
        print("about to crash", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        return None
    if name == "rich":
        return {"content": said("a")["content"] * 100_000}
    if name == "half":
        return said("half of \ud83d")
    if name == "unreadable":
        return said(10**400)
    if name == "poll":
        return {"resultType": "input_required", "requestState": "not yet"}
    if name == "ask":
        asked = {"method": "roots/list", "params": {}}
        return {"resultType": "input_required", "inputRequests": {"q": asked}}
    if name == "picture":
        return {"content": [*said("see:")["content"], picture(png())]}
    if name == "broken_picture":
        return {"content": [picture(b"no picture")]}
    if name == "resources":
        return {"content": resources()}
    if name == "talk":
        return said("t\0" + "x" * arguments.get("size", 0))
    if name in ("promise", "structure"):
        return {"content": [], "structuredContent": {"n": 7}}
    if name == "surroundings":
        return said(
            json.dumps({"cwd": os.getcwd(), "files": os.listdir(), "env": dict(os.environ)})
        )
    if name == "leave_a_child":
        child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
        return said(str(child.pid))
    return said(f"{name}: {json.dumps(arguments, sort_keys=True)}")


def said(text):
    return {"content": [{"type": "text", "text": text}]}


def picture(data):
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}


def png():
    """Return a picture of two pixels, red and blue."""
    header = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes([0, 255, 0, 0, 0, 0, 255]))
    found = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b"")):
        found += struct.pack(">I", len(data)) + kind + data
        found += struct.pack(">I", zlib.crc32(kind + data))
    return found


def resources():
    text = {"uri": "note://1", "text": "the note", "mimeType": "text/plain"}
    return [
        {"type": "resource_link", "name": "n", "uri": "note://2", "description": "a link"},
        {"type": "resource", "resource": text},
        {"type": "resource", "resource": {"uri": "blob://1", "blob": "AAAA"}},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    ]


def page(cursor):
    """Tell the tools in pages."""
    start = int(cursor or 0)
    after = start + PAGE
    rest = {"nextCursor": str(after)} if after < len(TOOLS) else {}
    return {"tools": TOOLS[start:after], **rest}


# --- over stdio ------------------------------------------------------------------------------


def main():
    for line in sys.stdin.buffer:
        request = json.loads(line)
        assert request["jsonrpc"] == "2.0", request
        if "id" not in request:
            continue  # a notification
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = answer(request["method"], request.get("params") or {})
        except Refused as refused:
            reply["error"] = {"code": refused.code, "message": str(refused)}
        else:
            if result is None:
                continue
            me = {"io.modelcontextprotocol/serverInfo": {"name": "odd", "version": "1"}}
            reply["result"] = {"resultType": "complete", "_meta": me, **result}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


def answer(method, params):
    if method == "server/discover":
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": False}},
            "instructions": INSTRUCTIONS,
            "cacheScope": "private",
            "ttlMs": 0,
        }
    if method == "tools/list":
        return {**page(params.get("cursor")), "cacheScope": "private", "ttlMs": 0}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    raise Refused(-32601, f"no method {method}")


if __name__ == "__main__":
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        main()
        time.sleep(600)
    else:
        TOOLS += [tool(name) for name in sys.argv[1:]]
        main()
