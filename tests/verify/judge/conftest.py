"""A judge whose model is a program on the loopback that reads what it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer

from agentgym.verify.judge.cache import AnswerCache
from agentgym.verify.judge.model import ModelJudge

Serve = Callable[[Any], ChatServer]
Make = Callable[..., ModelJudge]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start servers that the environment then names; all are stopped at the end."""
    for name in ("AGENTGYM_JUDGE", "AGENTGYM_JUDGE_BASE_URL", "AGENTGYM_JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:

        def start(script: Any) -> ChatServer:
            server = stack.enter_context(ChatServer(script))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "secret")
            return server

        yield start


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a judge with a cache of the test's own."""

    def judge(argument: str = "reader?retries=0&timeout_s=20") -> ModelJudge:
        return ModelJudge(argument, AnswerCache(tmp_path / "answers"))

    return judge
