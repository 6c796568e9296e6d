"""A server of models that a text ends, and that is started again: whose failure it is."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from chat_server import call, says

from agentgym.agents.openai import OpenAIAgent
from agentgym.chat import endpoint, restarts
from agentgym.errors import AgentError, PolicyError
from agentgym.testing.agent import play

LOOK = says(call("look", call_id="call_1"))
BASH = says(call("bash", '{"command": "BOOM"}', "call_2"))
SUBMIT = says(call("submit", {"answer": "hello"}, "call_3"))


class Server:
    """Answers in order; it ends when a request has the word that it cannot take."""

    def __init__(self, *, ends_at="BOOM", comes_back=True, replies=(LOOK, BASH, SUBMIT)):
        self._ends_at, self._comes_back, self._replies = ends_at, comes_back, replies
        self.ends, self.port, self._open = 0, 0, set()
        self._tasks = []

    async def start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        self._open.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                if self._ends_at in json.dumps(request):
                    await self._end()
                    return
                if "slow" in json.dumps(request):
                    await asyncio.sleep(0.2)
                said = sum(each["role"] == "assistant" for each in request["messages"])
                body = json.dumps(self._replies[min(said, len(self._replies) - 1)]).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _end(self):
        self.ends += 1
        self._server.close()
        for each in self._open:
            each.transport.abort()
        if self._comes_back:
            self._tasks.append(asyncio.create_task(self._restart()))

    async def _restart(self):
        await asyncio.sleep(0.1)
        await self.start()

    async def stop(self):
        await asyncio.gather(*self._tasks)
        self._server.close()
        for each in self._open:
            each.transport.abort()


@asynccontextmanager
async def served(monkeypatch, **options):
    monkeypatch.setattr(restarts, "_AGAIN_S", 0.02)
    monkeypatch.setattr(endpoint, "FIRST_WAIT_S", 0.01)
    server = Server(**options)
    await server.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
    try:
        yield server
    finally:
        await server.stop()


async def played(argument="test?retries=1"):
    agent = OpenAIAgent(argument)
    try:
        return await play(agent, ())
    finally:
        await agent.close()


async def test_a_text_that_ends_the_server_whenever_it_is_asked_is_the_model_s_failure(monkeypatch):
    async with served(monkeypatch) as server:
        with pytest.raises(PolicyError, match="it answers another dialogue at once"):
            await played()
        assert server.ends == 6


async def test_a_server_that_ends_once_is_waited_for(monkeypatch):
    async with served(monkeypatch) as server:
        end = server._end

        async def once():
            server._ends_at = "never"
            await end()

        server._end = once
        await played()
        assert server.ends == 1


async def test_a_server_that_does_not_come_back_is_an_outage(monkeypatch):
    monkeypatch.setattr(restarts, "RESTART_S", 0.2)
    async with served(monkeypatch, comes_back=False):
        with pytest.raises(AgentError, match="cannot connect") as caught:
            await played()
        assert not isinstance(caught.value, PolicyError)


async def test_the_requests_of_others_that_it_broke_off_are_answered(monkeypatch):
    async with served(monkeypatch) as server:

        async def honest():
            request = {"model": "m", "messages": [{"role": "user", "content": "slow"}]}
            address = endpoint.Address(f"http://127.0.0.1:{server.port}/v1", "none")
            one = endpoint.Endpoint(address, timeout_s=20, retries=1)
            try:
                for _ in range(6):
                    await one.complete(request)
            finally:
                await one.close()

        others = [asyncio.create_task(honest()) for _ in range(3)]
        with pytest.raises(PolicyError):
            await played()
        await asyncio.gather(*others)
        assert server.ends == 6
