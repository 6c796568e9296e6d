"""The agents' contract suite, over all five built-in agents, and shown to catch offenders."""

import doctest
import json

import pytest
from chat_server import ChatServer, call, says

import agentgym.testing.agent as contract
from agentgym.agents.noop import NoopAgent
from agentgym.agents.openai import OpenAIAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.agents.random import RandomAgent
from agentgym.agents.scripted import ScriptedAgent
from agentgym.protocols import Agent
from agentgym.records import Action, Decision


class TestNoop(contract.AgentContract):
    def make(self) -> Agent:
        return NoopAgent()


class TestRandom(contract.AgentContract):
    def make(self) -> Agent:
        return RandomAgent()


class TestOracle(contract.AgentContract):
    def make(self) -> Agent:
        return OracleAgent()


class TestScripted(contract.AgentContract):
    @pytest.fixture(autouse=True)
    def script(self, tmp_path):
        self.path = tmp_path / "plan.jsonl"
        lines = [{"tool": "look"}, {"tool": "bash", "arguments": {"command": "echo hello"}}]
        self.path.write_text("\n".join(map(json.dumps, lines)))

    def make(self) -> Agent:
        return ScriptedAgent(str(self.path))


def talks(request):
    """A model that looks, acts and submits, by the number of its earlier calls."""
    done = sum(message["role"] == "assistant" for message in request["messages"])
    calls = [call("look"), call("bash", {"command": "echo hello"}), call("submit")]
    return says(calls[min(done, 2)], content=f"step {done}")


class TestOpenAI(contract.AgentContract):
    @pytest.fixture(autouse=True)
    def server(self, monkeypatch):
        with ChatServer(talks) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.delenv("OPENAI_API_KEY", raising=False)
            yield

    def make(self) -> Agent:
        return OpenAIAgent("test")


class TestOpenAIStreaming(TestOpenAI):
    def make(self) -> Agent:
        return OpenAIAgent("test?stream=true")


class _Remembers(NoopAgent):
    """Acts on what it remembers instead of on the history."""

    calls = 0

    async def act(self, observation, tools, history):
        self.calls += 1
        return Decision(Action("submit" if self.calls > 3 else "look"))


class _Shares(NoopAgent):
    """Keeps its state where every other agent sees it."""

    calls = 0

    async def act(self, observation, tools, history):
        _Shares.calls += 1
        return Decision(Action("submit" if _Shares.calls % 4 == 0 else "look"))


class _Meddles(NoopAgent):
    async def act(self, observation, tools, history):
        if isinstance(tools, list):
            tools.clear()
        return Decision(Action("submit"))


class _KeepsObjects(NoopAgent):
    async def act(self, observation, tools, history):
        return Decision(Action("submit"), reply=("a tuple is no JSON",))


class _ClosesOnce(NoopAgent):
    closed = False

    async def close(self):
        if self.closed:
            raise RuntimeError("closed twice")
        self.closed = True


@pytest.mark.parametrize(
    ("offender", "broken"),
    [
        (_Remembers, "test_a_resumed_agent_goes_on_as_if_never_interrupted"),
        (_Shares, "test_episodes_side_by_side_do_not_mix"),
        (_Meddles, "test_arguments_are_left_alone"),
        (_KeepsObjects, "test_decisions_are_records"),
        (_ClosesOnce, "test_close_may_come_early_and_twice"),
    ],
)
def test_the_suite_catches(offender, broken):
    suite = contract.AgentContract()
    suite.make = offender
    with pytest.raises((AssertionError, RuntimeError)):
        getattr(suite, broken)()


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(contract).failed == 0
    assert doctest.testmod(contract).attempted > 0
