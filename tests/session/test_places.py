"""The places of a server for connections: strangers that do nothing keep no client out."""

import asyncio
import contextlib
import gc
import socket
import ssl
import subprocess
import weakref

import pytest
from live_server import TOKEN, LiveServer, live_server

from agentgym.record.store import RunStore
from agentgym.session import connections, listening, places
from agentgym.session.accounts import Account, Accounts
from agentgym.session.app import EnvironmentApp
from agentgym.session.bounds import ServerBounds
from agentgym.session.config import SessionConfig
from agentgym.session.server import SessionServer

HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
PART = (
    "POST /v1/call HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 90\r\n\r\n{{"
)


async def asked(server: LiveServer, request: bytes, **tls):
    """Send a request over a new connection; return both ends and the first line of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, **tls)
    writer.write(request)
    async with asyncio.timeout(20):
        return reader, writer, await reader.readline()


async def ended(reader) -> bool:
    async with asyncio.timeout(20):
        with contextlib.suppress(ConnectionError):
            await reader.read()
    return True


async def test_a_new_client_takes_the_place_of_the_one_that_has_waited_longest(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 3)
    with live_server(tmp_path / "run") as server:
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        begun = await asyncio.open_connection("127.0.0.1", server.port)
        begun[1].write(PART.format(TOKEN).encode())  # The server reads its body.
        await asyncio.sleep(0.2)
        kept, kept_writer, line = await asked(server, HEALTH)
        assert line == b"HTTP/1.1 200 OK\r\n"
        assert await ended(silent[0][0])
        _, other, line = await asked(server, HEALTH)
        assert line == b"HTTP/1.1 200 OK\r\n" and await ended(silent[1][0])
        _, last, line = await asked(server, HEALTH)
        assert line == b"HTTP/1.1 200 OK\r\n" and await ended(kept)
        begun[1].write(b" " * 89)  # It is at work, so that it has kept its place.
        assert (await begun[0].readline()).startswith(b"HTTP/1.1 400")
        for writer in (begun[1], kept_writer, other, last, *(each[1] for each in silent)):
            writer.close()


async def test_a_client_is_refused_where_all_connections_are_at_work(tmp_path, monkeypatch):
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 2)
    with live_server(tmp_path / "run") as server:
        pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for _, writer in pairs:
            writer.write(PART.format(TOKEN).encode())
        await asyncio.sleep(0.2)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert await ended(reader)
        for _, each in [*pairs, (reader, writer)]:
            each.close()


async def test_calls_over_http_count_among_the_connections_of_an_account(tmp_path):
    accounts = Accounts([(Account("tester"), TOKEN), (Account("other"), TOKEN[::-1])])
    with live_server(tmp_path / "run", accounts=accounts, bounds={"connections": 4}) as server:
        pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for _, writer in pairs:
            writer.write(PART.format(TOKEN).encode())
        await asyncio.sleep(0.2)
        reader, writer, line = await asked(server, PART.format(TOKEN).encode())
        assert line == b"HTTP/1.1 429 Too Many Requests\r\n"
        assert b"2 connections" in await reader.readuntil(b"later")
        whole = PART.format(TOKEN[::-1]).encode() + b" " * 89
        _, other, line = await asked(server, whole)
        assert line == b"HTTP/1.1 400 Bad Request\r\n"
        for _, each in [*pairs, (reader, writer), (reader, other)]:
            each.close()
        for _ in range(100):
            _, again, line = await asked(server, PART.format(TOKEN).encode() + b" " * 89)
            again.close()
            if line == b"HTTP/1.1 400 Bad Request\r\n":
                break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("the places of calls that ended are not free")


async def test_a_connection_that_was_closed_is_forgotten_at_once(tmp_path, monkeypatch):
    made, make = [], connections.HttpConnection.connection_made

    def noted(connection, transport):
        made.append(weakref.ref(connection))
        make(connection, transport)

    monkeypatch.setattr(connections.HttpConnection, "connection_made", noted)
    with live_server(tmp_path / "run") as server:
        gc.disable()
        try:
            _, writer, line = await asked(server, HEALTH)
            assert line == b"HTTP/1.1 200 OK\r\n" and made[0]() is not None
            writer.close()
            for _ in range(100):
                if made[0]() is None:
                    break
                await asyncio.sleep(0.02)
            assert made[0]() is None
        finally:
            gc.enable()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    found = listening.Certificate(folder / "chain.pem", folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-keyout", found.key, "-out", found.chain, "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return found


async def test_connections_without_a_handshake_are_bounded_and_keep_nobody_out(
    tmp_path, monkeypatch, certificate
):
    monkeypatch.setattr(places, "MOST_OPENING", 2)
    trusted = ssl.create_default_context(cafile=certificate.chain)
    store, bounds = RunStore.create(tmp_path / "run", {}, []), ServerBounds()
    app = EnvironmentApp(SessionServer(SessionConfig({}, store)), Accounts(()), bounds)
    ending = asyncio.Event()
    with listening.listen("127.0.0.1", 0) as socket_:
        serving = asyncio.create_task(listening.serve(app, socket_, ending, bounds, certificate))
        port = socket_.getsockname()[1]
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, _ in silent[:3]:
            assert await ended(reader)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted)
        for _ in range(3):  # An open connection is not counted among those that open.
            silent.append(await asyncio.open_connection("127.0.0.1", port))
        writer.write(HEALTH)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert await ended(silent[4][0])
        for _, each in [*silent, (reader, writer)]:
            each.transport.abort()
        ending.set()
        await serving
    store.close()


def test_a_place_is_free_once_its_connection_is_closed():
    found = places.Places(2)
    with socket.create_server(("127.0.0.1", 0)) as server, found.listener(server) as listener:
        for _ in range(4):
            with socket.create_connection(server.getsockname()) as client:
                connection, _ = listener.accept()
                found.opened(connection.fileno())
                client.sendall(b"x")
                assert connection.recv(1) == b"x"
                connection.close()
        held = [socket.create_connection(server.getsockname()) for _ in range(3)]
        taken = [listener.accept()[0] for _ in range(2)]
        for one in taken:
            found.opened(one.fileno())
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert held[2].recv(1) == b""
        for one in (*held, *taken):
            one.close()


@pytest.mark.parametrize("more", [b"X: " + b"a" * 9_000 + b"\r\n", b"X: a\r\n" * 200])
async def test_a_websocket_whose_request_cannot_be_read_is_closed(tmp_path, more):
    request = b"GET /v1/session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n" + more
    request += b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    request += b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    with live_server(tmp_path / "run") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        assert await ended(reader)
        writer.close()
