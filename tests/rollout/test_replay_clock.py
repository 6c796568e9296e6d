"""An episode full of times, process ids and temporary names verifies, branches and is rejudged."""

from __future__ import annotations

import json

import pytest

from agentgym.agents.registry import create
from agentgym.env import ending as ending_module
from agentgym.env.environment import Environment
from agentgym.errors import ReplayError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Bounds
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox here: {PROBLEMS}")

MANIFEST = """\
schema_version = "agentgym.task/1"
id = "demo/clock-v1"
title = "Look at the clock"
difficulty = "easy"
env = "terminal"
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "noted"
title = "It was noted"
use = "files.text_equals"
with = { path = "/root/note", text = "noted" }
"""
COMMANDS = [
    "date; date +%s%N; ls -la / /proc; ps aux; ps -ef; echo $$; stat /root; uptime",
    "date > when; date +%s%N >> when; sleep 60 & jobs -l; echo pid $$; echo $! > sleeper.pid",
    "mktemp; mktemp -d /tmp/work.XXXXXX; cat when; ls -lai . /tmp; time true",
    "echo noted > note",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A catalogue with one task, and an agent that looks at every clock there is."""
    root = tmp_path_factory.mktemp("clock")
    task = root / "catalogue" / "tasks" / "demo" / "clock"
    for part in ("solution", "checks", "setup"):
        (task / part).mkdir(parents=True)
    (task / "instruction.md").write_text("Look at the clock.\n")
    (task / "setup" / "setup.sh").write_text("echo 7 > /root/data\n")
    (task / "solution" / "actions.jsonl").write_text(actions(COMMANDS))
    (task / "checks" / "rubric.toml").write_text(RUBRIC)
    (task / "task.toml").write_text(MANIFEST)
    return root


def actions(commands):
    lines = [{"tool": "bash", "arguments": {"command": command}} for command in commands]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture
def task(folder, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(folder / "catalogue"))
    monkeypatch.setenv("AGENTGYM_CACHE", str(folder / "cache"))
    return folder / "catalogue" / "tasks" / "demo" / "clock"


@pytest.fixture
async def provider(task):
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


async def played(folder, provider, *, settings=None, commands=None):
    agent = "oracle"
    if commands is not None:
        agent = f"scripted:{folder}.jsonl"
        folder.with_suffix(".jsonl").write_text(actions(commands))
    plan = EpisodePlan("demo/clock-v1", seed=0, trial=0, agent=agent)
    run = RunStore.create(folder, settings or {}, [plan])
    env = Environment(find_task(plan.task), provider)
    await run_episode(env, create(plan.agent), seed=0, store=run, episode_id=1)
    await env.close()
    return run


@pytest.fixture
async def run(tmp_path, provider):
    store = await played(tmp_path / "run", provider)
    assert store.episode(1).verdict.score == 1.0
    yield store
    store.close()


async def test_an_episode_that_looks_at_clocks_verifies_branches_and_is_rejudged(
    run, provider, task
):
    found = await verify_episode(run, 1, provider)
    assert (found.agreement, found.texts) == (Agreement.TEXT_DIFFERS, ())
    assert "/root/when" in found.files and "/root/note" not in found.files

    branch = run.episode((await branch_episodes(run, 1, 3, ["noop"], provider))[0])
    assert (branch.verdict.score, branch.log) == (0.0, "")

    rubric = task / "checks" / "rubric.toml"
    try:
        rubric.write_text(RUBRIC.replace('"noted" }', '"other" }'))
        done = await regrade_episode(run, run.episode(1), provider)
    finally:
        rubric.write_text(RUBRIC)
    assert (done.fate, done.old.score, done.new.score) == (Fate.REPLACED, 1.0, 0.0)
    assert done.new.state_hash == done.old.state_hash


async def test_a_number_in_a_file_is_no_clock(tmp_path, provider):
    commands = ["date > when; head -c 4 /dev/urandom | od -An -tu4 | tr -d ' ' > count"]
    store = await played(tmp_path / "run", provider, commands=commands)
    found = await verify_episode(store, 1, provider)
    assert (found.agreement, found.divergence.field) == (Agreement.STATE_DIFFERS, "state_hash")
    store.close()


async def test_a_branch_is_refused_where_text_and_state_differ(tmp_path, provider):
    commands = ["head -c 4 /dev/urandom | od -An -tx1 | tee token", "echo noted > note"]
    store = await played(tmp_path / "run", provider, commands=commands)
    with pytest.raises(ReplayError, match="diverged at step 0: text was"):
        await branch_episodes(store, 1, 1, ["noop"], provider)
    # What was kept is judged all the same.
    done = await regrade_episode(store, store.episode(1), provider, force=True)
    assert (done.fate, done.new.score) == (Fate.REPLACED, 1.0)
    store.close()


async def test_another_setup_is_another_state(tmp_path, provider, task):
    store = await played(tmp_path / "run", provider, commands=["cat data"])
    setup = task / "setup" / "setup.sh"
    try:
        setup.write_text("echo 8 > /root/data\n")
        found = await verify_episode(store, 1, provider)
        done = await regrade_episode(store, store.episode(1), provider, force=True)
    finally:
        setup.write_text("echo 7 > /root/data\n")
    assert (found.divergence.field, found.first.step) == ("prepared setup", -1)
    assert done.fate is Fate.KEPT
    assert "the setup of the task leaves other files today" in done.reason
    store.close()


@pytest.mark.parametrize(
    ("settings", "commands", "reason"),
    [
        ({"keep_states": "none"}, ["true"], "the run keeps no final states (--keep-states none)"),
        ({"keep_states": "failed"}, ["echo noted > note"], "(--keep-states failed)"),
        ({"keep_states_mb": 0}, ["true"], "the run keeps 0 MB already (--keep-states-mb 0)"),
        ({}, ["mkdir m; cd m; seq 60 | xargs touch"], "it has more than 50 entries"),
        ({}, ["head -c 2M /dev/urandom > big"], "it has more than 1048576 bytes"),
    ],
)
async def test_a_state_that_is_not_kept_costs_no_verdict_and_has_a_reason(
    tmp_path, provider, monkeypatch, settings, commands, reason
):
    monkeypatch.setattr(ending_module, "BOUNDS", Bounds(1 << 20, 50))
    store = await played(tmp_path / "run", provider, settings=settings, commands=commands)
    ending = store.endings.find(1)
    assert store.episode(1).verdict.scored and ending.state == ""
    assert reason in ending.unkept
    done = await regrade_episode(store, store.episode(1), provider, force=True)
    assert done.fate is Fate.KEPT and reason in done.reason and "--rerun" in done.reason
    store.close()


async def test_odd_files_survive_being_kept(tmp_path, provider, task):
    odd = "truncate -s 60G hole; ln note link; mkfifo pipe; ln -s /etc/passwd away; rm data; "
    store = await played(tmp_path / "run", provider, commands=["echo noted > note; " + odd])
    assert store.endings.find(1).state_bytes < 50_000
    first = store.episode(1).verdict
    done = await regrade_episode(store, store.episode(1), provider, force=True)
    assert (done.fate, done.new.state_hash) == (Fate.REPLACED, first.state_hash)
    store.close()
