import asyncio

import pytest
from chat_server import ChatServer


@pytest.fixture
def serve(monkeypatch):
    """Start servers that the environment then names; all are stopped at the end."""
    started = []

    def start(script):
        server = ChatServer(script)
        server.__enter__()
        started.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def waits(monkeypatch):
    """Note how long the agent would sleep, and let it sleep no longer than a turn of the loop."""
    noted = []
    sleep = asyncio.sleep

    async def note(seconds):
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", note)
    return noted
