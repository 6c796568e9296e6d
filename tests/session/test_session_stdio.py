"""A client on standard input and output that never reads, stays, or closes in the middle."""

import asyncio
import json
import os
from contextlib import contextmanager, suppress

import pytest
from counter_sessions import TOLD, config_of, store

from agentgym.services import stdio
from agentgym.session.mcp import McpAdapter
from agentgym.session.serve import serve_stdio
from agentgym.session.server import SessionServer

__all__ = ["store"]

_WHO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "deaf", "version": "1"},
}


class Client:
    """The client's ends of both pipes; it reads when it is told to."""

    def __init__(self, ours):
        self.writing, self.reading = ours
        self.parting = None

    def send(self, method, number=None, **params):
        numbered = {} if number is None else {"id": number}
        message = {"jsonrpc": "2.0", "method": method, "params": params, **numbered}
        os.write(self.writing, json.dumps(message).encode() + b"\n")

    def start(self):
        self.send("initialize", 0, **_WHO)
        self.send("notifications/initialized")
        self.send("tools/call", 1, name="add", arguments={"n": 2})


@pytest.fixture
def client(monkeypatch):
    (given, writing), (reading, taken) = os.pipe(), os.pipe()

    @contextmanager
    def streams():
        yield given, taken

    client = Client((writing, reading))

    class Watched(stdio.Input):
        def __init__(self, descriptor, parting):
            client.parting = parting
            super().__init__(descriptor, parting)

    monkeypatch.setattr("agentgym.services.mcp.standard_streams", streams)
    monkeypatch.setattr("agentgym.services.mcp.Input", Watched)
    monkeypatch.setattr(stdio, "PARTING_S", 0.05)
    yield client
    for end in (writing, reading, given, taken):
        with suppress(OSError):
            os.close(end)


def adapter_of(store):
    config = config_of(store, tell=False, max_episodes=1, may_fork=False)
    return McpAdapter(SessionServer(config), TOLD)


async def until_acted(store):
    while not (store.episodes() and store.steps(1)):
        await asyncio.sleep(0.01)


async def test_the_server_ends_though_its_client_stays(store, client):
    ending = asyncio.Event()
    serving = asyncio.create_task(serve_stdio(adapter_of(store), ending))
    client.start()
    await until_acted(store)
    ending.set()
    await asyncio.wait_for(serving, 20)
    assert store.episode(1).verdict.status == "error:agent"


@pytest.mark.parametrize("terminates", [False, True])
async def test_a_client_that_never_read_and_leaves_is_judged(store, client, terminates):
    ending = asyncio.Event()
    serving = asyncio.create_task(serve_stdio(adapter_of(store), ending))
    client.start()
    await until_acted(store)
    for number in range(2, 300):
        client.send("tools/list", number)
    os.close(client.writing)
    if terminates:
        await asyncio.wait_for(client.parting.wait(), 20)
        ending.set()
    await asyncio.wait_for(serving, 20)
    row = store.episode(1)
    assert (row.verdict.status, row.error) == (
        "scored",
        "the client left without submit or give_up",
    )
