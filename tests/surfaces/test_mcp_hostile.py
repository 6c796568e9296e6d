"""An MCP server's schemas and messages are hostile input: what they may cost is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import logging
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio
import httpx2
import numpy as np
import pytest
from mcp import StdioServerParameters, types
from mcp.shared.message import SessionMessage
from rstr import Rstr

from agentgym.errors import SurfaceEndedError, SurfaceError
from agentgym.records import Action, ToolSpec
from agentgym.records.pattern import is_linear
from agentgym.surfaces import transport
from agentgym.surfaces.calls import check_call, sample_call
from agentgym.surfaces.mcp import _described, _named
from agentgym.surfaces.mcp_address import Address
from agentgym.surfaces.mcp_client import Refusal, Session
from agentgym.surfaces.mcp_schema import adapt
from agentgym.surfaces.message_bounds import checked
from agentgym.surfaces.server_requests import OPEN_REQUESTS, with_few_open_requests

LINEAR = [
    *("", "foo", "foo|bar", r"\d{4}-\d{2}-\d{2}", "^[a-z]+$", "^[a-z]+[0-9]{4}$", r"^\S+$"),
    *(
        "^(?:on|off)$",
        r"^\+?[0-9]+$",
        "^[A-Z]{2,5}-[0-9]{1,6}$",
        "^image:[0-9a-f]{12}$",
        "(?i)^ab$",
    ),
]
NOT_LINEAR = [
    *("^(a+)+$", "^(a|a)*b", "^(a|aa)+$", "x+y", r"\s+$", "^[^@]+@[^@]+$", "^(a)\\1$", "^(?=a+)a"),
    *("^(?<!a+)b", "^" + "a?" * 30 + "a" * 30, "^" + "(a|b|ab)" * 20 + "$", "^((a{99}){99}){99}$"),
    *("^" + "a" * 5_000, "^(", "(" * 500 + ")" * 500, 7, None, "a{0,60000}b", "^a{900}{900}"),
]


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_pattern_that_is_linear_is_kept(pattern):
    assert is_linear(pattern)
    text = Rstr(Random(0)).xeger(pattern)
    assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", NOT_LINEAR, ids=lambda p: str(p)[:20])
def test_any_other_pattern_is_not_run(pattern):
    assert not is_linear(pattern)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(x+x+)+y", "^(.*a){25}$"])
def test_an_argument_cannot_be_caught_in_a_pattern_of_the_server(pattern):
    schema = {
        "properties": {"a": {"type": "string", "pattern": pattern}},
        "patternProperties": {pattern: {"type": "string"}},
        "propertyNames": {"pattern": pattern},
    }
    tool = ToolSpec("t", "", adapt(schema))
    check_call(Action("t", {"a": "a" * 10_000 + "!"}), [tool])
    assert pattern not in json.dumps(tool.parameters)


ANY = {"type": "object", "additionalProperties": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{n}": {"type": "string"} for n in range(5_000)}},
        {"properties": {"a": {"enum": [{} for _ in range(5_000)]}}},
        {"required": [{} for _ in range(5_000)], "properties": {}},
        {"properties": {"a": {"description": "x" * 1_000_000}}},
        {"properties": {"x" * 1_000_000: {}}},
        {
            "properties": {f"p{n}": {"$ref": "#/$defs/big"} for n in range(100)},
            "$defs": {"big": {"enum": list(range(100))}},
        },
        {
            "properties": {"a": {"$ref": "#/$defs/d0"}},
            "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(20)},
        },
    ],
    ids=["properties", "enum", "required", "text", "name", "references", "doubling"],
)
def test_of_too_large_a_schema_nothing_is_taken(schema):
    assert adapt(schema) == ANY


def test_references_that_lead_back_end():
    loop = {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/b"}}}
    adapted = adapt(loop)
    assert set(adapted["properties"]) == {"a", "b"}
    nested: dict = {"type": "string"}
    for _ in range(500):
        nested = {"type": "array", "items": nested}
    assert "a" in adapt({"properties": {"a": nested}})["properties"]


def test_a_schema_cannot_demand_what_fills_the_memory():
    wants = {"type": "string", "minLength": 10**12}
    items: dict = {"type": "integer", "minimum": -1}
    for _ in range(8):
        items = {"type": "array", "minItems": 50, "items": items}
    schema = adapt({"properties": {"a": wants, "b": items, "c": {"uniqueItems": True}}})
    assert "uniqueItems" not in schema["properties"]["c"]
    tool = ToolSpec("t", "", schema)
    for seed in range(5):
        action = sample_call([tool], np.random.default_rng(seed))
        assert len(json.dumps(action.arguments)) < 100_000


def test_numbers_that_are_none_are_not_taken():
    adapted = adapt({"properties": {"a": {"type": "integer", "minimum": float("inf")}}})
    assert adapted == ANY  # null is no minimum


def tool(name: str, **more: object) -> types.Tool:
    return types.Tool(name=name, input_schema={"type": "object"}, **more)


def test_names_and_descriptions_have_a_length():
    named = _named([tool("x" * 1_000_000), tool("x" * 1_000_000)], "")
    assert [len(name) for name in named] == [64, 64]
    described = _described("t", tool("t", description="x" * 1_000_000))
    assert len(described.description) < 9_000 and "[cut: 992000 characters]" in (
        described.description
    )


# --- promises ------------------------------------------------------------------------------


def keep(promised: object, content: object) -> None:
    async def go() -> None:
        session = Session(Address(("true",)))
        session._promises = {"t": promised}
        result = types.CallToolResult(content=[], structured_content=content)
        await session._keep_promise("t", result)

    asyncio.run(go())


def test_a_result_is_compared_with_what_its_tool_promises():
    promised = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    keep(promised, {"n": 1})
    for other in ({"n": "1"}, {}, None):
        with pytest.raises(RuntimeError, match="tool t "):
            keep(promised, other)
    keep(None, None)


def test_a_promise_cannot_be_made_to_run_for_ever():
    promised = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    keep(promised, {"a": "a" * 5_000 + "!"})


# --- sizes of messages ---------------------------------------------------------------------


def test_a_server_whose_message_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(transport, "MESSAGE_BYTES", 1 << 20)

    async def go() -> None:
        session = Session(Address(("cat", "/dev/zero"), start_s=30))
        with pytest.raises(SurfaceError, match=r"a message of more than 1048576 bytes"):
            await session.open()

    asyncio.run(go())


def test_a_response_that_does_not_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(transport, "MESSAGE_BYTES", 1 << 20)

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        try:
            while True:
                writer.write(bytes(65_536))
                await writer.drain()
        except ConnectionError:
            writer.close()

    async def go() -> None:
        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with httpx2.AsyncClient(transport=transport.BoundedTransport()) as client:
            response = await client.get(f"http://127.0.0.1:{port}/")
            error = response.json()["error"]["message"]
            assert error == "a response of more than 1048576 bytes"
        server.close()

    asyncio.run(go())


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_response_that_is_compressed_is_refused(kind):
    # 8 MiB in 8 kB; the bounds hold for what is received, and 32 MiB could become 32 GiB.
    body = gzip.compress(b" " * (8 << 20))
    asked = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).lower())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: GZip\r\n"
        writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with httpx2.AsyncClient(transport=transport.BoundedTransport()) as client:
            response = await client.get(f"http://127.0.0.1:{port}/")
        assert response.status_code == 502 and "compressed" in response.text
        assert b"accept-encoding: identity\r\n" in asked[0]
        server.close()

    asyncio.run(go())


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
def test_an_event_is_read_before_its_stream_ends(end):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\n\r\n"
    hung_up = asyncio.Event()

    async def open_ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"data: 1" + end)
        await writer.drain()
        await reader.read()  # until the client hangs up
        writer.close()
        hung_up.set()

    async def go() -> None:
        server = await asyncio.start_server(open_ended, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with (
            asyncio.timeout(30),
            httpx2.AsyncClient(transport=transport.BoundedTransport()) as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as response,
        ):
            assert await anext(response.aiter_bytes()) == b"data: 1" + end
        await hung_up.wait()
        server.close()

    asyncio.run(go())


# --- validation of messages ----------------------------------------------------------------


SENDS = """
import json, sys
with open(sys.argv[1]) as file:
    sent = json.load(file)
server = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
answers = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": sent["result"],
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    if request["method"] == "tools/call":
        for message in sent["before"]:
            print(json.dumps({"jsonrpc": "2.0", **message}))
    result = {"resultType": "complete", "_meta": server, "cacheScope": "private", "ttlMs": 0}
    result |= answers[request["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.fixture
def called(tmp_path):
    """A call to a server that first sends other messages; returns its result."""

    async def call(result, before=()):
        sent = tmp_path / "sent.json"
        sent.write_text(json.dumps({"result": result, "before": list(before)}))
        session = Session(Address((sys.executable, "-c", SENDS, str(sent))))
        await session.open()
        try:
            await session.offer()
            return await session.call("t", {})
        finally:
            await session.close()

    return call


@pytest.mark.parametrize(
    ("part", "number"),
    [
        ({"type": "bogus"}, 5_001),
        ({"type": "text", "text": "t"}, 40_000),
        ({"type": "text", "text": "t", "annotations": {"audience": ["user"] * 900}}, 30),
    ],
    ids=["no part", "text", "inside of parts"],
)
async def test_a_result_that_takes_long_to_validate_is_refused(called, part, number):
    with pytest.raises(Refusal, match="the answer cannot be read: (a list or object|it) has"):
        await called({"content": [part] * number})


async def test_questions_by_the_thousand_are_refused_together(called):
    asked = {f"q{n}": {"method": "roots/list", "params": {}} for n in range(1_001)}
    with pytest.raises(Refusal, match=r"a list or object has 1,001 entries, more than 1,000"):
        await called({"resultType": "input_required", "inputRequests": asked})


def test_a_request_that_takes_long_to_validate_is_dropped():
    for message in (
        types.JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"messages": [7] * 5_001}),
        types.JSONRPCNotification(jsonrpc="2.0", method="m", params={"d": [[7] * 500] * 500}),
    ):
        assert isinstance(checked(SessionMessage(message)), ValueError)
    harmless = ping(1)
    assert checked(harmless) is harmless


async def test_a_result_may_have_a_part_for_each_row(called):
    result = await called({"content": [{"type": "text", "text": "row"}] * 5_000})
    assert len(result.content) == 5_000


async def test_structured_content_may_be_large(called):
    content = {"rows": [[n] for n in range(30_000)]}
    result = await called({"content": [], "structuredContent": content})
    assert result.structured_content == content


async def test_warnings_of_the_sdk_are_not_printed(called, monkeypatch):
    printed = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    for name in ("mcp", "client"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler(printed))
    logging.getLogger("other").warning("a handler prints")
    note = {"method": "notifications/progress", "params": {"progress": "no number"}}
    await called({"content": []}, before=[note])
    assert printed.getvalue() == "a handler prints\n"


# --- requests of a server ------------------------------------------------------------------


def ping(number: int) -> SessionMessage:
    return SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))


def pong(number: int) -> SessionMessage:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=number, result={}))


def cancelled(number: int) -> SessionMessage:
    return SessionMessage(
        types.JSONRPCNotification(
            jsonrpc="2.0", method="notifications/cancelled", params={"requestId": number}
        )
    )


@asynccontextmanager
async def limited_server(messages):
    """Yield the client's two streams of a server that has sent messages, and the sent answers."""
    server, incoming = anyio.create_memory_object_stream(len(messages))
    outgoing, answers = anyio.create_memory_object_stream(0)
    for message in messages:
        server.send_nowait(message)
    async with (
        server,
        incoming,
        outgoing,
        answers,
        with_few_open_requests(incoming, outgoing) as (received, sent),
    ):
        yield received, sent, answers


@pytest.mark.parametrize("ids", [range(500), [7] * 500], ids=["own ids", "one id"])
def test_a_server_that_takes_no_answers_has_few_open_requests(ids):
    async def go() -> None:
        requests = [ping(number) for number in ids]
        async with limited_server(requests) as (received, sent, answers):
            asked = []
            with anyio.move_on_after(5):
                async for one in received:
                    asked.append(one.message.id)
                    if len(asked) == OPEN_REQUESTS:
                        break
            with anyio.move_on_after(0.05) as idle:
                await received.receive()
            assert idle.cancelled_caught
            # Once the server reads its answers, the rest arrives.
            async with anyio.create_task_group() as tasks:

                async def read() -> None:
                    for _ in ids:
                        await answers.receive()

                tasks.start_soon(read)
                for number in list(asked):
                    await sent.send(pong(number))
                for _ in ids[OPEN_REQUESTS:]:
                    await sent.send(pong((await received.receive()).message.id))

    asyncio.run(go())


def test_a_cancelled_request_is_no_longer_open():
    async def go() -> None:
        rounds = 3 * OPEN_REQUESTS
        messages = [make(number) for number in range(rounds) for make in (ping, cancelled)]
        async with limited_server(messages) as (received, _, _):
            with anyio.fail_after(5):
                for _ in range(2 * rounds):
                    await received.receive()

    asyncio.run(go())


LEAVES = """
import os, subprocess, sys, time
how, note = sys.argv[1:]
loop = "import time\\nwhile True: time.sleep(1)"
child = subprocess.Popen([sys.executable, "-c", loop], start_new_session=True)
twice = (
    "import os, sys, time\\nif os.fork(): os._exit(0)\\nos.setsid()\\n"
    "open(sys.argv[1], 'w').write(str(os.getpid()))\\nwhile True: time.sleep(1)"
)
subprocess.run([sys.executable, "-c", twice, note + ".part"])
while not os.path.exists(note + ".part") or not open(note + ".part").read():
    time.sleep(0.01)
with open(note + ".new", "w") as file:
    file.write(f"{child.pid} {open(note + '.part').read()} {os.getpid()}")
os.rename(note + ".new", note)
if how == "dies":
    os.abort()
if how == "is deaf":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)
sys.stdin.read()
"""


@asynccontextmanager
async def over_stdio(server, folder):
    """A server whose standard error goes to the file `said` of its folder."""
    with (folder / "said").open("w+b") as said:
        async with transport.over_stdio(server, folder, said) as streams:
            yield streams


@pytest.mark.parametrize("how", ["leaves", "dies", "is deaf"])
async def test_what_a_server_started_in_sessions_of_its_own_ends_with_it(
    tmp_path, monkeypatch, how
):
    monkeypatch.setattr(transport, "_ENDING", ((None, 0.5), *transport._ENDING[2:]))
    note = tmp_path / "pids"
    server = StdioServerParameters(command=sys.executable, args=["-c", LEAVES, how, str(note)])
    async with over_stdio(server, tmp_path):
        with anyio.fail_after(60):
            while not note.exists():
                await anyio.sleep(0.02)
    pids = note.read_text().split()
    assert len(pids) == 3
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


CHATTY = """
import sys
for _ in range(200):
    sys.stderr.write("x" * 65536)
print("the last words", file=sys.stderr, flush=True)
print("{}", flush=True)
sys.stdin.read()
"""


async def test_of_what_a_server_writes_without_end_the_end_is_kept(tmp_path):
    server = StdioServerParameters(command=sys.executable, args=["-c", CHATTY])
    path = tmp_path / "said"
    async with over_stdio(server, tmp_path) as (incoming, _):
        with anyio.fail_after(60):
            await incoming.receive()
        assert path.stat().st_size <= 1 << 20
    said = path.read_text()
    assert said.endswith("xx" * 1_000 + "the last words\n[ended with status 0]\n")
    assert len(said) <= 2 << 20


KILLS_ITS_PARENT = """
import os, signal, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(100)
"""


async def test_a_server_that_kills_its_parent_ends_with_it(tmp_path):
    note = tmp_path / "pid"
    server = StdioServerParameters(command=sys.executable, args=["-c", KILLS_ITS_PARENT, str(note)])
    async with over_stdio(server, tmp_path) as streams:
        with anyio.fail_after(60), contextlib.suppress(anyio.EndOfStream):
            await streams[0].receive()
    pid = Path(f"/proc/{note.read_text()}")
    with anyio.fail_after(60):
        while pid.exists() and pid.joinpath("stat").read_text().split()[2] != "Z":
            await anyio.sleep(0.02)


async def test_the_folder_of_a_server_holds_no_file_that_the_host_reads():
    """A FIFO in place of such a file once stopped the host."""
    session = Session(Address((sys.executable, "-c", LISTS_ITS_FOLDER)))
    with pytest.raises(SurfaceError, match=r"\['home', 'tmp'\]"):
        await session.open()


LISTS_ITS_FOLDER = "import os, sys; sys.exit(str(sorted(os.listdir('..'))))"


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_session_that_its_server_has_ended_is_the_agent_s_doing(goes_on):
    """A server that is down begins no other session, and its episodes are not judged."""
    ended = False

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal ended
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        asked = {}
        if head.startswith("post"):
            size = int(head.split("content-length:")[1].split()[0])
            asked = json.loads(await reader.readexactly(size))
        status, result = "200 OK", {}
        match asked.get("method"):
            case "initialize":
                status = "200 OK" if goes_on or not ended else "503 Service Unavailable"
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "a", "version": "1"},
                }
            case "tools/list":
                status = "404 Not Found" if ended and "session-id: old" in head else status
                result = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                ended, status = True, "404 Not Found"
            case _:
                status = "202 Accepted" if asked else "405 Method Not Allowed"
        body = b""
        if status == "200 OK":
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        name = "new" if ended else "old"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nMcp-Session-Id: {name}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        session = Session(Address(url=f"http://127.0.0.1:{port}/mcp", start_s=30, call_s=30))
        await session.open()
        with pytest.raises(SurfaceError, match="Session terminated") as caught:
            await session.call("a", {})
        assert isinstance(caught.value, SurfaceEndedError) is goes_on
        await session.close()
