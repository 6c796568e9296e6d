"""Agents by name, through the real entry points and through fake ones."""

import subprocess
import sys
import threading

import pytest

from agentgym import plugins
from agentgym.agents.noop import NoopAgent
from agentgym.agents.openai import OpenAIAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.agents.registry import check, create, is_privileged
from agentgym.agents.scripted import ScriptedAgent
from agentgym.errors import ConfigError, NotFoundError, PluginError
from agentgym.records import Action
from agentgym.testing.agent import actions, play


@pytest.fixture(autouse=True)
def local_endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("spec", ["noop", "noop:", "random", "oracle"])
def test_agents_without_argument(spec):
    assert type(create(spec)).__module__ == f"agentgym.agents.{spec.rstrip(':')}"


def test_what_follows_the_first_colon_is_the_argument(tmp_path):
    path = tmp_path / "a:b.sh"
    path.write_text("true")
    assert isinstance(create(f"scripted:{path}"), ScriptedAgent)
    assert isinstance(create("openai:family:8b"), OpenAIAgent)


def test_only_the_oracle_is_privileged():
    assert is_privileged(OracleAgent())
    assert not is_privileged(NoopAgent())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("noop:foo", "'noop' takes no argument, got 'foo'"),
        ("random:3", "'random' takes no argument, got '3'"),
        ("oracle:x", "'oracle' takes no argument, got 'x'"),
        ("scripted", r"'scripted' needs a file; write e\.g\.: scripted:"),
        ("openai", r"'openai' needs a model; write e\.g\.: openai:gpt-x"),
        ("openai:?stream=1", "'openai' needs a model"),
        ("openai:m?steam=1", "no option 'steam'; did you mean 'stream'"),
        ("openai:m?stream=maybe", "option stream='maybe'"),
        ("openai:m?temperature=hot", "option temperature='hot'"),
        ("openai:m?timeout_s=inf", "option timeout_s='inf'"),
        ("openai:m?retries=-1", "option retries='-1'"),
        ("openai:m?max_tokens=0", "option max_tokens='0'"),
        ("openai:m?extra_body=[1]", r"option extra_body='\[1\]'"),
    ],
)
def test_a_wrong_argument_is_explained(spec, message):
    with pytest.raises(ConfigError, match=message):
        create(spec)


@pytest.mark.parametrize("spec", ["orcale", "orcale:x", "OpenAI:gpt", ""])
def test_an_unknown_agent_is_not_found(spec):
    with pytest.raises(NotFoundError) as caught:
        create(spec)
    assert "noop, openai, oracle, random, scripted" in str(caught.value)
    if "orcale" in spec:
        assert caught.value.matches == ("oracle",)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda argument: 1 / 0, "agent 'mine' cannot be made from 'mine:x': division by zero"),
        (lambda argument: object(), r"agent 'mine' is a object without start\(\)"),
    ],
)
def test_a_broken_plugin_is_a_plugin_error(monkeypatch, factory, message):
    monkeypatch.setattr(plugins, "load", lambda group, name: factory)
    with pytest.raises(PluginError, match=message):
        check(create("mine:x"))


async def test_an_installed_agent_has_a_thread_of_its_own(monkeypatch):
    """One that blocks, or cannot be made, holds up and spoils nothing but its own episode."""

    class Installed(NoopAgent):
        privileged = True

        async def act(self, observation, tools, history):
            self.thread = threading.current_thread()
            return await super().act(observation, tools, history)

    made = []
    factory = lambda argument: made.append(Installed(argument)) or made[-1]  # noqa: E731
    factory.privileged = True
    monkeypatch.setattr(plugins, "load", lambda group, name: factory)
    agent = create("mine")
    check(agent)
    assert is_privileged(agent)
    steps = await play(agent)
    await agent.close()
    assert actions(steps) == [Action("submit")]
    assert made[-1].thread is not threading.main_thread()


def test_the_registry_does_not_import_the_sdk():
    code = "import sys, agentgym.agents.registry; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
