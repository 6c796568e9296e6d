"""`make(mcp=…)`: a server alone, beside a task's own surfaces, and under its faults."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

import agentgym
from agentgym.env.environment import Environment
from agentgym.errors import (
    ConfigError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxLimitError,
    SandboxTimeoutError,
)
from agentgym.records import Action, Effect
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.adhoc import lay_down
from agentgym.task.load import load_task

ODD = Path(__file__).parents[1] / "surfaces" / "odd_server.py"
COMMAND = shlex.join([sys.executable, str(ODD)])


def test_free_play_begins_with_what_the_server_says_of_itself():
    env = agentgym.make(mcp=COMMAND)
    observation, info = env.reset(seed=0)
    assert "Nothing is verified." in observation["text"]
    assert observation["text"].endswith("Mind the gaps.")
    assert env.spec.make().unwrapped.environment.task.id == info["task"]
    seen, reward, *_ = env.step({"tool": "count", "arguments": {}})
    assert (seen["text"], reward) == ("1", 0)
    env.reset(seed=0)
    seen, *_ = env.step({"tool": "count", "arguments": {}})
    assert seen["text"] == "1"
    *_, info = env.step({"tool": "submit", "arguments": {}})
    assert info["verdict"]["checkpoints"][0]["message"] == "ad-hoc task: nothing is verified"
    env.close()


def test_a_server_stands_beside_a_tasks_own_surfaces():
    office = str(lay_down("office"))
    env = agentgym.make(office, mcp={"command": COMMAND, "prefix": "odd_"})
    names = [tool.name for tool in env.action_space.tools]
    assert {"tickets_search", "odd_count", "odd_submit", "submit"} <= set(names)
    env.reset(seed=0)
    seen, *_ = env.step({"tool": "odd_count", "arguments": {}})
    assert seen["text"] == "1"
    assert env.spec.make().action_space == env.action_space
    env.close()


def test_two_tools_of_one_name_are_refused_with_the_way_out():
    with pytest.raises(ConfigError, match="prefix"):
        agentgym.make(str(lay_down("office")), mcp={"command": f"{COMMAND} tickets_search"})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "expected a task id, or mcp="),
        ({"mcp": COMMAND, "answer": "7"}, "answer needs instruction"),
        ({"task_id": "x/y-v1", "mcp": COMMAND, "instruction": "?"}, "the task's own"),
        ({"mcp": "no-such-program-anywhere"}, "no program named"),
        ({"mcp": {"comand": "x"}}, "did you mean 'command'"),
    ],
)
def test_wrong_arguments_are_said(arguments, told):
    with pytest.raises(ConfigError, match=told):
        agentgym.make(**arguments)


async def test_faults_strike_the_tools_of_a_server(tmp_path):
    laid = lay_down("mcp", options={"mcp": {"command": COMMAND}})
    folder = shutil.copytree(laid, tmp_path / laid.parent.name / laid.name)
    with (folder / "task.toml").open("a") as manifest:
        manifest.write('[[fault]]\nid = "f"\ntool = "count"\ncalls = [1]\nkind = "error"\n')
        manifest.write('point = "after"\n')
    env = Environment(load_task(folder), NoSandboxProvider())
    episode = await env.start(0)
    first = (await episode.step(Action("count"))).observation
    again = (await episode.step(Action("count"))).observation
    await env.close()
    assert (first.effect, again.text) == (Effect.ERROR, "2"), "it struck after the call"


async def test_a_server_that_its_agent_ends_leaves_an_episode_that_is_judged():
    env = Environment(
        load_task(lay_down("mcp", options={"mcp": {"command": COMMAND}})), NoSandboxProvider()
    )
    episode = await env.start(0)
    await episode.step(Action("count"))
    last = await episode.step(Action("crash"))
    assert last.terminated and "is gone" in last.observation.text
    assert last.observation.effect is Effect.ERROR
    assert last.verdict.status == "scored" and last.verdict.score == 0.0
    await env.close()


@pytest.mark.parametrize(
    ("error", "judged"),
    [
        (SandboxLimitError("its processes would not stop"), True),
        (SandboxTimeoutError("no answer within 30 s"), True),
        (SandboxEndedError("was ended"), True),
        (SandboxDiedError("is gone"), False),
    ],
)
async def test_what_cannot_be_looked_at_after_a_step_is_judged_as_it_stands(error, judged):
    async def advance(*_, **__):
        raise error

    env = Environment(
        load_task(lay_down("mcp", options={"mcp": {"command": COMMAND}})), NoSandboxProvider()
    )
    episode = await env.start(0)
    episode.dynamics.advance = advance
    if judged:
        last = await episode.step(Action("count"))
        assert last.terminated and last.verdict.status == "scored"
        assert str(error) in last.observation.text
    else:
        with pytest.raises(SandboxDiedError):
            await episode.step(Action("count"))
    await env.close()
