"""A proxy without a sandbox: guests are clients on the host's loopback, hosts servers there."""

import asyncio
import gc
import os
import socket
from contextlib import asynccontextmanager, suppress

import pytest

from agentgym.sandbox.network import gate
from agentgym.sandbox.network.journal import Journal
from agentgym.sandbox.network.policy import Policy
from agentgym.sandbox.network.proxy import Proxy

GET = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


@pytest.fixture
async def nothing_left():
    """No task, no descriptor and no unhandled exception outlives a test."""
    problems = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    before = descriptors()
    yield
    gc.collect()
    assert problems == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert descriptors() == before


@pytest.fixture
def names(monkeypatch):
    """A resolver: what each name resolves to, and how often it was asked."""
    known, asked = {}, []

    def lookup(name):
        asked.append(name)
        if name not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        found = known[name]
        return found.pop(0) if isinstance(found[0], list) else found

    monkeypatch.setattr(gate, "lookup", lookup)
    known["asked"] = asked
    return known


@asynccontextmanager
async def proxied(*allow, network="allowlist"):
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    port = listener.getsockname()[1]
    listener.setblocking(False)
    notes = Journal()
    running = Proxy(listener, Policy.of(network, allow), notes)
    try:
        yield Guest(port, notes)
    finally:
        await running.close()


class Guest:
    def __init__(self, port, notes):
        self.port, self.notes = port, notes

    async def say(self, data, end=True):
        """Send bytes, and return all that comes back until the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            if end:
                writer.write_eof()
            return await reader.read()
        finally:
            await hang_up(writer)

    @property
    def audit(self):
        return self.notes.connections()


async def hang_up(writer):
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def site(serve, host="127.0.0.1", port=0):
    """A server; yields its port."""
    running = set()

    async def handle(reader, writer):
        running.add(asyncio.current_task())
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            await hang_up(writer)
            running.discard(asyncio.current_task())

    server = await asyncio.start_server(handle, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        while running:
            await asyncio.sleep(0.002)
        await server.wait_closed()
        await asyncio.sleep(0)


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


def reply(body, status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Web:
    """Answers each request with a fixed answer, and keeps what came."""

    def __init__(self, answer=None):
        self.answer, self.seen = answer, []

    async def __call__(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen.append(head)
        writer.write(self.answer or reply(b"hello"))
        await writer.drain()


async def count(reader, writer):
    """Reads to the end, and only then answers."""
    writer.write(b"%d" % len(await reader.read()))
    await writer.drain()
