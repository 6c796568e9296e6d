"""The proxy itself: tunnels, limits, deadlines, and what is left when it closes."""

import asyncio
import contextlib
import errno
import os
import socket
import struct
import threading
from ipaddress import ip_address

import pytest
from proxied import GET, Web, count, descriptors, echo, hang_up, proxied, reply, site

from agentgym.records import Connection
from agentgym.sandbox.network import gate, http, journal, proxy
from agentgym.sandbox.network.stream import Stream

pytestmark = pytest.mark.usefixtures("nothing_left")

# --- tunnels -----------------------------------------------------------------------------------


async def test_a_tunnel_passes_what_follows_and_each_end_by_itself():
    async with site(count) as port, proxied(f"127.0.0.1:{port}") as guest:
        head = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        answer = await guest.say(head + b"x" * 300_000)
        assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n300000")
        assert guest.audit == (Connection("127.0.0.1", port, "connect", "open", 300_000, 6),)


def socks(kind, address, port, command=1):
    return b"\x05\x01\x00" + bytes((5, command, 0, kind)) + address + struct.pack(">H", port)


async def test_socks_takes_names_and_addresses(names):
    names["site.test"] = ["127.0.0.1"]
    async with site(count) as port, proxied(f"site.test:{port}", f"127.0.0.1:{port}") as guest:
        for request in (
            socks(3, b"\x09site.test", port),
            socks(1, b"\x7f\x00\x00\x01", port),
            socks(4, b"\0" * 10 + b"\xff\xff\x7f\x00\x00\x01", port),
        ):
            answer = await guest.say(request + b"12345")
            assert answer == b"\x05\x00" + b"\x05\x00\x00\x01" + bytes(6) + b"5"
        assert [c.host for c in guest.audit[:2]] == ["site.test", "127.0.0.1"]
        assert ip_address(guest.audit[2].host) == ip_address("::ffff:127.0.0.1")
        assert {(c.via, c.sent_bytes, c.received_bytes) for c in guest.audit} == {("socks5", 5, 1)}


async def test_socks_says_what_is_wrong(names):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    async with proxied(f"127.0.0.1:{closed}", "unknown.test") as guest:
        for request, code in (
            (socks(3, b"\x0bexample.com", 80), 2),
            (socks(3, b"\x03\xff\xfe\xfd", 80), 2),
            (socks(3, b"\x0cunknown.test", 80), 4),
            (socks(1, b"\x7f\x00\x00\x01", closed), 5),
            (socks(1, b"\x7f\x00\x00\x01", closed, command=2), 7),
            (socks(1, b"\x7f\x00\x00\x01", closed, command=3), 7),
            (socks(9, b"", closed), 8),
        ):
            answer = await guest.say(request)
            assert answer[:4] == bytes((5, 0, 5, code)), request
        assert await guest.say(b"\x05\x01\x02") == b"\x05\xff"
        for cut in range(1, 10):
            await guest.say(socks(1, b"\x7f\x00\x00\x01", closed)[:cut])
        assert [connection.outcome.split(":")[0] for connection in guest.audit] == [
            *("refused", "refused", "failed", "failed", "refused", "refused")
        ]
        assert guest.audit[3].outcome == f"failed: {os.strerror(errno.ECONNREFUSED)}"


# --- too much, too slow ------------------------------------------------------------------------


async def test_a_head_may_not_be_huge_nor_slow(monkeypatch):
    monkeypatch.setattr(proxy, "HEAD_S", 0.2)
    async with proxied() as guest:
        huge = b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: " + b"x" * http.MAX_HEAD
        assert (await guest.say(huge, end=False)).startswith(b"HTTP/1.1 431 ")
        lines = b"GET http://a.test/ HTTP/1.1\r\n" + b"X: y\r\n" * 10_000
        assert (await guest.say(lines, end=False)).startswith(b"HTTP/1.1 431 ")
        slow = b"GET http://a.test/ HTTP/1.1\r\nHo"
        assert (await guest.say(slow, end=False)).startswith(b"HTTP/1.1 408 ")
        for silent in (b"", b"\x05", b"\x05\x01\x00\x05\x01"):
            assert await guest.say(silent, end=False) in (b"", b"\x05\x00")


async def test_a_kept_connection_that_nobody_uses_is_closed_without_a_word(monkeypatch):
    monkeypatch.setattr(proxy, "HEAD_S", 0.2)
    web = Web()
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        answer = await guest.say(GET % (port, port) + b"\r\n", end=False)
        assert answer == reply(b"hello")


async def test_a_guest_that_never_reads_holds_its_host_up_and_is_left_in_the_end(monkeypatch):
    monkeypatch.setattr(proxy, "IDLE_S", 0.5)
    sent = 0
    over = asyncio.Event()

    async def flood(reader, writer):
        nonlocal sent
        try:
            while True:
                writer.write(bytes(65536))
                await writer.drain()
                sent += 65536
        finally:
            over.set()

    async with site(flood) as port, proxied(f"127.0.0.1:{port}") as guest:
        _, writer = await asyncio.open_connection("127.0.0.1", guest.port, limit=1)
        writer.transport.pause_reading()
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await over.wait()
        # What kernels buffer, and no more.
        assert sent < 64 * 2**20
        writer.transport.abort()
        await hang_up(writer)


async def test_a_host_that_says_nothing_is_left_in_the_end(monkeypatch):
    monkeypatch.setattr(proxy, "IDLE_S", 0.3)

    async def silent(reader, writer):
        await reader.read()

    async with site(silent) as port, proxied(f"127.0.0.1:{port}") as guest:
        answer = await guest.say(
            f"GET http://127.0.0.1:{port}/ HTTP/1.0\r\n\r\n".encode(), end=False
        )
        assert answer.startswith(b"HTTP/1.1 502 ")


async def test_a_busy_connection_leaves_others_their_turn():
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    ours.setblocking(False)
    stream, received = Stream(ours), 0
    running = asyncio.create_task(other())
    with theirs, contextlib.closing(stream):
        for round_ in range(20):
            # There when it is asked for, so that nothing has to be waited for.
            theirs.sendall(b"x")
            received += len(await stream.receive())
            assert turns > round_
    assert received == 20
    running.cancel()
    await asyncio.wait([running])


async def test_many_connections_at_once():
    everyone = asyncio.Barrier(200)

    async def together(reader, writer):
        await everyone.wait()
        await echo(reader, writer)

    async with site(together) as port, proxied(f"127.0.0.1:{port}") as guest:
        start = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        said = [b"%d" % n * 1000 for n in range(200)]
        answers = await asyncio.gather(*(guest.say(start + words) for words in said))
        assert [answer.partition(b"\r\n\r\n")[2] for answer in answers] == said
        assert {c.outcome for c in guest.audit} == {"open"} and len(guest.audit) == 200


async def test_more_than_are_served_at_once_wait_their_turn(monkeypatch):
    monkeypatch.setattr(proxy, "MAX_CONNECTIONS", 4)
    now = most = 0

    async def serve(reader, writer):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await reader.read()
        now -= 1
        writer.write(b"done")

    async with site(serve) as port, proxied(f"127.0.0.1:{port}") as guest:
        start = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        answers = await asyncio.gather(*(guest.say(start) for _ in range(40)))
        assert all(answer.endswith(b"done") for answer in answers)
        assert most <= 4


async def test_connections_are_declined_before_the_process_runs_out_of_descriptors(monkeypatch):
    used = len(descriptors())
    monkeypatch.setattr(
        "agentgym.sandbox.network.stream.resource.getrlimit", lambda _: ((used + 10) * 4 // 3, 0)
    )
    release = asyncio.Event()

    async def wait(reader, writer):
        await release.wait()
        writer.write(b"done")

    async with site(wait) as port, proxied(f"127.0.0.1:{port}") as guest:
        start = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        calls = [asyncio.create_task(guest.say(start)) for _ in range(20)]
        while sum(call.done() for call in calls) < 10:
            await asyncio.sleep(0.01)
        release.set()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        served = [a for a in answers if isinstance(a, bytes) and a.endswith(b"done")]
        assert 0 < len(served) < 20
        assert (await guest.say(start)).endswith(b"done")


async def test_lookups_that_hang_end_at_the_deadline_and_hold_up_nobody(monkeypatch):
    monkeypatch.setattr(gate, "CONNECT_S", 0.3)
    release = threading.Event()
    monkeypatch.setattr(gate, "lookup", lambda name: release.wait() and [])
    try:
        async with site(count) as port, proxied(f"127.0.0.1:{port}", "slow.test") as guest:
            slow = b"CONNECT slow.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"
            hanging = [asyncio.create_task(guest.say(slow)) for _ in range(10)]
            start = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            assert (await guest.say(start + b"123")).endswith(b"3")
            assert await asyncio.to_thread(lambda: "the engine's threads are free")
            answers = await asyncio.gather(*hanging)
            assert {answer.split()[1] for answer in answers} == {b"504"}
            assert guest.audit[-1].outcome in ("open", "failed: no answer within 0.3 s")
    finally:
        release.set()


async def test_closing_in_the_middle_of_transfers_leaves_nothing(names):
    started = asyncio.Barrier(21)

    async def flood(reader, writer):
        await started.wait()
        while True:
            writer.write(bytes(65536))
            await writer.drain()

    async def talk(port, request):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        try:
            while await reader.read(65536):
                pass
        except ConnectionResetError:
            pass
        await hang_up(writer)

    async with site(flood) as port:
        async with proxied(f"127.0.0.1:{port}") as guest:
            start = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            talks = [asyncio.create_task(talk(guest.port, start)) for _ in range(20)]
            await started.wait()
            while not all(c.received_bytes for c in guest.audit):
                await asyncio.sleep(0.002)
            # Still open: the audit has them with the bytes so far.
            assert {c.outcome for c in guest.audit} == {"open"} and len(guest.audit) == 20
        await asyncio.gather(*talks)


async def test_the_journal_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(journal, "MAX_ATTEMPTS", 3)
    async with proxied() as guest:
        for n in range(5):
            await guest.say(f"CONNECT {n}.test:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert [c.host for c in guest.audit] == ["0.test", "1.test", "2.test", ""]
        assert guest.audit[-1] == Connection("", 0, "", "failed: 2 more are not listed")
