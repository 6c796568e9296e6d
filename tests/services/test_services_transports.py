"""HTTP and MCP, as their own clients see them; and a service that is killed."""

import base64
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from openapi_spec_validator import validate
from shop import PICTURE, shop

from agentgym.services import Backend, load_services, read_audit, recover
from agentgym.services.http import http_app, serve_http
from agentgym.services.mcp import mcp_app, mcp_server
from agentgym.services.openapi import openapi

SHOP = shop()
HERE = Path(__file__).parent
CALLS = [
    ("shop_order", {"lines": [{"item": "cup", "count": 2}], "note": "naïve ☃ '; --"}),
    ("shop_look", {"item": "cup"}),
    ("shop_look", {"item": "saucer"}),
    ("shop_order", {"lines": "x"}),
    ("shop_order", {"lines": [{"item": "cup", "count": 10_000}]}),
    ("shop_crash", {"after": 1}),
    ("shop_cancel", {"order": 1, "extra": None}),
    ("shop_nothing", {}),
    ("shop_put", {"word": "w", "weight": 0.1, "twice": True}),
    ("shop_picture", {}),
]


@pytest.fixture
def live():
    return Backend(SHOP, SHOP.template(3))


@pytest.fixture
def client(live):
    with serve_http(http_app(live)) as url, httpx.Client(base_url=url) as client:
        yield client


async def test_stdio_tells_the_same_as_a_direct_call(live, tmp_path):
    server = StdioServerParameters(
        command=sys.executable, args=[str(HERE / "served_shop.py"), str(tmp_path)]
    )
    async with Client(stdio_client(server)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        told = [await client.call_tool(tool, arguments) for tool, arguments in CALLS]
    direct = [live.call(tool, arguments) for tool, arguments in CALLS]
    assert [r.structured_content for r in told] == [json.loads(r.json) for r in direct]
    assert [r.is_error for r in told] == [r.error is not None for r in direct]
    assert read_audit(tmp_path / "audit.jsonl") == list(live.audit)
    assert (tmp_path / "hash").read_text() == live.hash
    assert set(tools) == set(SHOP.functions)
    for name, tool in tools.items():
        assert tool.input_schema == SHOP.functions[name].spec.parameters
        assert tool.annotations.read_only_hint is not SHOP.functions[name].writes
    picture = told[-1].content[1]
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert base64.b64decode(picture.data) == PICTURE


async def test_every_mcp_error_is_a_result_with_is_error(live):
    with serve_http(mcp_app(live)) as url:
        async with Client(f"{url}/mcp") as client:
            for tool, arguments in CALLS:
                result = await client.call_tool(tool, arguments)
                assert result.is_error == (live.audit[-1].code != "")
                if result.is_error:
                    assert result.structured_content["error"]["code"] == live.audit[-1].code
                assert json.loads(result.content[0].text) == result.structured_content


async def test_mcp_speaks_the_older_handshake_too(live):
    async with Client(mcp_server(live), mode="legacy") as client:
        result = await client.call_tool("shop_look", {"item": "cup"})
        assert not result.is_error and isinstance(result.structured_content["result"], int)


def test_http_has_a_status_for_every_code(client, live):
    statuses = [client.post(f"/tools/{tool}", json=arguments) for tool, arguments in CALLS]
    assert [r.status_code for r in statuses] == [200, 200, 404, 422, 409, 500, 422, 422, 200, 200]
    for reply, entry in zip(statuses, live.audit, strict=True):
        body = reply.json()
        assert body.keys() == ({"result"} if entry.ok else {"error"})
        if not entry.ok:
            assert body["error"] == {
                "code": entry.code, "message": entry.error, "field": entry.field or None,
            }  # fmt: skip
    name = statuses[-1].json()["result"]
    shown = client.get(f"/images/{name}")
    assert (shown.content, shown.headers["content-type"]) == (PICTURE, "image/png")
    assert client.get("/images/image:000000000000").status_code == 404


@pytest.mark.parametrize(
    "body",
    [b"[", b"[]", b"7", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"a": NaN}', b"x" * 7 * 2**20],
)
def test_a_body_that_is_no_object_is_invalid(client, live, body):
    before = live.hash
    reply = client.post("/tools/shop_look", content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid")
    assert live.hash == before


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/tools/shop_look", 405, "invalid"),
        ("POST", "/tools/shop/look", 404, "not_found"),
        ("GET", "/audit", 404, "not_found"),
    ],
)
def test_what_is_for_no_tool_has_the_same_envelope(client, live, method, path, status, code):
    reply = client.request(method, path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert "POST /tools/NAME" in reply.json()["error"]["message"]
    assert not list(live.audit)


def test_callers_at_once_lose_nothing(live):
    with serve_http(http_app(live)) as url, ThreadPoolExecutor(8) as pool:

        def put(k):
            return httpx.post(f"{url}/tools/shop_put", json={"word": f"w{k}"}).status_code

        assert list(pool.map(put, range(64))) == [200] * 64
    assert sorted(live.state.rows.column("SELECT word FROM shop_word")) == sorted(
        f"w{k}" for k in range(64)
    )
    assert [entry.sequence for entry in live.audit] == list(range(64))


@pytest.mark.parametrize("folder", [None, HERE.parents[1] / "envs/office/services"])
def test_the_description_is_openapi(folder):
    services = SHOP if folder is None else load_services(folder)
    document = openapi(services)
    validate(document)
    assert document["openapi"] == "3.1.0"
    assert {p for p in document["paths"] if p.startswith("/tools/")} == {
        f"/tools/{name}" for name in services.functions
    }


@pytest.mark.parametrize("app", [http_app, mcp_app])
@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"host": "evil.example:8000"}, "host"),
        ({"host": "127.0.0.1.evil.example"}, "host"),
        ({"host": "127.0.0.1@evil.example"}, "host"),
        ({"host": "[::1"}, "host"),
        ({"host": ""}, "host"),
        ({"origin": "https://evil.example"}, "origin"),
        ({"origin": "null"}, "origin"),
    ],
)
def test_pages_of_other_sites_are_kept_out(live, app, headers, field):
    with serve_http(app(live)) as url:
        for path in ("/tools/shop_order", "/mcp", "/openapi.json"):
            reply = httpx.post(f"{url}{path}", json={}, headers=headers)
            assert reply.status_code == 403
            error = reply.json()["error"]
            assert (error["code"], error["field"]) == ("forbidden", field)
    assert len(live.audit) == 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_local_names_are_let_in(client, host):
    headers = {"host": host, "origin": f"http://{host}"}
    assert client.post("/tools/shop_look", json={"item": "cup"}, headers=headers).is_success


def test_the_audit_is_out_of_reach(client):
    for path in ("/audit", "/", "/docs", "/state", "/tools", "/tools/shop_look"):
        assert client.get(path).status_code in (404, 405)


def test_a_kill_in_the_middle_of_a_write_loses_nothing_that_was_answered(tmp_path):
    done = subprocess.run(
        [sys.executable, str(HERE / "killed_shop.py"), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    entries = read_audit(tmp_path / "audit.jsonl")
    assert [(entry.tool, entry.ok) for entry in entries] == [("shop_order", True)] * 2
    assert entries[-1].after == done.stdout.strip()
    kept = SHOP.snapshot_of((tmp_path / "snapshot").read_bytes(), entries[0].now)
    assert kept.hash == entries[0].after
    back = recover(SHOP, kept, entries[1:])
    assert back.hash == entries[-1].after
    assert back.call("shop_put", {"word": "goes on"}).error is None


def test_a_server_that_is_killed_in_the_middle_of_a_write_has_written_none_of_it(tmp_path):
    command = [sys.executable, str(HERE / "killed_server.py"), str(tmp_path)]
    order = {"lines": [{"item": "cup", "count": 1}, {"item": "spoon", "count": 1}]}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip() + "/tools/shop_order"
            assert [httpx.post(url, json=order).status_code for _ in range(2)] == [200, 200]
            with pytest.raises(httpx.TransportError):
                httpx.post(url, json=order)
            assert server.wait(30) == -signal.SIGKILL
        finally:
            server.kill()
    entries = read_audit(tmp_path / "audit.jsonl")
    assert [(entry.tool, len(entry.changed)) for entry in entries] == [("shop_order", 4)] * 2
    back = recover(SHOP, SHOP.template(3), entries)
    assert back.hash == entries[-1].after
    assert back.state.rows.value("SELECT count(*) FROM shop_order") == 4
    with serve_http(http_app(back)) as url:
        assert httpx.post(f"{url}/tools/shop_order", json=order).json()["result"] == [5, 6]
