"""Clients of OpenEnv at an environment server: the messages of openenv-core 0.3, over a socket."""

import asyncio
import base64
import json

import pytest
from live_server import TASK, TOKEN, counters, live_server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agentgym.errors import SandboxDiedError
from agentgym.session.accounts import Account, Accounts, Quota
from agentgym.session.openenv import bearer_of

ADD = {"tool": "add", "arguments": {"n": 2}, "metadata": {}}
SUBMIT = {"tool": "submit", "arguments": {}}


def dial(server, token=TOKEN, **options):
    """Connect as ``openenv.core.EnvClient`` does, with the token in the address."""
    host = f"127.0.0.1:{server.port}"
    return connect(f"ws://token:{token}@{host}/openenv/ws", proxy=None, **options)


async def ask(socket, kind, data=None):
    message = {"type": kind} if data is None else {"type": kind, "data": data}
    await socket.send(json.dumps(message))
    answer = json.loads(await socket.recv())
    assert set(answer) == {"type", "data"}
    return answer["type"], answer["data"]


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live_server(tmp_path_factory.mktemp("openenv") / "run") as server:
        yield server


async def test_an_episode_is_played_to_its_verdict(server):
    async with dial(server) as socket:
        kind, first = await ask(socket, "reset", {"seed": 3, "episode_id": "mine"})
        assert (kind, first["reward"], first["done"]) == ("observation", 0.0, False)
        told = first["observation"]["metadata"]
        assert (told["episode_id"], told["seed"], told["task"]) == ("mine", 3, TASK)
        assert "add" in [tool["name"] for tool in told["tools"]]
        for count in (1, 2):
            _, step = await ask(socket, "step", ADD)
            assert f"it is {2 * count}" in step["observation"]["text"]
            assert (step["reward"], step["done"]) == (0.0, False)
        state = (await ask(socket, "state"))[1]
        assert (state["episode_id"], state["step_count"], state["over"]) == ("mine", 2, False)
        _, last = await ask(socket, "step", SUBMIT)
        assert (last["reward"], last["done"]) == (1.0, True)
        assert last["observation"]["truncated"] is False
        assert last["observation"]["metadata"]["verdict"]["status"] == "scored"
        kind, late = await ask(socket, "step", ADD)
        assert kind == "error" and "begin another" in late["message"]
        assert (await ask(socket, "reset"))[0] == "observation"


async def test_an_episode_out_of_steps_is_truncated_and_scored(tmp_path):
    from counter_world import CounterEnvironment, CounterProvider, counter_task

    short = {TASK: CounterEnvironment(counter_task(max_steps=1), CounterProvider())}
    with live_server(tmp_path / "run", environments=short) as server:
        async with dial(server) as socket:
            await ask(socket, "reset", {"seed": 0})
            _, last = await ask(socket, "step", ADD)
            assert (last["done"], last["observation"]["truncated"]) == (True, True)
            assert last["reward"] == last["observation"]["metadata"]["score"] == 0.5


async def test_an_episode_without_a_score_has_no_reward(tmp_path):
    environments = counters()
    environments[TASK].provider.trouble_passes = True
    environments[TASK].provider.trouble[0] = SandboxDiedError("the sandbox is gone")
    with live_server(tmp_path / "run", environments=environments) as server:
        async with dial(server) as socket:
            await ask(socket, "reset", {"seed": 0})
            kind, last = await ask(socket, "step", ADD)
            assert (kind, last["reward"], last["done"]) == ("observation", None, True)
            assert last["observation"]["metadata"]["status"] == "error:sandbox"
            assert last["observation"]["truncated"] is True


@pytest.mark.parametrize("says_goodbye", [True, False])
async def test_a_client_that_leaves_frees_its_place(tmp_path, says_goodbye):
    with live_server(tmp_path / "run", max_live=1) as server:
        socket = await dial(server)
        await ask(socket, "reset", {"seed": 0})
        await ask(socket, "step", ADD)
        async with dial(server) as other:
            kind, told = await ask(other, "reset", {"seed": 1})
            assert (kind, told["code"]) == ("error", "CAPACITY_REACHED")
            assert "expected fewer than 1" in told["message"]
            if says_goodbye:
                await socket.send(json.dumps({"type": "close"}))
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            else:
                socket.transport.abort()
            await until(lambda: server.sessions.live == 0)
            # The same connection goes on.
            assert (await ask(other, "reset", {"seed": 1}))[0] == "observation"
            # A second episode takes the place of the first one.
            assert (await ask(other, "reset", {"seed": 2}))[0] == "observation"
    rows = {row.plan.seed: row for row in server.episodes()}
    assert (rows[0].verdict.status, rows[0].verdict.score) == ("scored", 0.5)
    assert "left before the end" in rows[0].error


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[" * 100_000, "INVALID_JSON"),
        ("[]", "UNKNOWN_TYPE"),
        ('{"type": ["reset"]}', "UNKNOWN_TYPE"),
        ('{"type": "mcp"}', "UNKNOWN_TYPE"),
        ('{"type": "reset", "data": 3}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"sede": 3}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": 1, "task": "x/y-v1"}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": 1, "task": ["x"]}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"episode_id": 7}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"options": {"grup": "a"}}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"tool": "add"}}', "SESSION_ERROR"),
    ],
)
async def test_a_wrong_message_is_answered_and_the_connection_goes_on(server, text, code):
    async with dial(server) as socket:
        await socket.send(text)
        answer = json.loads(await socket.recv())
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert (await ask(socket, "reset", {"seed": 1}))[0] == "observation"


async def test_an_illegal_action_costs_a_step(server):
    async with dial(server) as socket:
        await ask(socket, "reset", {"seed": 1})
        for action in ({}, {"tool": "shout"}, {"tool": "add", "arguments": 3}, {"n": 2}):
            kind, seen = await ask(socket, "step", action)
            assert (kind, seen["done"]) == ("observation", False)
        assert (await ask(socket, "state"))[1]["step_count"] == 4


async def test_only_an_account_plays_and_no_web_page(server):
    for token, headers, status in (
        ("another token of sixteen", {}, 401),
        (TOKEN, {"Origin": "https://example.org"}, 403),
    ):
        with pytest.raises(InvalidStatus) as caught:
            await dial(server, token, additional_headers=headers)
        assert caught.value.response.status_code == status
    # The password of an address is a token on this path only.
    with pytest.raises(InvalidStatus) as caught:
        await connect(f"ws://token:{TOKEN}@127.0.0.1:{server.port}/v1/session", proxy=None)
    assert caught.value.response.status_code == 401


async def test_an_account_that_is_too_fast_waits_and_one_that_is_used_up_is_told(tmp_path):
    accounts = Accounts([(Account("slow", Quota(messages_per_s=50, messages=60)), TOKEN)])
    with live_server(tmp_path / "run", accounts=accounts) as server:
        async with dial(server) as socket:
            kinds = [(await ask(socket, "reset", {"seed": 0}))[0]]
            kinds += [(await ask(socket, "state"))[0] for _ in range(59)]
            assert set(kinds) == {"observation", "state"}
            kind, told = await ask(socket, "state")
            assert (kind, told["code"]) == ("error", "CAPACITY_REACHED")


async def test_a_connection_without_messages_is_closed(tmp_path):
    with live_server(tmp_path / "run", idle_s=0.1) as server:
        async with dial(server) as socket:
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert "nothing came" in socket.close_reason


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        ("Bearer x", "Bearer x"),
        ("", ""),
        ("Basic " + base64.b64encode(b"a:b:c").decode(), "Bearer b:c"),
        ("Basic " + base64.b64encode(b"token").decode(), "Bearer "),
        ("Basic !", ""),
        ("Basic " + base64.b64encode(b"\xff:\xff").decode(), ""),
    ],
)
def test_the_password_of_an_address_is_the_token(shown, meant):
    assert bearer_of(shown) == meant


@pytest.mark.parametrize("bound", ["timeout_s", "session_s"])
async def test_an_episode_out_of_time_is_told_with_its_score_and_only_once(tmp_path, bound):
    with live_server(tmp_path / "run", **{bound: 0.3}) as server:
        async with dial(server) as socket:
            await ask(socket, "reset", {"seed": 0})
            await ask(socket, "step", ADD)
            await until(lambda: server.sessions.live == 0)
            # An error would be missing data to a trainer, so an agent could idle out of the mean.
            kind, last = await ask(socket, "step", ADD)
            assert (kind, last["reward"], last["done"]) == ("observation", 0.5, True)
            told = last["observation"]
            assert told["truncated"] is True and told["metadata"]["status"] == "scored"
            assert told["metadata"]["verdict"]["score"] == 0.5
            assert (await ask(socket, "step", ADD))[0] == "error"
            assert (await ask(socket, "reset", {"seed": 1}))[0] == "observation"


@pytest.mark.parametrize("argument", ["NaN", "Infinity", '"\\ud800"'])
async def test_an_action_that_no_record_can_hold_costs_a_step(server, argument):
    async with dial(server) as socket:
        await ask(socket, "reset", {"seed": 1})
        action = f'{{"tool": "add", "arguments": {{"n": {argument}}}}}'
        await socket.send(f'{{"type": "step", "data": {action}}}')
        answer = json.loads(await socket.recv())
        assert answer["type"] == "observation" and answer["data"]["done"] is False
        assert answer["data"]["observation"]["effect"] == "error"
        assert (await ask(socket, "state"))[1]["step_count"] == 1


async def test_an_action_of_more_values_than_are_read_costs_a_step(server):
    numbers = json.dumps([0] * 210_000)
    async with dial(server) as socket:
        step = f'{{"type": "step", "data": {{"tool": "add", "arguments": {{"n": {numbers}}}}}}}'
        await socket.send(step)
        assert json.loads(await socket.recv())["type"] == "error"  # No episode has begun.
        await ask(socket, "reset", {"seed": 1})
        await socket.send(step)
        answer = json.loads(await socket.recv())
        assert answer["type"] == "observation" and answer["data"]["done"] is False
        assert answer["data"]["observation"]["effect"] == "error"
        await socket.send(f'{{"type": "reset", "data": {{"seed": {numbers}}}}}')
        assert json.loads(await socket.recv())["type"] == "error"
        assert (await ask(socket, "state"))[1]["step_count"] == 1


async def test_a_message_of_more_bytes_than_are_read_costs_a_step(server):
    text = "x" * (4 * 2**20)
    step = f'{{"type": "step", "data": {{"tool": "add", "arguments": {{"n": "{text}"}}}}}}'
    async with dial(server) as socket:
        await socket.send(step)
        assert json.loads(await socket.recv())["data"]["code"] == "VALIDATION_ERROR"
        await ask(socket, "reset", {"seed": 1})
        for steps in (1, 2):
            await socket.send(step if steps == 1 else step.encode())
            answer = json.loads(await socket.recv())
            assert answer["type"] == "observation" and answer["data"]["done"] is False
            assert answer["data"]["observation"]["effect"] == "error"
            assert (await ask(socket, "state"))[1]["step_count"] == steps
        await socket.send(f'{{"type": "reset", "data": {{"task": "{text}"}}}}')
        assert json.loads(await socket.recv())["data"]["code"] == "VALIDATION_ERROR"
        # A message at the bound is read, whatever came before.
        fits = '{"type": "state", "data": {}}'
        await socket.send(fits + " " * (4 * 2**20 - len(fits)))
        assert json.loads(await socket.recv())["data"]["step_count"] == 2


@pytest.mark.parametrize("depth", [*range(880, 1000, 6), 1_000, 50_000])
async def test_an_action_that_is_nested_too_deeply_costs_a_step(server, depth):
    """The greatest depth of JSON differs between processes; a client raises for an error."""
    async with dial(server) as socket:
        await ask(socket, "reset", {"seed": 0})
        action = f'{{"tool": "add", "arguments": {{"n": {"[" * depth + "]" * depth}}}}}'
        await socket.send(f'{{"type": "step", "data": {action}}}')
        answer = json.loads(await socket.recv())
        assert answer["type"] == "observation", answer
        assert (await ask(socket, "state"))[1]["step_count"] == 1


@pytest.mark.parametrize("depth", [*range(880, 1000, 4), 1_000])
async def test_no_depth_of_a_message_ends_the_connection(server, depth):
    async with dial(server) as socket:
        await socket.send(f'{{"type": {"[" * depth + "]" * depth}}}')
        assert json.loads(await socket.recv())["type"] == "error"
        assert (await ask(socket, "state"))[0] == "state"
