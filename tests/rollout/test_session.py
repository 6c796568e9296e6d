"""Guests in a counting world: their calls are an agent's, their sessions recorded episodes."""

import asyncio
import contextlib
import json

import httpx
import numpy as np
import pytest
from counter_world import CounterEnvironment, CounterEpisode, CounterProvider, counter_task
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from agentgym.errors import ConfigError, SandboxDiedError, SurfaceError
from agentgym.protocols import Site
from agentgym.record.store import RunStore
from agentgym.records import Action, Effect, Observation, SurfaceConfig, Verdict
from agentgym.rollout import session as session_module
from agentgym.rollout.mcp import INSTRUCTION, SessionServer, result_of
from agentgym.rollout.serve import serve_http, take_port
from agentgym.rollout.session import Answer, Session, SessionConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.surfaces.mcp import McpKind

ADD = Action("add", {"n": 2})
SUBMIT = Action("submit")
TOLD = "Count to 4."


@pytest.fixture
def store(tmp_path):
    run = RunStore.create(tmp_path / "run", {}, [])
    yield run
    run.close()


def config_of(store, *, idle_s=20.0, timeout_s=None, max_steps=20, **trouble):
    environment = CounterEnvironment(counter_task(max_steps=max_steps), CounterProvider(**trouble))
    return SessionConfig(
        "counter/count-v1", environment, store, seed=5, idle_s=idle_s, timeout_s=timeout_s
    )


def visit_of(store, **options):
    return Session(config_of(store, **options), TOLD)


async def ended(store, episode=1):
    for _ in range(200):
        row = store.episode(episode)
        if row.state == "done":
            return row
        await asyncio.sleep(0.05)
    raise AssertionError("the episode is not over")


# --- a session ---------------------------------------------------------------------------------


async def test_a_visit_is_a_recorded_episode(store):
    session = visit_of(store)
    assert store.episodes() == []
    seen = [await session.call(action, "someone") for action in (ADD, ADD, SUBMIT)]
    assert [answer.observation.text.split(" (")[0] for answer in seen] == [
        "it is 2", "it is 4", "handed in",
    ]  # fmt: skip
    assert [answer.over for answer in seen] == [False, False, True]
    assert seen[-1].verdict.score == 1.0
    row = store.episode(1)
    assert (row.plan.task, row.plan.seed, row.plan.agent) == ("counter/count-v1", 5, "mcp:someone")
    assert (row.state, row.verdict.score, row.instruction) == ("done", 1.0, TOLD)
    assert [step.action for step in store.steps(1)] == [ADD, ADD, SUBMIT]


async def test_nothing_goes_on_after_the_end(store):
    session = visit_of(store)
    await session.call(SUBMIT, "x")
    late = await session.call(ADD, "x")
    assert late.over and late.observation.effect is Effect.ERROR
    assert "new session" in late.observation.text and late.verdict.score == 0
    await session.leave("too late to leave")
    assert len(store.steps(1)) == 1 and store.episode(1).verdict.scored


async def test_steps_run_out(store):
    session = visit_of(store, max_steps=2)
    assert not (await session.call(ADD, "x")).over
    last = await session.call(ADD, "x")
    assert last.over and last.observation.text.startswith("it is 4")
    assert last.verdict.score == 1.0


class Slow(CounterEpisode):
    """Does not come to the end of a step before it is let go on."""

    def __init__(self, environment, seed):
        super().__init__(environment, seed)
        self.began, self.go_on = environment.began, environment.go_on

    async def step(self, decision, *, recorded=()):
        self.began.set()
        await self.go_on.wait()
        return await super().step(decision, recorded=recorded)


@pytest.mark.parametrize("stopped", [False, True])
async def test_who_leaves_in_the_middle_of_a_call_is_judged_after_it(store, monkeypatch, stopped):
    monkeypatch.setattr(session_module, "_END_S", 0.01)
    config = config_of(store)
    env = config.environment
    env.episode_type, env.began, env.go_on = Slow, asyncio.Event(), asyncio.Event()
    session = Session(config, TOLD)
    calling = asyncio.create_task(session.call(ADD, "x"))
    await env.began.wait()
    calling.cancel()
    leaving = asyncio.create_task(session.leave("the client left", stopped=stopped))
    await asyncio.wait({leaving}, timeout=0.1)
    assert leaving.done() is stopped, "only the end of the server does not wait for the call"
    env.go_on.set()
    await leaving
    verdict = store.episode(1).verdict
    assert (verdict and verdict.score) == (None if stopped else 0.5)


async def test_who_leaves_early_is_judged_as_it_stands(store):
    session = visit_of(store)
    await session.call(ADD, "x")
    await session.leave("the client left")
    row = store.episode(1)
    assert (row.state, row.verdict.status, row.error) == ("done", "scored", "the client left")
    assert row.verdict.score == 0.5
    assert (await session.call(ADD, "x")).over


async def test_an_episode_that_the_server_ends_has_no_score(store):
    session = visit_of(store)
    await session.call(ADD, "x")
    await session.leave("the server was stopped", stopped=True)
    row = store.episode(1)
    assert (row.verdict.status, row.error) == ("error:agent", "the server was stopped")


async def test_who_never_called_has_no_episode(store):
    await visit_of(store).leave("the client left")
    assert store.episodes() == []


async def test_who_is_idle_is_judged_as_it_stands(store):
    session = visit_of(store, idle_s=0.3)
    await session.call(ADD, "x")
    row = await ended(store)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.5)
    assert row.log == "truncated after 1 steps: nothing was called for 0.3 s\n"
    assert (await session.call(ADD, "x")).verdict.score == 0.5


async def test_wall_time_bounds_a_visit_too(store):
    session = visit_of(store, timeout_s=0.3)
    await session.call(ADD, "x")
    row = await ended(store)
    assert row.verdict.score == 0.5 and "the agent had 0.3 s" in row.log


async def test_calls_at_once_are_done_one_after_the_other(store):
    session = visit_of(store)
    calls = [session.call(Action("add", {"n": 1}), "x") for _ in range(6)]
    seen = [answer.observation.text for answer in await asyncio.gather(*calls)]
    assert seen == [f"it is {n} (pid 41)" for n in range(1, 7)]


async def test_a_call_after_the_last_is_told_so(store):
    session = visit_of(store)
    done, late = await asyncio.gather(session.call(SUBMIT, "x"), session.call(ADD, "x"))
    assert done.observation.text == "handed in"
    assert "before this call" in late.observation.text and late.over


async def test_a_call_that_was_given_up_before_its_turn_is_not_done(store):
    gate = asyncio.Event()

    config = config_of(store)
    env = config.environment
    env.episode_type, env.began, env.go_on = Slow, asyncio.Event(), gate
    session = Session(config, TOLD)
    first, second, third = (asyncio.create_task(session.call(ADD, "x")) for _ in range(3))
    await asyncio.sleep(0.1)
    first.cancel()  # under way: it is done all the same
    second.cancel()
    await asyncio.wait({first, second})
    gate.set()
    assert (await third).observation.text == "it is 4 (pid 41)"


@pytest.mark.parametrize("moment", ["reset", 1, "grade"])
async def test_what_breaks_is_said_and_recorded(store, moment):
    session = visit_of(store, trouble={moment: SandboxDiedError("it is gone")})
    answers = [await session.call(action, "x") for action in (ADD, SUBMIT)]
    end = next(answer for answer in answers if answer.over)
    assert "it is gone" in end.observation.text and end.verdict is None
    assert store.episode(1).verdict.status == "error:sandbox"


async def test_what_a_broken_check_says_is_not_for_the_guest(store):
    session = visit_of(store, trouble={"check": True})
    answer = await session.call(SUBMIT, "x")
    assert answer.over and answer.observation.text == "error: error:verifier"
    assert "ZeroDivisionError" in store.episode(1).error


async def test_what_the_world_adds_at_the_start_comes_with_the_first_answer(store):
    session = Session(config_of(store), "Count")
    assert (await session.call(ADD, "x")).observation.text == "to 4.\nit is 2 (pid 41)"
    assert (await session.call(ADD, "x")).observation.text == "it is 4 (pid 41)"


# --- over MCP --------------------------------------------------------------------------------


def reception_of(store, *, tell=False, **options):
    config = config_of(store, **options)
    return SessionServer(config, TOLD, config.environment.tools, tell=tell)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_finds_task_and_tools(store, mode):
    async with Client(reception_of(store).server, mode=mode) as client:
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
    async with Client(reception_of(store, tell=tell).server) as client:
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
    result = result_of(Answer(Observation("seen", image, {}, Effect.TIMEOUT)))
    assert result.is_error and result.structured_content is None
    assert [part.type for part in result.content] == ["text", "image"]
    over = result_of(Answer(Observation("end"), True, Verdict("scored", True, 1.0)))
    assert over.content[0].text == "end\nThe episode is over."


async def test_every_http_session_is_an_episode(store):
    async with _served(reception_of(store)) as url:
        async with Client(url) as one, Client(url) as other:
            await one.call_tool("add", {"n": 3})
            await other.call_tool("add", {"n": 1})
            first = await one.call_tool("add", {"n": 1})
            await one.call_tool("submit", {})
        assert first.structured_content == {"number": 4}
        left = await ended(store, 2)
        # This one is still there when the server is stopped.
        staying = streamable_http_client(url, terminate_on_close=False)
        async with Client(staying) as third:
            await third.call_tool("add", {"n": 1})
    assert [row.verdict.status for row in store.episodes()] == [
        "scored", "scored", "error:agent",
    ]  # fmt: skip
    assert left.error == "the client ended its session without submit or give_up"
    assert store.episode(3).error == "the server was stopped"


async def test_http_without_a_session_is_refused(store):
    async with (
        _served(reception_of(store)) as url,
        Client(streamable_http_client(url), mode="2026-07-28") as client,
    ):
        with pytest.raises(MCPError, match="an episode is a session"):
            await client.call_tool("add", {"n": 3})
    assert store.episodes() == []


async def test_what_is_no_json_is_refused_and_costs_nothing(store):
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "0"},
    }
    call = {"name": "add", "arguments": {"n": "NaN"}}
    async with _served(reception_of(store)) as url, httpx.AsyncClient() as client:

        async def post(method, params, **headers):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            headers["accept"] = "application/json, text/event-stream"
            headers["content-type"] = "application/json"
            return await client.post(url, content=body.replace('"NaN"', "NaN"), headers=headers)

        session = (await post("initialize", hello)).headers["mcp-session-id"]
        reply = (await post("tools/call", call, **{"mcp-session-id": session})).json()
    assert "expected JSON" in reply["error"]["message"]
    assert store.episodes() == []


@pytest.mark.parametrize("header", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
async def test_pages_of_other_sites_are_refused(store, header):
    headers = {"accept": "application/json, text/event-stream", **header}
    async with _served(reception_of(store)) as url, httpx.AsyncClient() as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        reply = await client.post(url, json=body, headers=headers)
    assert reply.status_code in (403, 421)


async def test_a_port_that_is_taken_is_said(store):
    async with _served(reception_of(store)) as url:
        port = int(url.split(":")[2].removesuffix("/mcp"))
        with pytest.raises(ConfigError, match="--port"):
            take_port(port)


async def test_our_own_surface_tells_a_session_that_was_forgotten(store):
    site = Site(NoSandbox())
    async with _served(reception_of(store)) as url:
        config = SurfaceConfig(options={"url": url, "call_s": 10.0})
        # Making one waits for the server, which is served by this very loop.
        kind = await asyncio.to_thread(McpKind, config)
        surface = await kind.attach(site)
        assert (await surface.call(ADD)).data == {"structured": {"number": 2}}
    async with _served(reception_of(store), int(url.split(":")[2].removesuffix("/mcp"))):
        with pytest.raises(SurfaceError, match="is gone"):
            await surface.call(ADD)
        await surface.close()
        surface = await kind.attach(site)
        assert (await surface.call(ADD)).data == {"structured": {"number": 2}}
        await surface.close()


@contextlib.asynccontextmanager
async def _served(sessions, port=0):
    loop = asyncio.get_running_loop()
    ending, url = asyncio.Event(), loop.create_future()
    with take_port(port) as listening:
        serving = asyncio.create_task(serve_http(sessions, listening, ending, url.set_result))
        # Where serving fails at once, that is what is raised.
        await asyncio.wait({serving, url}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if not serving.done():
                yield await url
        finally:
            ending.set()
            await serving


async def test_so_many_calls_wait_and_no_more(store, monkeypatch):
    monkeypatch.setattr("agentgym.rollout.session.MAX_WAITING", 3)
    session = visit_of(store)
    answers = await asyncio.gather(*(session.call(ADD, "x") for _ in range(6)))
    refused = [a for a in answers if "calls wait for their turn" in a.observation.text]
    assert 2 <= len(refused) <= 3 and all(not answer.over for answer in answers)
    await session.call(SUBMIT, "x")
    assert len(store.steps(1)) == 7 - len(refused)


async def test_so_many_episodes_are_played_and_no_more(store, monkeypatch):
    monkeypatch.setattr("agentgym.rollout.mcp.MAX_PLAYING", 1)
    sessions = reception_of(store)
    first = sessions._session("one")
    await first.call(ADD, "x")
    with pytest.raises(MCPError, match="1 episodes are being played"):
        sessions._session("two")
    assert sessions._session("one") is first
    await first.call(SUBMIT, "x")
    assert sessions._session("two") is not first
