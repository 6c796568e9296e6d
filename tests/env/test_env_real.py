"""A real task in a real sandbox: what is not seen through Gymnasium alone (tests/e2e has that)."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import agentgym
from agentgym.env.environment import Environment
from agentgym.errors import SandboxLimitError
from agentgym.gymnasium import registration
from agentgym.record import codec
from agentgym.records import Effect, TokenUsage
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.store import LayerStore
from agentgym.task.load import find_task

TASK_ID = "terminal/log-forensics-v1"
PROBLEMS = BubblewrapProvider().problems()

pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what these tests prepare away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        registration.shared_provider.cache_clear()
        yield
        registration.shared_provider.cache_clear()


def bash(command):
    return {"tool": "bash", "arguments": {"command": command}}


def test_the_example_in_the_documentation():
    assert doctest.testmod(registration) == (0, 6)
    assert doctest.testmod(agentgym.vector) == (0, 7)


async def test_what_is_no_action_is_recorded_and_replays_as_it_was():
    provider = BubblewrapProvider()
    env = Environment(find_task(TASK_ID), provider, max_steps=20)
    episode = await env.start(0)
    junk = [None, "ls", {}, {"tool": 5}, {"\ud800" * 10_000: "\0"}, {"tool": "x", "arguments": 1}]
    seen = [(await episode.step(action)).observation for action in junk]
    recorded = [
        codec.decision_from_json(codec.loads(codec.decision_to_text(step.decision)), TokenUsage())
        for step in episode.steps
    ]
    episode = await env.start(0)
    again = [(await episode.step(decision)).observation for decision in recorded]
    await env.close()
    await provider.close()
    assert seen[0].text == "error: an action is an object with 'tool' and 'arguments', not NoneType"
    assert all(o.effect is Effect.ERROR and len(o.text) <= 220 for o in seen)
    assert [(o.text, o.effect) for o in again] == [(o.text, o.effect) for o in seen]


def test_an_episode_runs_on_a_computer():
    with agentgym.make(TASK_ID, seed=3) as env:
        observation, info = env.reset()
        assert observation["text"] == info["instruction"]
        assert info["params"]["site"] in observation["text"]
        env.step(bash("cd /tmp && word='h\u00e9 \u6f22'"))
        observation, reward, *_, info = env.step(bash('echo "$word"; pwd; false'))
        assert observation["text"] == "h\u00e9 \u6f22\n/tmp\n[exit code 1]"
        assert observation["data"]["exit_code"] == 1
        assert observation in env.observation_space
        assert (reward, info["effect"]) == (0.0, "error")
        *_, reward, terminated, truncated, info = env.step({"tool": "submit"})
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert (info["verdict"]["status"], info["verdict"]["outcome"]) == ("scored", False)


LEFT_OPEN = """
import sys
import agentgym

env = agentgym.make("terminal/log-forensics-v1", seed=3)
env.reset()
done = env.step({"tool": "bash", "arguments": {"command": f"sleep {sys.argv[1]} & echo started"}})
assert done[0]["text"].endswith("started\\n"), done
"""


def test_a_process_that_ends_leaves_nothing_behind():
    marker = "86399.4217"
    done = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, marker], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    alive = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if marker in command_line(path)
    ]
    assert alive == []


def command_line(path):
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended since the folder was listed
        return ""


async def test_more_changes_than_are_looked_through_are_a_fail(monkeypatch):
    def too_many(store, before, after):
        raise SandboxLimitError("more than 100,000 names were changed")

    monkeypatch.setattr(LayerStore, "changes", too_many)
    await expect_a_fail()


async def test_more_names_than_are_sealed_are_a_fail(monkeypatch):
    seal = BubblewrapSandbox.seal

    async def refusing(sandbox):
        if sandbox._descends:
            raise SandboxLimitError("more than 100,000 names were written")
        return await seal(sandbox)

    monkeypatch.setattr(BubblewrapSandbox, "seal", refusing)
    await expect_a_fail()


async def expect_a_fail():
    provider = BubblewrapProvider()
    env = Environment(find_task(TASK_ID), provider)
    try:
        episode = await env.start(0)
        verdict = (await episode.step({"tool": "submit", "arguments": {}})).verdict
    finally:
        await env.close()
        await provider.close()
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    assert {str(checkpoint.status) for checkpoint in verdict.checkpoints} == {"fail"}
    assert "cannot be judged: more than 100,000 names" in verdict.checkpoints[0].message
