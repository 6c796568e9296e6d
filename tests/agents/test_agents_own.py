"""Agents of a user's own: found by a spec, in a thread of their own, bounded by their deadline."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, call, says

import agentgym
import agentgym.testing.agent as contract
from agentgym.agents import registry
from agentgym.agents.blame import blame
from agentgym.agents.loading import find_source, source_of
from agentgym.agents.own import OwnAgent
from agentgym.agents.registry import create, is_privileged
from agentgym.agents.settled import settled
from agentgym.authoring.agents import new_agent, template
from agentgym.errors import ConfigError, NotFoundError, PolicyError
from agentgym.records import Action, Decision
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, actions, play

PAGE = Path(agentgym.__file__).parents[1] / "docs/agents.md"
LOOK = says(call("look", call_id="call_1"))
SUBMIT = says(call("submit", {"answer": "hello"}, "call_2"))


class Plain:
    def act(self, observation, tools, history):
        if history:
            return {"tool": "submit", "arguments": {"answer": observation.text}}
        return Action("look")


class Waiting:
    privileged = True

    async def start(self, briefing):
        self.seed = briefing.seed

    async def act(self, observation, tools, history):
        await asyncio.sleep(0)
        return Decision(Action("submit", {"answer": str(self.seed)}), "so far")

    async def close(self):
        self.seed = None


def own(factory):
    return OwnAgent(source_of(factory, f"python:here:{factory.__name__}"))


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("agent python:")]


class TestPlain(contract.AgentContract):
    def make(self):
        return own(Plain)


class TestWaiting(contract.AgentContract):
    def make(self):
        return own(Waiting)

    def test_a_history_of_another_agent_is_accepted(self):
        """It submits at once."""
        history = [contract.Step(0, Decision(Action("look")), FIRST)]
        assert actions(self._episode(history))[-1].tool == "submit"


async def test_plain_and_async_agents_leave_no_thread_behind():
    for factory, done in ((Plain, ["look", "submit"]), (Waiting, ["submit"])):
        agent = own(factory)
        assert [action.tool for action in actions(await play(agent))] == done
        await agent.close()
        assert threads() == []


async def test_an_agent_that_blocks_holds_up_nobody():
    release = threading.Event()

    class Blocking:
        def act(self, observation, tools, history):
            release.wait(60)

    agent = own(Blocking)
    await agent.start(BRIEFING)
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agent.act(FIRST, TOOLS, ()), 0.05)
        began = time.monotonic()
        await agent.close()  # it is left behind, and not waited for
        assert time.monotonic() - began < 30, "close waited for it"
    finally:
        release.set()
    while threads():
        await asyncio.sleep(0.01)


class Exits:
    def act(self, observation, tools, history):
        sys.exit(3)


class Cancels:
    async def act(self, observation, tools, history):
        raise asyncio.CancelledError


class Interrupts:
    def act(self, observation, tools, history):
        raise KeyboardInterrupt


class Generates:
    async def act(self, observation, tools, history):
        raise GeneratorExit


class Own(BaseException):
    def __str__(self):
        raise SystemExit


class Untold:
    def act(self, observation, tools, history):
        raise Own


class Odd:
    def act(self, observation, tools, history):
        return ["look"]


class Unmade:
    def __init__(self):
        raise KeyError("no key")

    def act(self, observation, tools, history):
        raise AssertionError("it was not made")


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        (Exits, "SystemExit: 3"),
        (Cancels, "CancelledError"),
        (Interrupts, "KeyboardInterrupt"),
        (Generates, "GeneratorExit"),
        (Untold, "Own"),
        (Odd, "an action is an object"),
        (Unmade, "KeyError: 'no key'"),
    ],
)
async def test_whatever_an_agent_raises_is_its_own_doing(factory, told):
    agent = own(factory)
    with pytest.raises(Exception) as caught:  # nothing that would end the engine's loop
        await play(agent)
    await agent.close()
    failure = blame(caught.value, agent)
    assert type(failure) is PolicyError and told in str(failure)
    if factory is Exits:
        assert "sys.exit(3)" in failure.detail and "in done" not in failure.detail


def where():
    """Note the thread that reads a value of an agent's own class."""
    READERS.append(threading.current_thread())


READERS = []


class Word(str):
    def __len__(self):
        where()
        return super().__len__()


class Object(dict):
    def items(self):
        where()
        return super().items()

    def get(self, *arguments):
        where()
        return super().get(*arguments)

    def __iter__(self):
        where()
        return super().__iter__()


class Calls(tuple):
    def __iter__(self):
        where()
        return super().__iter__()

    def __len__(self):
        where()
        return super().__len__()


class Choice(Decision):
    @property
    def thought(self):
        where()
        return "why"

    @thought.setter
    def thought(self, value):
        pass


class Raised(Exception):
    def __str__(self):
        where()
        return "told"

    @property
    def usage(self):
        where()


LOOK_ROUND = Action("look")
ODD_ANSWERS = [
    lambda: Action(Word("look"), Object(word=Word("w"))),
    lambda: Object(tool="look"),
    lambda: Choice(LOOK_ROUND),
    lambda: Decision(LOOK_ROUND, reply=Object(a=1), nudges=Calls(), generations=Calls()),
]


@pytest.mark.parametrize("answer", [*ODD_ANSWERS, Raised])
async def test_what_an_agent_returns_or_raises_is_read_in_its_own_thread(answer):
    class Answers:
        def act(self, observation, tools, history):
            answered = answer()
            if isinstance(answered, Exception):
                raise answered
            return answered

    READERS.clear()
    agent = own(Answers)
    await agent.start(BRIEFING)
    try:
        decision = settled(await agent.act(FIRST, TOOLS, ()))
    except PolicyError as error:
        assert "Raised: told" in str(blame(error, agent))
    else:
        assert type(decision) is Decision and type(decision.action.tool) is str
    await agent.close()
    assert READERS and threading.current_thread() not in READERS


async def test_what_an_agent_raises_while_it_is_closed_ends_nothing():
    class Leaves:
        def act(self, observation, tools, history):
            return Action("submit", {"answer": "hello"})

        def close(self):
            sys.exit(3)

    agent = own(Leaves)
    await play(agent)
    await agent.close()
    assert not threads()


# --- where it is found ------------------------------------------------------------------------

TWO = """
import dataclasses
import beside

@dataclasses.dataclass
class One:
    word: str = beside.WORD
    def act(self, observation, tools, history):
        return {"tool": "submit", "arguments": {"answer": self.word}}

class Other(One):
    pass

class Nothing:
    pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    find_source.cache_clear()
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(TWO)
    (tmp_path / "beside.py").write_text("WORD = 'from beside'\n")
    yield tmp_path
    for name in ("beside", "two"):
        sys.modules.pop(name, None)


async def answer(spec):
    agent = create(spec)
    steps = await play(agent)
    await agent.close()
    return steps[-1].action.arguments["answer"]


@pytest.mark.parametrize("spec", ["./two.py:One", "two.py:Other", "python:two:One"])
async def test_a_class_is_found_in_a_file_and_in_a_module(folder, spec):
    assert await answer(spec) == "from beside"
    assert await answer(f"{spec}?word=given%20here") == "given here"
    assert await answer(f"{folder}/two.py:One") == "from beside"


def test_a_file_with_one_agent_needs_no_name(folder):
    (folder / "only.py").write_text(TWO.replace("class Other(One)", "class Other"))
    registry.check(create("./only.py"))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("./two.py:Onne", "it has no 'Onne'; did you mean 'One'"),
        ("./two.py", "name the class: FILE.py:CLASS; the file has One, Other"),
        ("./two.py:Nothing", r"needs a method act\(self, observation, tools, history\)"),
        ("./three.py:One", "there is no file three.py"),
        ("python:two", "expected python:MODULE:CLASS"),
        ("python:nowhere:One", "ModuleNotFoundError: No module named 'nowhere'"),
        ("./broken.py:One", r"broken.py:2: .*"),
        ("./failing.py:One", r"ZeroDivisionError: .*failing.py:1"),
        ("./exiting.py:One", "SystemExit"),
        ("./two.py:One?size=3", "cannot be made: TypeError"),
        ("./two.py:beside", "give the class"),
        ("./plain.py:policy", r"policy is a function: .* write a class with a method act\(self"),
        ("./plain.py", r"the file has no class with a method act\(self, observation"),
    ],
)
def test_what_is_wrong_with_a_spec_is_told_before_anything_runs(folder, spec, told):
    (folder / "broken.py").write_text("\nclass One(:\n")
    (folder / "failing.py").write_text("1 / 0\n")
    (folder / "plain.py").write_text("def policy(observation, tools, history): ...\n")
    (folder / "exiting.py").write_text("raise SystemExit\n")
    with pytest.raises(ConfigError, match=told):
        registry.check(create(spec))


def test_an_unknown_name_hints_at_agents_of_one_s_own():
    with pytest.raises(NotFoundError, match=r"\./FILE\.py:CLASS or python:MODULE:CLASS"):
        create("my_agent")


def test_an_object_is_no_source():
    with pytest.raises(ConfigError, match="it is an object of Plain; give the class"):
        source_of(Plain(), "python:here:Plain")


def test_privilege_is_declared_by_the_class():
    assert is_privileged(own(Waiting)) and not is_privileged(own(Plain))


# --- the page and its agent ---------------------------------------------------------------------


def test_the_page_shows_the_agent_that_is_written(tmp_path):
    (shown,) = re.findall(r"```python\n(.*?class MyAgent.*?)```", PAGE.read_text(), re.S)
    assert shown == template(model=True)
    assert len(shown.splitlines()) == 30
    file, name = new_agent(tmp_path / "my_first_agent", model=True)
    assert (file.name, name) == ("my_first_agent.py", "MyFirstAgent")
    assert file.read_text() == shown.replace("MyAgent", "MyFirstAgent")
    with pytest.raises(ConfigError, match="already exists"):
        new_agent(file, model=False)
    with pytest.raises(ConfigError, match="write e.g.: my_agent"):
        new_agent(tmp_path / "my-agent", model=False)
    with pytest.raises(ConfigError, match="is not a name for a Python file"):
        new_agent(Path("//"), model=False)


async def test_the_agent_of_the_page_plays(tmp_path, monkeypatch):
    find_source.cache_clear()
    file, name = new_agent(tmp_path / "my_agent", model=True)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ChatServer([LOOK, SUBMIT, says(content="I am done.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = create(f"{file}:{name}?model=mine")
        steps = await play(agent)
        assert actions(steps) == [Action("look"), Action("submit", {"answer": "hello"})]
        with pytest.raises(PolicyError, match="TypeError"):
            await play(agent, steps[:1])  # the third reply is prose
        await agent.close()
    assert {request["model"] for request in server.requests} == {"mine"}
    assert server.requests[1]["messages"][-1]["content"] == "look: []"


async def test_the_agent_with_rules_plays(tmp_path):
    find_source.cache_clear()
    file, name = new_agent(tmp_path / "rules.py", model=False)
    agent = create(f"{file}:{name}")
    assert [action.tool for action in actions(await play(agent))] == ["bash", "submit"]
    await agent.close()
