"""Faults of connections and clients of an environment server, over real sockets."""

import asyncio
import json
import ssl
from pathlib import Path
from types import SimpleNamespace

import pytest
from cutting_proxy import cutting_proxy
from live_server import TASK, TOKEN, counters, live_server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

import agentgym
from agentgym.env.portal import portal
from agentgym.errors import ServerError
from agentgym.record.store import RunStore
from agentgym.session import connections, websocket, websocket_connection
from agentgym.session.accounts import Account, Accounts, Quota
from agentgym.session.app import EnvironmentApp
from agentgym.session.bounds import ServerBounds
from agentgym.session.config import SessionConfig
from agentgym.session.listening import Certificate, listen, serve
from agentgym.session.metrics import Metrics
from agentgym.session.requests import Requests
from agentgym.session.rich_messages import RichMessages
from agentgym.session.server import SessionServer
from agentgym.session.websocket import WebSocketSessions

ADD = {"tool": "add", "arguments": {"n": 2}}
SUBMIT = {"tool": "submit"}
HELLO = {"type": "hello", "version": 1}
SOCKETS = []


def dial(server, token=TOKEN, **options):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return connect(f"{server.url}/v1/session", additional_headers=headers, proxy=None, **options)


async def say(socket, message):
    await socket.send(message if isinstance(message, str) else json.dumps(message))
    return json.loads(await socket.recv())


@pytest.fixture(autouse=True)
async def no_socket_stays():
    yield
    while SOCKETS:
        SOCKETS.pop().transport.abort()
    await asyncio.sleep(0.01)


async def begun(server, **hello):
    """Open a session with an episode; return its socket and its resume token."""
    socket = await dial(server)
    SOCKETS.append(socket)
    welcome = await say(socket, {**HELLO, **hello})
    await say(socket, {"type": "reset", "call": 1, "seed": 0})
    return socket, welcome["session"]


def add(call):
    return {"type": "step", "call": call, "episode": "e1", "action": ADD}


def made(server, url=None, **options):
    return agentgym.make(server=url or server.url, server_token=TOKEN, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live_server(tmp_path_factory.mktemp("server") / "run") as running:
        yield running


@pytest.mark.parametrize("moment", ["cut_before", "cut_after"])
def test_a_step_whose_connection_is_cut_is_executed_once(server, moment):
    with cutting_proxy(server) as proxy:
        env = made(server, proxy.url)
        env.reset(seed=0)
        setattr(proxy, moment, b'"step"')
        seen, *_ = env.step(ADD)
        assert (seen["data"], proxy.cuts) == ({"number": 2}, 1)
        assert env.environment.session.reconnected == 1
        assert env.step(ADD)[0]["data"] == {"number": 4}
        assert env.step(SUBMIT)[1:4] == (1.0, True, False)
        env.close()


def test_a_cut_while_lanes_step_loses_and_doubles_nothing(server):
    with cutting_proxy(server) as proxy:
        envs = agentgym.vector.make(TASK, 4, server=proxy.url, server_token=TOKEN)
        envs.reset(seed=0)
        proxy.cut_after = b'"step"'
        seen, *_ = envs.step([ADD] * 4)
        assert [data["number"] for data in seen["data"]] == [2] * 4
        assert proxy.cuts == 1
        envs.close()


async def test_a_message_sent_again_gets_its_answer_from_memory(server):
    socket, session = await begun(server)
    first = await say(socket, add(2))
    await socket.close()
    async with dial(server) as socket:
        welcome = await say(socket, {**HELLO, "session": session})
        assert (welcome["session"], welcome["last_call"]) == (session, 2)
        assert await say(socket, add(2)) == first
        other = {**add(2), "action": SUBMIT}
        assert (await say(socket, other))["code"] == "number_taken"
        assert (await say(socket, add(9_999)))["code"] == "invalid"
        state = await say(socket, {"type": "state", "call": 3})
        assert [each["steps"] for each in state["episodes"]] == [1]
        left = await say(socket, {"type": "leave", "call": 4})
        assert "left" in left["over"]


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN[:-1], "\xe9"])
async def test_without_the_token_nothing_is_accepted(server, token):
    with pytest.raises(InvalidStatus) as caught:
        async with dial(server, token):
            pass
    assert caught.value.response.status_code == 401


def test_a_client_is_told_that_its_token_is_wrong(server):
    with pytest.raises(ServerError, match="token is wrong") as caught:
        agentgym.make(server=server.url, server_token="wrong")
    assert caught.value.code == "unauthorized"


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch):
    monkeypatch.setenv("https_proxy", "ftp://127.0.0.1:9")
    with pytest.raises(ServerError, match="192.0.2.1.*ftp://127.0.0.1:9") as caught:
        agentgym.make(server="wss://192.0.2.1:9", server_token=TOKEN)
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no JSON", "bad_message"),
        ("[" * 100_000, "bad_message"),
        ('{"type":"step","call":2,"episode":"e1","action":' + "[" * 90 + "]" * 90 + "}", None),
        ('{"type":"step","call":2,"episode":"e1","action":{"tool":"add","arguments":{"n":NaN}}}',
         "invalid"),
        ({"type": "dance", "call": 2}, "bad_message"),
        ({"type": "step", "call": 0, "episode": "e1", "action": ADD}, "bad_message"),
        ({"type": "step", "call": "2", "episode": "e1", "action": ADD}, "bad_message"),
        ({"type": "step", "call": 2, "episode": "e1", "action": ADD, "more": 1}, "bad_message"),
        ({"type": "step", "call": 2, "episode": "e7", "action": ADD}, "unknown_episode"),
        ({"type": "reset", "call": 2, "seed": -1}, "invalid"),
        ({"type": "reset", "call": 2, "seed": 1, "task": "no/such"}, "invalid"),
        ({"type": "reset", "call": 2, "seed": 1, "options": {"colour": 1}}, "invalid"),
        ({"type": "describe", "call": 2, "task": "no/such"}, "invalid"),
        (HELLO, "bad_message"),
    ],
)  # fmt: skip
async def test_a_bad_message_is_answered_and_the_session_goes_on(server, message, code):
    socket, _ = await begun(server)
    answer = await say(socket, message)
    assert answer.get("code") == code, answer
    assert (await say(socket, add(3)))["observation"]["data"] == {"number": 2}
    await say(socket, {"type": "leave", "call": 4})
    await socket.close()


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"type": "state", "call": 1}, "bad_message"),
        ({**HELLO, "version": 2}, "version"),
        ({**HELLO, "session": "guessed"}, "unknown_session"),
        ("nonsense", "bad_message"),
    ],
)
async def test_a_connection_begins_with_hello(server, first, code):
    async with dial(server) as socket:
        assert (await say(socket, first))["code"] == code
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 4000


async def test_a_frame_beyond_the_bound_ends_the_connection_not_the_session(server):
    socket, session = await begun(server)
    with pytest.raises(ConnectionClosed):
        await socket.send("x" * (4 * 2**20 + 1))
        await socket.recv()
    assert socket.close_code == 1009
    async with dial(server) as socket:
        assert (await say(socket, {**HELLO, "session": session}))["type"] == "welcome"
        await say(socket, {"type": "leave", "call": 2})


async def test_the_last_of_two_clients_has_the_session(server):
    first, session = await begun(server)
    async with dial(server) as second:
        await say(second, {**HELLO, "session": session})
        with pytest.raises(ConnectionClosed):
            await first.recv()
        assert first.close_code == 4001
        assert (await say(second, add(2)))["observation"]["data"] == {"number": 2}
        await say(second, {"type": "leave", "call": 3})


def test_a_client_that_was_replaced_says_so(server):
    env = made(server)
    env.reset(seed=0)
    token = env.environment.session.welcome.session

    async def steal():
        async with dial(server) as socket:
            await say(socket, {**HELLO, "session": token})

    asyncio.run(steal())
    with pytest.raises(ServerError, match="another client"):
        env.step(ADD)
    env.close()


async def test_the_session_of_another_account_is_not_found(tmp_path):
    one, other = ("one", "the token of one account"), ("other", "the token of the other")
    accounts = Accounts([(Account(name), token) for name, token in (one, other)])
    with live_server(tmp_path / "run", accounts=accounts) as server:
        async with dial(server, one[1]) as socket:
            session = (await say(socket, HELLO))["session"]
            async with dial(server, other[1]) as thief:
                answer = await say(thief, {**HELLO, "session": session})
                assert answer["code"] == "unknown_session"
            assert (await say(socket, {"type": "leave", "call": 1}))["type"] == "state"


def test_a_server_that_was_started_again_knows_no_session(tmp_path):
    folder = tmp_path / "run"
    with live_server(folder) as server, cutting_proxy(server) as proxy:
        env = made(server, proxy.url)
        env.reset(seed=0)
        port = server.port
        proxy.silent = True  # the client does not see the end
        server.stop()
        with live_server(folder, port=port):
            proxy.silent = False
            proxy.cut_before = b'"step"'
            with pytest.raises(ServerError, match="started again"):
                env.step(ADD)
            env.close()
    (row,) = server.episodes()
    assert (row.verdict.status, row.error) == ("error:agent", "the server was stopped")


def test_a_server_that_ends_says_so_and_records_the_episode(tmp_path):
    with live_server(tmp_path / "run") as server:
        env = made(server)
        env.reset(seed=0)
        env.step(ADD)
        server.stop()
        with pytest.raises(ServerError, match="the server ended") as caught:
            env.step(ADD)
        assert caught.value.code == "stopped"
        env.close()
    (row,) = server.episodes()
    assert (row.state, row.steps, row.verdict.status) == ("done", 1, "error:agent")


def test_no_server_is_told_apart_from_a_wrong_token(server):
    with pytest.raises(ServerError, match="agentgym serve"):
        agentgym.make(server="ws://127.0.0.1:1", server_token=TOKEN)


# --- quotas and bounds ----------------------------------------------------------------------


def quota(**terms):
    return Accounts([(Account("tester", Quota(**terms)), TOKEN)])


def test_quotas_of_sessions_and_episodes(tmp_path):
    with live_server(tmp_path / "run", accounts=quota(sessions=1, episodes=2)) as server:
        env = made(server)
        with pytest.raises(ServerError, match="quota of 1") as caught:
            made(server)
        assert caught.value.code == "too_many"
        env.reset(seed=0)
        child = portal().run(env.episode.fork())
        with pytest.raises(ServerError, match="quota of 2"):
            portal().run(env.episode.fork())
        portal().run(child.close())
        portal().run(env.episode.fork())
        env.close()
        made(server).close()


def test_a_client_waits_when_it_is_too_fast_and_ends_when_it_has_used_up_all(tmp_path):
    accounts = quota(messages_per_s=50.0, messages=120)
    with live_server(tmp_path / "run", accounts=accounts) as server:
        env = made(server)
        env.reset(seed=0)
        with pytest.raises(ServerError, match="120 messages") as caught:
            for _ in range(120):
                if env.step({"tool": "look"})[3]:
                    env.reset(seed=0)
        assert caught.value.code == "used_up"
        assert "too_fast" in server.app.metrics.text(sessions=0, episodes=0)
        env.close()


async def test_a_client_that_takes_no_answers_is_disconnected(tmp_path):
    environments = counters()
    environments[TASK].provider.murmur = dict.fromkeys(range(20), "m" * 2**20)
    bounds = {"send_s": 0.3}
    with live_server(tmp_path / "run", environments=environments, bounds=bounds) as server:
        socket, session = await begun(server)
        socket.transport.pause_reading()
        for call in range(2, 18):
            await socket.send(json.dumps(add(call)))
        for _ in range(200):
            if server.app.metrics.connections == 0:
                break
            await asyncio.sleep(0.02)
        assert server.app.metrics.connections == 0
        socket.transport.abort()
        async with dial(server, max_size=None) as socket:
            assert (await say(socket, {**HELLO, "session": session}))["last_call"] == 17
            assert "it is 32" in (await say(socket, add(17)))["observation"]["text"]
            await say(socket, {"type": "leave", "call": 18})


async def test_pings_of_a_client_that_takes_nothing_do_not_pile_up(tmp_path, monkeypatch):
    made, make = [], websocket_connection.WebSocketConnection.connection_made

    def noted(connection, transport):
        made.append(connection)
        make(connection, transport)

    monkeypatch.setattr(websocket_connection.WebSocketConnection, "connection_made", noted)
    environments = counters()
    environments[TASK].provider.murmur = dict.fromkeys(range(20), "m" * 2**20)
    bounds = {"send_s": 1}
    with live_server(tmp_path / "run", environments=environments, bounds=bounds) as server:
        socket, _ = await begun(server)
        socket.transport.pause_reading()
        for call in range(2, 12):
            await socket.send(json.dumps(add(call)))
        (connection,) = made
        await until(lambda: not connection.writable.is_set())
        before = connection.transport.get_write_buffer_size()
        pings = [bytes([0x89, 0x80 + 125, *bytes(4), *bytes(125)])] * 2_000
        socket.transport.write(b"".join(pings))
        await socket.send(json.dumps({"type": "finish", "call": 12, "episode": "e1"}))
        (session,) = server.sessions._sessions.values()
        await until(lambda: session.state().last_call == 12)
        assert connection.transport.get_write_buffer_size() <= before + 2**16
        socket.transport.abort()


async def until(condition):
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come about")


async def test_what_is_being_answered_is_bounded_in_bytes():
    gate = asyncio.Event()

    class Requests:
        sessions = SimpleNamespace(config=SessionConfig({}, None))

        def read(self, account, text):
            return text, None

        async def answer(self, session, request, pictures):
            await gate.wait()
            return {"told": request}, b""

    async def send(event):
        sent.append(event)

    bounds, sent = ServerBounds(message_bytes=1_000), []
    connection = websocket._Connection(
        *(Requests(), bounds, Metrics(), RichMessages(), Account("a"), send)
    )
    connection.session = object()
    taking = [asyncio.create_task(connection.take("x" * size)) for size in (900, 900, 900, 10)]
    for _ in range(9):
        await asyncio.sleep(0)
    assert [task.done() for task in taking] == [True, True, False, True]
    gate.set()
    await asyncio.gather(*taking)
    await until(lambda: len(sent) == 4)
    assert not connection._answering


def test_a_connection_that_falls_silent_is_given_up_and_its_episode_judged(tmp_path):
    bounds = {"ping_s": 0.2, "resume_s": 0.2}
    with live_server(tmp_path / "run", bounds=bounds) as server, cutting_proxy(server) as proxy:
        env = made(server, proxy.url)
        env.reset(seed=0)
        env.step(ADD)
        proxy.silent = True

        async def ended():
            while server.sessions.open_sessions:
                await asyncio.sleep(0.02)

        server.run(asyncio.wait_for(ended(), 10))
        portal().run(env.environment.session.abandon())
        env.close()
    (row,) = server.episodes()
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.5)
    assert "did not come back" in row.error


async def test_a_connection_without_hello_is_closed(tmp_path):
    with live_server(tmp_path / "run", bounds={"hello_s": 0.1}) as server:
        async with dial(server) as socket:
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert "no hello" in socket.close_reason


SCHEMA = b"GET /v1/schema HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = f"POST /v1/call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n".encode()


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET"],
        [SCHEMA, b"GET"],
        [REFUSED, b"GET /health HTTP/1.1\r\n"],
        [BODY + b"Content-Length: 9\r\n\r\n{"],
        [SCHEMA * 2_000],
    ],
    ids=["begun", "after an answer", "after a refusal", "body", "answers"],
)
async def test_a_connection_that_keeps_the_server_waiting_is_closed(server, monkeypatch, pieces):
    lost, lose = [], connections.HttpConnection.connection_lost

    def noted(connection, error):
        lost.append(connection.client[1])
        lose(connection, error)

    monkeypatch.setattr(connections, "SILENT_S", 0.05)
    monkeypatch.setattr(connections.HttpConnection, "connection_lost", noted)
    reading, writing = await asyncio.open_connection("127.0.0.1", server.port, limit=2**12)
    for piece in pieces[:-1]:
        writing.write(piece)
        await asyncio.wait_for(reading.readuntil(b"\r\n\r\n"), 20)
    writing.write(pieces[-1])
    # Nothing more is read.
    for _ in range(500):
        if writing.get_extra_info("sockname")[1] in lost:
            break
        await asyncio.sleep(0.02)
    assert writing.get_extra_info("sockname")[1] in lost
    writing.transport.abort()


def test_an_episode_out_of_time_is_truncated_with_its_verdict(tmp_path):
    with live_server(tmp_path / "run", timeout_s=0.05) as server:
        env = made(server)
        env.reset(seed=0)
        portal().run(asyncio.sleep(0.2))
        seen, reward, terminated, truncated, info = env.step(ADD)
        assert "the episode is over" in seen["text"]
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["verdict"]["status"] == "scored"
        env.close()


def test_a_server_that_tells_no_scores_is_refused_by_the_client(tmp_path):
    terms = {"tell": False, "tell_verdicts": False}
    with live_server(tmp_path / "run", **terms) as server:
        with pytest.raises(ServerError, match="--tell"):
            made(server)
        assert server.sessions.open_sessions == 0


def test_what_breaks_on_the_server_is_raised_with_its_boundary(tmp_path):
    from agentgym.errors import SandboxDiedError, TaskError, VerifierError

    environments = counters()
    trouble = environments[TASK].provider.trouble
    with live_server(tmp_path / "run", environments=environments) as server:
        env = made(server)
        trouble["reset"] = TaskError("no template")
        with pytest.raises(TaskError, match="no template"):
            env.reset(seed=0)
        del trouble["reset"]
        env.reset(seed=0)
        environments[TASK].provider.trouble_passes = True
        trouble[0] = SandboxDiedError("the sandbox is gone")
        with pytest.raises(SandboxDiedError, match="the sandbox is gone"):
            env.step(ADD)
        environments[TASK].provider.trouble_passes = False
        trouble["check"] = True
        env.reset(seed=0)
        with pytest.raises(VerifierError, match="ZeroDivisionError in n"):
            env.step(SUBMIT)
        env.close()


async def test_a_session_goes_on_although_its_old_connection_takes_nothing_more(tmp_path):
    store, bounds = RunStore.create(tmp_path / "run", {}, []), ServerBounds()

    async def connected(sockets, hello, stuck):
        """Connect without a network; return the welcome and the connection."""
        received, sent = asyncio.Queue(), asyncio.Queue()
        for event in ({"type": "websocket.connect"}, {"type": "websocket.receive", "text": hello}):
            received.put_nowait(event)

        async def send(event):
            if stuck and event["type"] == "websocket.close":
                await asyncio.Event().wait()
            sent.put_nowait(event)

        serving = asyncio.create_task(sockets.serve(account, received.get, send))
        accepted, welcome = await sent.get(), await sent.get()
        assert accepted["type"] == "websocket.accept"
        return json.loads(welcome["text"]), serving

    account = Account("one")
    async with SessionServer(SessionConfig(counters(), store)) as sessions:
        metrics = Metrics()
        sockets = WebSocketSessions(
            Requests(sessions, bounds, metrics), bounds, metrics, RichMessages()
        )
        first, old = await connected(sockets, json.dumps(HELLO), True)
        again = json.dumps({**HELLO, "session": first["session"]})
        async with asyncio.timeout(bounds.send_s / 3):
            second, new = await connected(sockets, again, False)
        assert (second["session"], metrics.resumed) == (first["session"], 1)
        for serving in (new, old):
            serving.cancel()
        await asyncio.gather(new, old, return_exceptions=True)
    store.close()


async def test_a_server_that_cannot_begin_tells_why(tmp_path):
    store, bounds = RunStore.create(tmp_path / "run", {}, []), ServerBounds()
    sessions = SessionServer(SessionConfig(counters(), store))
    app = EnvironmentApp(sessions, Accounts(()), bounds)
    broken = Certificate(Path(__file__), Path(__file__))
    with listen("127.0.0.1", 0) as listening, pytest.raises(ssl.SSLError):
        await serve(app, listening, asyncio.Event(), bounds, broken)
    store.close()
