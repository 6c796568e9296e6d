"""A model behind the loopback that plays users as a test says."""

from contextlib import ExitStack

import pytest
from chat_server import ChatServer


@pytest.fixture
def serve(monkeypatch):
    """Start servers that the environment then names; all are stopped at the end."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTGYM_USER"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:

        def start(script):
            server = stack.enter_context(ChatServer(script))
            monkeypatch.setenv("AGENTGYM_USER_BASE_URL", server.url)
            return server

        yield start
