"""A server without free descriptors waits for some; it neither floods a log nor stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import socket
import time

import httpx
import pytest
import uvicorn

from agentgym.services.accepting import ACCEPTED_AT_ONCE, AcceptingServer
from agentgym.services.http import serve_http

CLIENTS = 5


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@contextlib.contextmanager
def no_descriptors():
    """Take all descriptors that this process may still open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in taken:
            os.close(one)


@pytest.fixture
def tries(monkeypatch):
    """A list that grows with each connection that this process tries to accept."""
    made = []
    accept = socket.socket.accept

    def counted(self):
        made.append(self)
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", counted)
    return made


async def test_a_server_without_descriptors_waits_and_tells_it_once(tries, caplog):
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", ws="none", backlog=ACCEPTED_AT_ONCE
    )
    server, loop = AcceptingServer(config), asyncio.get_running_loop()
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.05)
    clients = [socket.socket() for _ in range(CLIENTS)]
    try:
        with caplog.at_level(logging.WARNING), no_descriptors():
            for one in clients:
                one.setblocking(False)
                await loop.sock_connect(one, listening.getsockname())
                await loop.sock_sendall(one, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(3.5)
        assert 1 < len(tries) < 10
        assert len(caplog.records) == 1 and "allow more with ulimit -n" in caplog.text
        async with asyncio.timeout(20):
            for one in clients:
                assert (await loop.sock_recv(one, 100)).startswith(b"HTTP/1.1 204")
    finally:
        server.should_exit = True
        for one in clients:
            one.close()
        await serving
        listening.close()


def test_services_without_descriptors_wait_and_tell_it_once(tries, caplog):
    with serve_http(app) as url:
        clients = [socket.socket() for _ in range(CLIENTS)]
        with caplog.at_level(logging.WARNING), no_descriptors():
            for one in clients:
                one.connect(("127.0.0.1", int(url.rpartition(":")[2])))
            time.sleep(1.5)
        for one in clients:
            one.close()
        assert 0 < len(tries) < 10
        assert len(caplog.records) == 1 and "allow more with ulimit -n" in caplog.text
        assert httpx.get(url, timeout=20).status_code == 204
