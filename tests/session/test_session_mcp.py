"""Sessions over MCP: the official client, our own surface, and requests made by hand."""

import asyncio
import contextlib
import itertools
import json

import httpx
import numpy as np
import pytest
from counter_sessions import ADD, TOLD, config_of, recorded, slow_world, store
from counter_world import CounterEpisode
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from agentgym.errors import ConfigError, SandboxDiedError, SurfaceError
from agentgym.protocols import SurfaceContext
from agentgym.records import Effect, Observation, SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.session import mcp as mcp_module
from agentgym.session.answers import Reply
from agentgym.session.mcp import CALL_NUMBER, INSTRUCTION, McpAdapter, result_of
from agentgym.session.serve import serve_http, serve_stdio, take_port
from agentgym.session.server import SessionServer
from agentgym.surfaces.mcp import McpKind

__all__ = ["store"]


@pytest.fixture(autouse=True)
def short_parting(monkeypatch):
    """Wait less for the connections that clients keep open."""
    monkeypatch.setattr("agentgym.session.serve._PARTING_S", 0.1)


def adapter_of(store, *, told=TOLD, **terms):
    terms = {"tell": False, "max_episodes": 1, "may_fork": False, **terms}
    return McpAdapter(SessionServer(config_of(store, **terms)), told)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_finds_task_and_tools(store, mode):
    async with Client(adapter_of(store).server, mode=mode) as client:
        assert client.instructions.startswith(TOLD) and "submit" in client.instructions
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "submit"]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["task"]
        (message,) = (await client.get_prompt("task")).messages
        assert message.content.text == TOLD
        (resource,) = (await client.list_resources()).resources
        assert str(resource.uri) == INSTRUCTION
        (text,) = (await client.read_resource(INSTRUCTION)).contents
        assert text.text == TOLD
        with pytest.raises(MCPError, match="there is: task"):
            await client.get_prompt("tusk")
        with pytest.raises(MCPError, match=INSTRUCTION):
            await client.read_resource("agentgym://nothing")
    assert store.episodes() == [], "looking around begins no episode"


@pytest.mark.parametrize("tell", [False, True])
async def test_the_verdict_is_told_only_where_it_is_wanted(store, tell):
    async with Client(adapter_of(store, tell=tell).server) as client:
        seen = await client.call_tool("add", {"n": 2})
        assert (seen.is_error, seen.structured_content) == (False, {"number": 2})
        wrong = await client.call_tool("multiply", {"n": 2})
        assert wrong.is_error and "multiply" in wrong.content[0].text
        last = await client.call_tool("submit", {})
    assert last.content[0].text.startswith("handed in\nThe episode is over.")
    assert last.structured_content["episode"] == (
        {"over": True, "score": 0.5, "outcome": False} if tell else {"over": True}
    )
    assert ("0.5" in last.content[0].text) is tell
    assert store.episode(1).verdict.score == 0.5
    assert len(store.steps(1)) == 3, "an illegal call costs a step"


def test_pictures_and_failures_travel():
    image = np.zeros((2, 3, 3), np.uint8)
    result = result_of(Reply("e1", Observation("seen", image, {}, Effect.TIMEOUT)))
    assert result.is_error and result.structured_content is None
    assert [part.type for part in result.content] == ["text", "image"]
    over = result_of(Reply("e1", Observation("end"), terminated=True))
    assert over.content[0].text == "end\nThe episode is over."


async def test_every_http_session_is_an_episode(store):
    async with _served(adapter_of(store)) as url:
        async with Client(url) as one, Client(url) as other:
            await one.call_tool("add", {"n": 3})
            await other.call_tool("add", {"n": 1})
            first = await one.call_tool("add", {"n": 1})
            await one.call_tool("submit", {})
        assert first.structured_content == {"number": 4}
        left = await recorded(store, 2)
        # This one is still there when the server is stopped.
        staying = streamable_http_client(url, terminate_on_close=False)
        async with Client(staying) as third:
            await third.call_tool("add", {"n": 1})
    assert [row.verdict.status for row in store.episodes()] == [
        "scored", "scored", "error:agent",
    ]  # fmt: skip
    assert left.error == "the client ended its session without submit or give_up"
    assert store.episode(3).error == "the server was stopped"


async def test_a_refused_end_of_a_session_ends_no_episode(store):
    async with _served(adapter_of(store)) as url, _by_hand(url) as post:
        await post("tools/call", {"name": "add", "arguments": {"n": 1}})
        async with httpx.AsyncClient(headers=post.headers) as client:
            for refused in (
                await client.delete(url.replace("/mcp", "/other")),
                await client.delete(url, headers={"host": "elsewhere.example"}),
            ):
                assert refused.status_code >= 400
            second = await post("tools/call", {"name": "add", "arguments": {"n": 1}})
            assert second.json()["result"]["structuredContent"] == {"number": 2}
            assert (await client.delete(url)).status_code == 200
        await recorded(store)
    assert len(store.episodes()) == 1 and len(store.steps(1)) == 2


async def test_http_without_a_session_is_refused(store):
    async with (
        _served(adapter_of(store)) as url,
        Client(streamable_http_client(url), mode="2026-07-28") as client,
    ):
        with pytest.raises(MCPError, match="an episode is a session"):
            await client.call_tool("add", {"n": 3})
    assert store.episodes() == []


@contextlib.asynccontextmanager
async def _by_hand(url):
    """Begin an MCP session with requests made by hand; yields what makes a call in it."""
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "0"},
    }
    numbers = itertools.count(1)
    async with httpx.AsyncClient() as client:

        async def post(method, params):
            body = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
            content = json.dumps(body).replace('"NaN"', "NaN")
            return await client.post(url, content=content, headers=headers)

        headers["mcp-session-id"] = (await post("initialize", hello)).headers["mcp-session-id"]
        post.headers = headers
        yield post


async def test_what_is_no_json_is_refused_and_costs_nothing(store):
    async with _served(adapter_of(store)) as url, _by_hand(url) as post:
        reply = await post("tools/call", {"name": "add", "arguments": {"n": "NaN"}})
    assert "expected JSON" in reply.json()["error"]["message"]
    assert store.episodes() == []


async def test_a_client_whose_connection_breaks_in_a_call_asks_again(store):
    config, began, go_on = slow_world(store)
    call = {"name": "add", "arguments": {"n": 2}, "_meta": {CALL_NUMBER: 1}}
    async with (
        _served(McpAdapter(SessionServer(config), TOLD)) as url,
        _by_hand(url) as post,
    ):
        lost = asyncio.create_task(post("tools/call", call))
        await began.wait()
        lost.cancel()
        await asyncio.wait({lost})
        go_on.set()
        reply = (await post("tools/call", call)).json()
    assert reply["result"]["structuredContent"] == {"number": 2}
    assert len(store.episodes()) == len(store.steps(1)) == 1


@pytest.mark.parametrize("header", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
async def test_pages_of_other_sites_are_refused(store, header):
    headers = {"accept": "application/json, text/event-stream", **header}
    async with _served(adapter_of(store)) as url, httpx.AsyncClient() as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        reply = await client.post(url, json=body, headers=headers)
    assert reply.status_code in (403, 421)


async def test_a_port_that_is_taken_is_said(store):
    async with _served(adapter_of(store)) as url:
        port = int(url.split(":")[2].removesuffix("/mcp"))
        with pytest.raises(ConfigError, match="--port"):
            take_port(port)


async def test_our_own_surface_tells_a_session_that_was_forgotten(store):
    site = SurfaceContext(NoSandbox())
    async with _served(adapter_of(store)) as url:
        config = SurfaceConfig(options={"url": url, "call_s": 10.0})
        # Making one waits for the server, which is served by this very loop.
        kind = await asyncio.to_thread(McpKind, config)
        surface = await kind.attach(site)
        assert (await surface.call(ADD)).data == {"structured": {"number": 2}}
    async with _served(adapter_of(store), int(url.split(":")[2].removesuffix("/mcp"))):
        with pytest.raises(SurfaceError, match="is gone"):
            await surface.call(ADD)
        await surface.close()
        surface = await kind.attach(site)
        assert (await surface.call(ADD)).data == {"structured": {"number": 2}}
        await surface.close()


@contextlib.asynccontextmanager
async def _served(adapter, port=0):
    loop = asyncio.get_running_loop()
    ending, url = asyncio.Event(), loop.create_future()
    with take_port(port) as listening:
        serving = asyncio.create_task(serve_http(adapter, listening, ending, url.set_result))
        # Where serving fails at once, that is what is raised.
        await asyncio.wait({serving, url}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if not serving.done():
                yield await url
        finally:
            ending.set()
            await serving


async def test_a_signal_after_the_client_has_left_cuts_its_last_call_short(store, monkeypatch):
    config, began, _ = slow_world(store)
    ending = asyncio.Event()

    async def leave_in_a_call(server, parting):
        await began.wait()
        asyncio.get_running_loop().call_later(0.1, ending.set)

    monkeypatch.setattr("agentgym.session.serve.over_stdio", leave_in_a_call)
    adapter = McpAdapter(SessionServer(config), TOLD)
    async with Client(adapter.server) as client:
        calling = asyncio.create_task(client.call_tool("add", {"n": 2}))
        await serve_stdio(adapter, ending)
        row = store.episode(1)
        await asyncio.wait({calling})
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.0)
    assert row.error == "the client left without submit or give_up"


@pytest.mark.parametrize("last", ["add", "submit"])
async def test_a_signal_does_not_end_the_judgement_of_a_client_that_has_left(
    store, monkeypatch, last
):
    judging, left, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Judged(CounterEpisode):
        async def finish(self):
            if self.over:
                raise SurfaceError("the episode is over; start another one")
            self.over = True
            judging.set()
            await go_on.wait()
            return await super().finish()

    config = config_of(store)
    (environment,) = config.environments.values()
    environment.episode_type = Judged
    adapter, ending = McpAdapter(SessionServer(config), TOLD), asyncio.Event()

    async def leave(server, parting):
        async with Client(server) as client:
            await client.call_tool("add", {"n": 2})
            if last == "submit":
                calling = asyncio.create_task(client.call_tool("submit", {}))
                await judging.wait()
                calling.cancel()
                await asyncio.wait({calling})
        left.set()

    monkeypatch.setattr("agentgym.session.serve.over_stdio", leave)
    serving = asyncio.create_task(serve_stdio(adapter, ending))
    await asyncio.gather(judging.wait(), left.wait())
    for _ in range(20):
        await asyncio.sleep(0)
    ending.set()
    for _ in range(20):
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(serving, 20)
    verdict = store.episode(1).verdict
    assert (verdict.status, verdict.score) == ("scored", 0.5)


async def test_what_the_world_adds_at_the_start_comes_with_the_first_answer(store):
    async with Client(adapter_of(store, told="Count").server) as client:
        texts = [(await client.call_tool("add", {"n": 2})).content[0].text for _ in "ab"]
    assert texts == ["to 4.\nit is 2 (pid 41)", "it is 4 (pid 41)"]


async def test_a_first_answer_that_was_lost_comes_again_as_it_was(store):
    async with Client(adapter_of(store, told="Count").server) as client:
        seen = [
            await client.call_tool("add", {"n": 2}, meta={CALL_NUMBER: n}) for n in (1, 1, 2, 1)
        ]
    first, last = "to 4.\nit is 2 (pid 41)", "it is 4 (pid 41)"
    assert [one.content[0].text for one in seen] == [first, first, last, first]


@pytest.mark.parametrize("moment", ["reset", 0])
async def test_what_breaks_is_told_at_every_call(store, moment):
    provider = {"trouble": {moment: SandboxDiedError("it is gone")}, "trouble_passes": moment == 0}
    async with Client(adapter_of(store, provider=provider).server) as client:
        for _ in range(2):
            seen = await client.call_tool("add", {"n": 2})
            assert seen.is_error and seen.structured_content == {"episode": {"over": True}}
            assert seen.content[0].text.startswith("error: error:sandbox: it is gone")
    assert len(store.episodes()) == 1


async def test_after_the_end_a_client_is_told_to_begin_another_session(store):
    async with Client(adapter_of(store, tell=True).server) as client:
        await client.call_tool("submit", {})
        late = await client.call_tool("add", {"n": 2})
    assert late.is_error and "a new session begins another one" in late.content[0].text
    assert late.structured_content["episode"] == {"over": True, "score": 0.0, "outcome": False}
    assert len(store.episodes()) == 1


async def test_calls_at_once_begin_one_episode(store):
    async with Client(adapter_of(store).server) as client:
        seen = await asyncio.gather(*(client.call_tool("add", {"n": 1}) for _ in range(4)))
    assert sorted(one.structured_content["number"] for one in seen) == [1, 2, 3, 4]
    assert len(store.episodes()) == 1


async def test_only_so_many_episodes_are_played(store):
    adapter = adapter_of(store, max_live=1)
    async with _served(adapter) as url, Client(url) as one, Client(url) as other:
        await one.call_tool("add", {"n": 1})
        for _ in range(2):
            with pytest.raises(MCPError, match="1 episodes are being played"):
                await other.call_tool("add", {"n": 1})
        await one.call_tool("submit", {})
        assert not (await other.call_tool("add", {"n": 1})).is_error
    assert len(store.episodes()) == 2


async def test_a_call_with_a_number_is_done_once(store):
    async with Client(adapter_of(store).server) as client:

        async def call(n, number):
            return await client.call_tool("add", {"n": n}, meta={CALL_NUMBER: number})

        for _ in range(3):
            assert (await call(2, 1)).structured_content == {"number": 2}
        assert "was another call" in (await call(3, 1)).content[0].text
        with pytest.raises(MCPError, match="call number 0"):
            await call(2, 0)
    assert len(store.steps(1)) == 1


async def test_a_long_call_reports_progress(store, monkeypatch):
    monkeypatch.setattr(mcp_module, "_PROGRESS_S", 0.01)
    config, began, go_on = slow_world(store)
    told = []

    async def note(progress, total, message):
        told.append(progress)
        if len(told) == 3:
            go_on.set()

    async with Client(McpAdapter(SessionServer(config), TOLD).server) as client:
        seen = await client.call_tool("add", {"n": 2}, progress_callback=note)
    assert seen.structured_content == {"number": 2}
    assert told[:3] == sorted(told[:3]) and told[0] > 0


@pytest.mark.parametrize("bound", [("serve._MOST_CONNECTIONS", 2), ("connections.SILENT_S", 0.05)])
async def test_connections_without_a_request_do_not_stay(store, monkeypatch, bound):
    monkeypatch.setattr(f"agentgym.session.{bound[0]}", bound[1])
    ending = asyncio.Event()
    with take_port(0) as listening:
        address = listening.getsockname()
        serving = asyncio.create_task(
            serve_http(adapter_of(store), listening, ending, lambda url: None)
        )
        pairs = [await asyncio.open_connection(*address) for _ in range(4)]
        for _, writer in pairs[2:]:
            writer.write(b"POST /mcp HTTP/1.1\r\n")
        for reader, writer in pairs[2:]:
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 20) == b""
            writer.close()
        for _, writer in pairs[:2]:
            writer.close()
        ending.set()
        await asyncio.wait_for(serving, 20)
