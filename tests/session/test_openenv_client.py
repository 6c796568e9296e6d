"""Environments on servers of OpenEnv: a server that speaks its protocol, a hostile one, our own."""

import asyncio
import base64
import contextlib
import gzip
import http
import io
import json
import threading
import tracemalloc

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from live_server import TASK, TOKEN, live_server
from PIL import Image
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Response

import agentgym
import agentgym.vector
from agentgym.env.remote.openenv.address import OpenEnvAddress
from agentgym.env.remote.openenv.connection import Connection
from agentgym.errors import ConfigError, ServerError

ADD = {"tool": "step", "arguments": {"n": 2}}
PAGES = {
    "/metadata": {"name": "Counter", "description": "Count to four."},
    "/schema": {
        "action": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "metadata": {"type": "object"}},
            "required": ["n"],
        },
        "observation": {"type": "object", "properties": {"count": {"type": "integer"}}},
    },
}
CALLS = {"action": {"properties": {"type": {}, "tool_name": {}, "arguments": {}}}}


def seen(fields, reward=None, done=False, **more):
    return {
        "type": "observation",
        "data": {"observation": fields, "reward": reward, "done": done},
    } | more


class Counter:
    """Answers as the server of openenv-core does; `odd` replaces answers by type."""

    def __init__(self):
        self.pages, self.odd, self.coding = dict(PAGES), {}, {}
        self.live, self.most, self.hangs = 0, 0, False
        self.messages, self.headers = [], []

    async def answer(self, socket):
        self.live += 1
        self.most = max(self.most, self.live)
        self.headers.append(dict(socket.request.headers))
        count = 0
        try:
            async for text in socket:
                message = json.loads(text)
                kind, data = message["type"], message.get("data", {})
                self.messages.append(message)
                if kind == "close":
                    return
                if self.hangs:
                    continue
                if kind in self.odd:
                    if (odd := self.odd[kind]) is None:
                        return
                    await socket.send(odd if isinstance(odd, str | bytes) else json.dumps(odd))
                elif kind == "reset":
                    count = 0
                    await socket.send(json.dumps(seen({"count": 0})))
                else:
                    count += data.get("n", 0)
                    won = 1.0 if count == 4 else None
                    await socket.send(json.dumps(seen({"count": count}, won, count >= 4)))
        finally:
            self.live -= 1

    def page(self, connection, request):
        if request.path == "/ws":
            return None
        found = self.pages.get(request.path)
        status = http.HTTPStatus.NOT_FOUND if found is None else http.HTTPStatus.OK
        body = found if isinstance(found, bytes) else json.dumps(found).encode()
        headers = Headers({"Content-Length": str(len(body))})
        if request.path in self.coding:
            headers["Content-Encoding"] = self.coding[request.path]
        return Response(status.value, status.phrase, headers, body)


@pytest.fixture
def counter():
    made, loop, ready = Counter(), asyncio.new_event_loop(), threading.Event()
    over = asyncio.Event()

    async def run():
        async with serve(made.answer, "127.0.0.1", 0, process_request=made.page) as server:
            made.url = f"openenv+http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert ready.wait(10)
    yield made
    loop.call_soon_threadsafe(over.set)
    thread.join(20)
    loop.close()


@pytest.fixture
def env(counter):
    env = agentgym.make(server=counter.url)
    yield env.unwrapped
    env.close()


def test_an_episode_is_played_and_rewarded(counter, env):
    (tool,) = env.environment.tools
    assert tool.name == "step" and set(tool.parameters["properties"]) == {"n"}
    first, info = env.reset(seed=5)
    assert first["text"] == 'Count to four.\n\n{\n "count": 0\n}'
    assert (info["task"], info["seed"]) == ("openenv/Counter", 5)
    assert counter.messages == [{"type": "reset", "data": {"seed": 5}}]
    observation, *rest, info = env.step(ADD)
    assert observation["data"] == {"count": 2} and rest == [0.0, False, False]
    assert info["effect"] == "changed" and "verdict" not in info
    assert env.step(ADD)[1:4] == (1.0, True, False)
    with pytest.raises(ResetNeeded):
        env.step(ADD)
    env.reset(seed=6)
    assert counter.most == 1  # one connection for all episodes
    # A policy that fails is worth nothing, it does not leave the mean.
    assert env.step({"tool": "step", "arguments": {"n": 9}})[1:4] == (0.0, True, False)


def test_it_is_an_environment_of_gymnasium(counter):
    env = agentgym.make(server=counter.url)
    check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)
    env.close()
    assert counter.live == 0


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "go",
        {"tool": "fly"},
        {"tool": "step"},
        {"tool": "step", "arguments": {"n": "two"}},
        {"tool": "step", "arguments": {"n": float("nan")}},
    ],
)
def test_an_illegal_call_is_answered_and_never_sent(counter, env, odd):
    env.reset(seed=1)
    observation, *rest, info = env.step(odd)
    assert observation["text"].startswith("error: ") and rest == [0.0, False, False]
    assert info["effect"] == "error" and len(counter.messages) == 1
    assert env.step(ADD)[0]["data"] == {"count": 2}


@pytest.mark.parametrize("code", ["VALIDATION_ERROR", "EXECUTION_ERROR"])
def test_an_action_that_the_server_refuses_is_an_observation(counter, env, code):
    env.reset(seed=1)
    counter.odd["step"] = {"type": "error", "data": {"message": "no \ud800", "code": code}}
    observation, *rest, info = env.step(ADD)
    assert observation["text"] == "error: no ?" and rest == [0.0, False, False]
    assert info["effect"] == "error"
    del counter.odd["step"]
    assert env.step(ADD)[0]["data"] == {"count": 2}


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ("no json", "bad_message"),
        ("[" * 100_000, "bad_message"),
        ("[" + "[]," * 300_000 + "[]]", "bad_message"),
        ('{"type": "observation", "data": {"reward": NaN}}', "bad_message"),
        ('{"type": "observation", "data": {"reward": 1e999}}', "bad_message"),
        ('{"type": "observation", "data": {"reward": 1' + "0" * 400 + "}}", "bad_message"),
        ("[]", "bad_message"),
        ('{"type": "observation", "data": []}', "bad_message"),
        (b"\xff\xfe", "bad_message"),
        ({"type": "error", "data": {"message": "gone", "code": "SESSION_ERROR"}}, "refused"),
        ({"type": "state", "data": {}}, "refused"),
        (None, "stopped"),
        (seen({"metadata": {"status": "error:sandbox"}}, None, True), "unscored"),
    ],
)
def test_a_server_that_fails_ends_the_episode_unscored(counter, env, odd, code):
    env.reset(seed=1)
    counter.odd["step"] = odd
    with pytest.raises(ServerError) as failed:
        env.step(ADD)
    assert failed.value.code == code and len(str(failed.value)) < 1_000
    counter.odd.clear()
    env.reset(seed=2)
    assert env.step(ADD)[0]["data"] == {"count": 2}


def test_a_server_without_a_free_place_is_told(counter, env):
    counter.odd["reset"] = None
    with pytest.raises(ServerError, match="max_concurrent_envs"):
        env.reset(seed=1)
    counter.odd["reset"] = {"type": "error", "data": {"message": "", "code": "CAPACITY_REACHED"}}
    with pytest.raises(ServerError, match="CAPACITY_REACHED") as failed:
        env.reset(seed=1)
    assert failed.value.code == "too_many"
    counter.odd.clear()
    env.reset(seed=1)


def test_what_is_too_large_or_odd_is_left_out_and_named(counter, env):
    env.reset(seed=1)
    counter.odd["step"] = seen(
        {"a": 1, "deep": json.loads("[" * 90 + "]" * 90), "long": "x" * 2**21}, True
    )
    observation, reward, *_ = env.step(ADD)
    assert observation["data"] == {"a": 1} and reward == 1.0
    assert observation["text"].endswith("[not shown: deep, long]")
    for odd in ("text", None, 5, [1], {}):
        counter.odd["step"] = {
            "type": "observation",
            "data": {"observation": odd, "reward": "much"},
        }
        assert env.step(ADD)[1:4] == (0.0, False, False)
    counter.odd["step"] = seen(
        {}, 0, True, data={"observation": {"metadata": {"truncated": True}}, "done": 1}
    )
    assert env.step(ADD)[1:4] == (0.0, False, True)


def test_a_picture_is_the_image(counter):
    file = io.BytesIO()
    Image.new("RGB", (3, 2), (9, 8, 7)).save(file, "PNG")
    counter.pages["/schema"] = {"observation": {"properties": {"screenshot": {}}}}
    env = agentgym.make(server=counter.url).unwrapped
    assert "image" not in env.reset(seed=1)[0]["data"]
    shown = base64.b64encode(file.getvalue()).decode()
    for text in (shown, f"data:image/png;base64,{shown}"):
        counter.odd["step"] = seen({"screenshot": text})
        observation = env.step(ADD)[0]
        assert observation["image"].shape == (2, 3, 3) and (observation["image"] == (9, 8, 7)).all()
        assert observation["data"] == {}
    counter.odd["step"] = seen({"screenshot": "no picture"})
    assert env.step(ADD)[0]["data"] == {"screenshot": "no picture"}
    env.close()


def test_tools_of_an_mcp_server_are_its_tools(counter):
    counter.pages["/schema"] = CALLS
    named = {"name": "add", "description": "Adds.", "inputSchema": PAGES["/schema"]["action"]}
    counter.odd["mcp"] = {"type": "mcp", "data": {"result": {"tools": [named]}}}
    env = agentgym.make(server=counter.url).unwrapped
    assert [tool.name for tool in env.environment.tools] == ["add"]
    env.reset(seed=1)
    said = {"content": [{"type": "text", "text": "it is 2"}], "is_error": False}
    counter.odd["step"] = seen({"tool_name": "add", "result": said, "error": None}, 0.5)
    observation, reward, *_ = env.step({"tool": "add", "arguments": {"n": 2}})
    assert (observation["text"], reward) == ("it is 2", 0.5)
    told = {"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}
    assert counter.messages[-1] == {"type": "step", "data": told}
    env.close()
    assert counter.live == 0


@pytest.mark.parametrize(
    "tools", [None, [], [{}], [{"name": "a"}, {"name": "a"}], [{"name": "x" * 300}]]
)
def test_a_server_without_usable_tools_is_refused(counter, tools):
    counter.pages["/schema"] = CALLS
    counter.odd["mcp"] = {"type": "mcp", "data": {"result": {"tools": tools}}}
    with pytest.raises(ServerError, match="tool"):
        agentgym.make(server=counter.url)


@pytest.mark.parametrize(
    "page", [b"", b"{", b"[]", b"[" * 100_000, b'{"action": 5, "observation": []}']
)
def test_a_server_that_tells_no_schema_takes_any_object(counter, page):
    counter.pages = {"/schema": page, "/metadata": page}
    env = agentgym.make(server=counter.url).unwrapped
    env.reset(seed=1)
    assert env.step({"tool": "step", "arguments": {"n": 4, "more": []}})[1:3] == (1.0, True)
    env.close()


def test_a_description_that_is_too_large_is_refused(counter):
    counter.pages["/schema"] = b"x" * (5 * 2**20)
    with pytest.raises(ServerError, match="larger than 4 MiB"):
        agentgym.make(server=counter.url)


def test_a_page_that_is_compressed_is_not_unpacked(counter):
    # 64 MiB in 300 bytes: httpx would unpack all of it at once.
    counter.pages["/schema"] = gzip.compress(gzip.compress(b" " * 2**26))
    counter.coding["/schema"] = "gzip, gzip"
    tracemalloc.start()
    try:
        agentgym.make(server=counter.url).close()
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_an_answer_that_is_late_is_not_taken_for_the_next(counter):
    async def play():
        connection = await Connection.open(OpenEnvAddress.parse(counter.url, call_s=0.3))
        counter.hangs = True
        with pytest.raises(ServerError, match="did not answer step within") as failed:
            await connection.ask("step", {"n": 2})
        assert failed.value.code == "late" and connection.lost
        await connection.close()

    asyncio.run(play())


def test_lanes_play_side_by_side(counter):
    with contextlib.closing(agentgym.vector.make("", 3, server=counter.url)) as envs:
        envs.reset(seed=1)
        assert counter.live == 3
        calls = [{"tool": "step", "arguments": {"n": n}} for n in (1, 4, 5)]
        seen, rewards, terminated, truncated, infos = envs.step(calls)
        assert rewards.tolist() == [0.0, 1.0, 0.0]
        assert terminated.tolist() == [False, True, True] and not truncated.any()
        assert infos["scored"].tolist()[1:] == [True, True]
        counter.odd["step"] = None
        _, rewards, _, truncated, infos = envs.step(calls)
        assert truncated[0] and infos["status"][0] == "error:server" and not infos["scored"][0]
    assert counter.live == 0


@pytest.mark.parametrize(
    "address",
    ["openenv+ftp://x", "openenv+http://", "openenv+", "openenv+http://[", "openenv+http://x:99999",
     "openenv+http://h/?q=1"],
)  # fmt: skip
def test_a_wrong_address_is_refused(address):
    with pytest.raises(ConfigError, match="server: expected an address"):
        agentgym.make(server=address)


def test_a_server_that_does_not_run_is_told():
    with pytest.raises(ServerError, match="cannot be reached"):
        agentgym.make(server="openenv+http://127.0.0.1:1")


def test_the_password_is_sent_as_openenv_sends_it_and_never_shown(counter):
    url = counter.url.replace("127.0.0.1", "token:a%20b@127.0.0.1")
    env = agentgym.make(server=url)
    env.reset(seed=1)
    shown = base64.b64encode(b"token:a b").decode()
    assert counter.headers[-1]["authorization"] == f"Basic {shown}"
    assert "a b" not in repr(OpenEnvAddress.parse(url)) and shown not in repr(
        OpenEnvAddress.parse(url)
    )
    env.close()


def test_our_own_server_is_one_of_openenv(tmp_path):
    with live_server(tmp_path / "run") as server:
        url = f"openenv+http://127.0.0.1:{server.port}/openenv"
        with pytest.raises(ServerError, match="server_token"):
            agentgym.make(server=url, server_token="wrong").reset(seed=1)
        env = agentgym.make(TASK, server=url, server_token=TOKEN).unwrapped

        def step(tool, **arguments):
            return env.step({"tool": "step", "arguments": {"tool": tool, "arguments": arguments}})

        env.reset(seed=3)
        step("add", n=2)
        assert "it is 4" in step("add", n=2)[0]["text"]
        assert step("submit")[1:4] == (1.0, True, False)
        env.close()
    assert [row.verdict.score for row in server.episodes()] == [1.0]
    assert isinstance(env.observation_space["image"].sample(), np.ndarray)
