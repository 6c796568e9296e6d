"""What one account may take of a server: the others always have their share."""

import asyncio
import json
import struct
from contextlib import contextmanager

import pytest
from live_server import TASK, TOKEN, live_server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agentgym.env.remote import wire
from agentgym.session.accounts import Account, Accounts, Quota
from agentgym.session.bounds import ServerBounds
from agentgym.session.requests import Requests
from agentgym.session.rich_messages import RichMessages
from agentgym.session.websocket import _Connection

HELLO = json.dumps({"type": "hello", "version": 1})


def shared(whole, *quotas):
    accounts = Accounts((Account(f"a{n}", quota), str(n) * 20) for n, quota in enumerate(quotas))
    accounts.share(whole)
    return [accounts.find(f"Bearer {str(n) * 20}").quota for n in range(len(quotas))]


def test_accounts_without_a_quota_divide_what_the_others_leave():
    one, two, three = shared(Quota(episodes=64, sessions=9), Quota(episodes=4), Quota(), Quota())
    assert (one.episodes, two.episodes, three.episodes) == (4, 30, 30)
    assert (one.sessions, two.sessions, three.sessions) == (3, 3, 3)
    assert one.connections is None
    (alone,) = shared(Quota(episodes=64), Quota())
    assert alone.episodes == 64
    greedy, poor = shared(Quota(episodes=8), Quota(episodes=100), Quota())
    assert (greedy.episodes, poor.episodes) == (100, 1)


def accounts():
    return Accounts([(Account("tester"), TOKEN), (Account("other"), TOKEN[::-1])])


def dial(server, token=TOKEN, path="/v1/session"):
    headers = {"Authorization": f"Bearer {token}"}
    return connect(server.url + path, additional_headers=headers, proxy=None)


async def said(socket, **message):
    await socket.send(json.dumps(message))
    return json.loads(await socket.recv())


async def test_no_account_takes_all_live_episodes_or_connections(tmp_path):
    bounds = {"connections": 4}
    with live_server(tmp_path / "run", accounts=accounts(), bounds=bounds, max_live=4) as server:
        async with dial(server) as socket, dial(server):
            assert (await said(socket, type="hello", version=1))["bounds"]["episodes"] == 2
            codes = [
                (await said(socket, type="reset", call=call, task=TASK, seed=1)).get("code")
                for call in (1, 2, 3)
            ]
            assert codes == [None, None, "too_many"]
            with pytest.raises(InvalidStatus) as caught:
                await dial(server)
            assert caught.value.response.status_code == 429
            async with dial(server, TOKEN[::-1]) as other:
                await said(other, type="hello", version=1)
                reply = await said(other, type="reset", call=1, task=TASK, seed=1)
                assert reply["type"] == "reply"
        async with dial(server) as socket:  # The places of connections that ended are free.
            assert (await said(socket, type="hello", version=1))["code"] == "too_many"


def frame(first, size, content):
    """Return the head of a masked frame with some of its content."""
    return struct.pack(">BBQ", first, 0x80 + 127, size) + bytes(4) + content


PART = b"a" * 60_000
UNFINISHED = {
    "a frame": [frame(1, 10**6, PART)],
    "parts of a message": [frame(1, len(PART), PART)] + [frame(0, len(PART), PART)],
    "small parts": [frame(1, 1, b"a") + frame(0, 1, b"a") * 900],
}


@pytest.mark.parametrize("path", ["/v1/session", "/openenv/ws"])
@pytest.mark.parametrize("kind", UNFINISHED)
async def test_unfinished_messages_of_an_account_are_bounded(tmp_path, path, kind):
    bounds, sockets = {"held_bytes": 500_000, "hello_s": 60}, []
    with live_server(tmp_path / "run", accounts=accounts(), bounds=bounds) as server:
        account = server.app._accounts.find(f"Bearer {TOKEN}")
        for _ in range(10):
            sockets.append(await dial(server, path=path))
            for each in UNFINISHED[kind]:
                sockets[-1].transport.write(each)
        closing = [asyncio.create_task(each.wait_closed()) for each in sockets]
        done, _ = await asyncio.wait(closing, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        assert done and any(each.close_code == 1013 for each in sockets)
        async with dial(server, TOKEN[::-1]) as other:
            assert (await said(other, type="hello", version=1))["type"] == "welcome"
        for each in sockets:
            each.transport.abort()
        for _ in range(600):
            if account.held_bytes == account.connections == 0:
                break
            await asyncio.sleep(0.1)
        assert account.held_bytes == account.connections == 0
        async with dial(server) as socket:
            assert (await said(socket, type="hello", version=1))["type"] == "welcome"
            # Whole messages of any size within the bound go on, whatever was refused before.
            for call in (1, 2):
                await socket.send(
                    json.dumps({"type": "describe", "call": call, "task": "x" * 150_000})
                )
                assert json.loads(await socket.recv())["type"] == "error"
        assert account.held_bytes == 0


async def test_unfinished_bodies_of_an_account_are_bounded(tmp_path):
    head = f"POST /v1/call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += "Content-Length: 100000\r\n\r\n"
    with live_server(tmp_path / "run", bounds={"held_bytes": 200_000}) as server:
        writers, answers = [], []
        for _ in range(6):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head.encode() + b" " * 60_000)
            writers.append(writer)
            answers.append(asyncio.create_task(reader.readline()))
        done, waiting = await asyncio.wait(answers, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result() for task in done} == {b"HTTP/1.1 429 Too Many Requests\r\n"}
        assert waiting
        for writer in writers:
            writer.close()
        await asyncio.wait(waiting)


async def test_a_client_of_openenv_that_says_nothing_is_closed(tmp_path):
    with live_server(tmp_path / "run", bounds={"first_s": 0.2}) as server:
        async with dial(server, path="/openenv/ws") as socket:
            with pytest.raises(ConnectionClosed) as caught:
                await asyncio.wait_for(socket.recv(), 60)
        assert caught.value.rcvd.code == 1008
        async with dial(server, path="/openenv/ws") as socket:
            assert (await said(socket, type="state"))["type"] == "state"
            await asyncio.sleep(0.4)  # Later messages have the time of a session.
            assert (await said(socket, type="state"))["type"] == "state"


MANY = "[" + "[]," * 1_300_000 + "[]]"
RICH = {
    "an action": f'{{"type": "step", "call": 9, "episode": "e1", "action": {MANY}}}',
    "no message": f'{{"type": "nothing", "call": 9, "action": {MANY}}}',
    "metadata": f'{{"type": "reset", "call": 9, "options": {{"metadata": {{"a": {MANY}}}}}}}',
}


@pytest.mark.parametrize("text", RICH.values(), ids=RICH)
async def test_a_message_with_a_million_values_is_refused_before_it_is_parsed(tmp_path, text):
    with live_server(tmp_path / "run", accounts=accounts()) as server, noted_parsing() as parsed:
        async with dial(server) as socket:
            await said(socket, type="hello", version=1)
            await said(socket, type="reset", call=1, task=TASK, seed=1)
            await socket.send(text)
            answer = json.loads(await socket.recv())
            assert answer["code"] == "bad_message"
            assert (await said(socket, type="state", call=2))["episodes"][0]["steps"] == 0
        assert max(parsed) < 1_000
        async with dial(server, path="/openenv/ws") as socket:
            await socket.send(text)
            assert json.loads(await socket.recv())["data"]["code"] == "VALIDATION_ERROR"


@contextmanager
def noted_parsing():
    """Note the sizes of the messages that the server's parser is given."""
    sizes, adapter = [], wire._REQUESTS

    class Noting:
        def validate_json(self, text):
            sizes.append(len(text))
            return adapter.validate_json(text)

    wire._REQUESTS = Noting()
    try:
        yield sizes
    finally:
        wire._REQUESTS = adapter


async def test_an_action_of_the_largest_size_is_no_message_with_too_many_values(tmp_path):
    with live_server(tmp_path / "run", accounts=accounts()) as server:
        async with dial(server) as socket:
            await said(socket, type="hello", version=1)
            await said(socket, type="reset", call=1, task=TASK, seed=1)
            for call, arguments in enumerate(
                ({"a": [[]] * 99_000}, {"a": '[{,"\\' * 200_000}, {"a": [{"b": 1}] * 49_000}), 2
            ):
                action = {"tool": "add", "arguments": arguments}
                answer = await said(socket, type="step", call=call, episode="e1", action=action)
                assert answer["type"] == "reply"


async def test_a_hundred_thousand_unknown_fields_are_counted_and_not_described(tmp_path):
    with live_server(tmp_path / "run", accounts=accounts()) as server:
        async with dial(server) as socket:
            fields = {f"f{n}": 1 for n in range(100_000)}
            told = (await said(socket, type="hello", version=1, **fields))["message"]
            assert told == "100,000 fields are not as expected"
        async with dial(server) as socket:
            await said(socket, type="hello", version=1)
            answer = await said(socket, type="reset", call=1, task=TASK, seed=1, options=fields)
            assert answer["code"] == "invalid" and len(answer["message"]) < 500


async def test_messages_that_take_much_memory_are_answered_one_after_the_other(
    tmp_path, monkeypatch
):
    """A message of 0.7 MB with 90,000 objects takes 30 MB; a connection once had eleven of them."""
    live, most, done = 0, 0, 0

    async def answer(self, session, request, pictures):
        nonlocal live, most, done
        live += 1
        most = max(most, live)
        await asyncio.sleep(0.02)
        live -= 1
        done += 1
        return {"type": "error", "call": request.call, "code": "internal", "message": ""}, b""

    monkeypatch.setattr(Requests, "answer", answer)
    objects = ",".join(['{"k":0}'] * 90_000)
    with live_server(tmp_path / "run") as server:
        async with connect(
            f"ws://127.0.0.1:{server.port}/v1/session",
            additional_headers={"Authorization": f"Bearer {TOKEN}"},
            proxy=None,
        ) as socket:
            await socket.send('{"type": "hello", "version": 1}')
            await socket.recv()
            for call in range(1, 7):
                action = f'{{"tool": "add", "arguments": {{"a": [{objects}]}}}}'
                fields = f'"call": {call}, "episode": "e1", "action": {action}'
                await socket.send(f'{{"type": "step", {fields}}}')
            for _ in range(6):
                await socket.recv()
    assert (most, done) == (1, 6)


async def test_rich_messages_are_spaced_and_no_account_takes_the_turns_of_another():
    rich, done = RichMessages(), []
    first, second = Account("first"), Account("second")

    async def read(account, weight):
        await rich.wait(account, 10, weight)
        done.append((account.name, asyncio.get_running_loop().time()))

    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(read(first, 2**21 + 10) for _ in range(6)), read(second, 2**21 + 10))
    names = [name for name, _ in done]
    assert names[:2] == ["first", "second"] and names.count("first") == 6
    gaps = [b - a for (_, a), (_, b) in zip(done, done[1:], strict=False)]
    assert done[0][1] - began < 1 and min(gaps) >= 0.06
    done.clear()
    await asyncio.gather(read(first, 2**21 + 10), read(second, 2**20))
    assert [name for name, _ in done] == ["second", "first"]  # A small one does not wait.


async def test_a_flood_of_rich_messages_leaves_the_others_their_answers(tmp_path):
    """Their answers once took seconds."""
    with live_server(tmp_path / "run", accounts=accounts()) as server:
        async with dial(server) as flood, dial(server, TOKEN[::-1]) as other:
            await said(flood, type="hello", version=1)
            await said(flood, type="reset", call=1, task=TASK, seed=1)
            await said(other, type="hello", version=1)
            numbers = {"a": [1] * 99_000}
            for call in range(2, 7):
                action = {"tool": "add", "arguments": numbers}
                message = {"type": "step", "call": call, "episode": "e1", "action": action}
                await flood.send(json.dumps(message))
            answering = asyncio.create_task(answers_of(flood, 5))
            for call in range(1, 21):
                assert (await said(other, type="state", call=call))["call"] == call
            assert not answering.done()
            assert [each["call"] for each in await answering] == [2, 3, 4, 5, 6]


async def answers_of(socket, count):
    return [json.loads(await socket.recv()) for _ in range(count)]


async def test_an_answer_for_a_connection_that_was_closed_meanwhile_is_no_traceback(tmp_path):
    async def send(event):
        raise RuntimeError("Unexpected ASGI message 'websocket.send', after 'websocket.close'.")

    with live_server(tmp_path / "run") as server:
        given = (server.app._requests, ServerBounds(), server.app.metrics, RichMessages())
        connection = _Connection(*given, Account("one"), send)
        await connection.send({"type": "state"}, b"")
        assert connection.closed
