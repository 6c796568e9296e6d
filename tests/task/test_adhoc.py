"""Tasks that nobody wrote: laid down once, sound as they are, whatever text they hold."""

import pytest

from agentgym.agents.noop import NoopAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.env.environment import Environment
from agentgym.records import CheckStatus
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.adhoc import FREE, lay_down
from agentgym.task.load import load_task


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


async def played(folder, agent):
    env = Environment(load_task(folder), NoSandboxProvider())
    return await run_episode(env, agent, seed=0, store=None, episode_id=None)


def test_the_same_is_laid_down_once():
    first, again = lay_down("office"), lay_down("office")
    assert first == again
    assert lay_down("office", instruction="Else") != first
    assert not list(first.parent.glob("tmp*"))
    assert load_task(first).instance(3).instruction == FREE


async def test_free_play_is_not_verified():
    result = await played(lay_down("office"), NoopAgent())
    (checkpoint,) = result.verdict.checkpoints
    assert (checkpoint.status, result.verdict.score) == (CheckStatus.NOT_APPLICABLE, 0.0)
    assert checkpoint.message == "ad-hoc task: nothing is verified"


@pytest.mark.parametrize(
    "text", ["42", "{{x}} \"q\" 'a' \\ \n\ttab \x7f naïve ☃ 漢字 😀", "@suite@", "[x]\nid = 1"]
)
async def test_an_answer_is_verified_whatever_it_holds(text):
    folder = lay_down("office", instruction=f"Say {text}", answer=text)
    assert load_task(folder).instance(0).instruction == f"Say {text}"
    assert (await played(folder, OracleAgent())).verdict.score == 1.0
    assert (await played(folder, NoopAgent())).verdict.score == 0.0


def test_options_of_surfaces_are_the_tasks_own():
    options = {"mcp": {"command": 'say "x" \\ y', "env": {"A b": "$C"}, "call_s": 2.5}}
    assert load_task(lay_down("mcp", options=options)).manifest.surface == options
