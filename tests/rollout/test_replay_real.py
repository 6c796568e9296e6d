"""Replay where it counts: a task folder, a sandbox, commands whose output differs each time."""

from __future__ import annotations

import pytest

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.replay import Agreement, Verification, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox here: {PROBLEMS}")

MANIFEST = """\
schema_version = "agentgym.task/1"
id = "demo/token-v1"
title = "Note a token"
difficulty = "easy"
env = "terminal"
[replay]
volatile_paths = ["/root/token"]
"""
VOLATILE = 'volatile_text = ["[0-9a-f]{16}"]\n'
RUBRIC = """\
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "noted"
title = "It was noted"
use = "files.text_equals"
with = { path = "/root/note", text = "noted" }
"""
SOLUTION = """\
{"tool": "bash", "arguments": {"command": "od -An -N8 -tx1 /dev/urandom | tr -d ' ' > token"}}
{"tool": "bash", "arguments": {"command": "cat token"}}
{"tool": "bash", "arguments": {"command": "echo noted > note"}}
"""


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A task whose second command prints something else each time."""
    folder = tmp_path / "catalogue" / "tasks" / "demo" / "token"
    for part in ("solution", "checks"):
        (folder / part).mkdir(parents=True)
    (folder / "instruction.md").write_text("Note a token.\n")
    (folder / "solution" / "actions.jsonl").write_text(SOLUTION)
    (folder / "checks" / "rubric.toml").write_text(RUBRIC)
    (folder / "task.toml").write_text(MANIFEST)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    return folder / "task.toml"


@pytest.fixture
async def provider(tmp_path):
    provider = BubblewrapProvider(tmp_path / "sandboxes")
    yield provider
    await provider.close()


@pytest.fixture
async def store(tmp_path, task, provider):
    plan = EpisodePlan("demo/token-v1", seed=0, trial=0, agent="oracle")
    run = RunStore.create(tmp_path / "run", {}, [plan])
    env = Environment(find_task(plan.task), provider)
    await run_episode(env, create("oracle"), seed=0, store=run, episode_id=1)
    await env.close()
    assert run.episode(1).verdict.score == 1.0
    yield run
    run.close()


async def test_text_that_differs_each_time_is_told_and_the_state_agrees(store, provider):
    found = await verify_episode(store, 1, provider)
    assert found.agreement is Agreement.TEXT_DIFFERS
    assert [(text.step, text.field) for text in found.texts] == [(1, "text")]


async def test_a_task_may_say_what_differs_each_time(store, task, provider):
    task.write_text(MANIFEST + VOLATILE)
    assert await verify_episode(store, 1, provider) == Verification()


async def test_a_branch_has_the_files_of_the_steps_it_keeps(store, task, provider):
    task.write_text(MANIFEST + VOLATILE)
    (early,) = await branch_episodes(store, 1, 2, ["noop"], provider)
    (late,) = await branch_episodes(store, 1, 3, ["noop"], provider)
    assert [store.episode(branch).verdict.score for branch in (early, late)] == [0.0, 1.0]
