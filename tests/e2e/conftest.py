"""The `agentgym` command as a user has it: the console script, in a folder of its own."""

import importlib
import os

import pytest

from agentgym import plugins


@pytest.fixture(autouse=True)
def sandbox_works():
    if problems := plugins.load("agentgym.sandboxes", "bubblewrap")().problems():
        pytest.skip(f"bubblewrap cannot run: {problems}")


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """A root on the search path, whose tasks the test writes; nothing of the caller's own."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTGYM_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "catalogue"
    root.mkdir()
    monkeypatch.setenv("AGENTGYM_PATH", str(root))
    return root


@pytest.fixture
def cli(catalogue, tmp_path, warm_command):
    """Call the command in `tmp_path` and wait for its end."""

    def call(*arguments, **env):
        return warm_command.run(arguments, cwd=tmp_path, env={**os.environ, **env}, timeout=120)

    return call


@pytest.fixture
def chat_server(monkeypatch):
    """The module of the chat-completions server that the agents' tests own."""
    return importlib.import_module("chat_server")
