"""A living world is recorded and repeated: verification, branches, and what is shown of it."""

import pytest
from living_tasks import RELAY, write_living
from rich.console import Console

from agentgym.agents.registry import create
from agentgym.cli.transcript import print_step
from agentgym.env.environment import Environment
from agentgym.eval.report import _step
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.replay import Verification, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox here: {PROBLEMS}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    return write_living(tmp_path / "catalogue", "relay", RELAY)


@pytest.fixture
async def provider(folder):
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


@pytest.fixture
async def store(tmp_path, provider):
    plan = EpisodePlan("demo/relay-v1", seed=0, trial=0, agent="oracle")
    run = RunStore.create(tmp_path / "run", {}, [plan])
    env = Environment(find_task(plan.task), provider)
    await run_episode(env, create("oracle"), seed=0, store=run, episode_id=1)
    await env.close()
    assert run.episode(1).verdict.score == 1.0
    yield run
    run.close()


IDS = [["dawn", "handed"], ["flaky"], ["bell"], []]


def ids(steps):
    return [[event.id for event in step.events] for step in steps]


async def test_a_recorded_world_happens_again(store, provider):
    assert ids(store.steps(1)) == IDS
    assert await verify_episode(store, 1, provider) == Verification()


async def test_a_world_that_changed_is_a_divergence(store, provider, folder):
    text = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(text.replace("calls = [2]", "calls = [3]"))
    found = (await verify_episode(store, 1, provider)).first
    assert (found.step, found.field) == (1, "events")
    assert "flaky" in found.recorded and found.seen == "'[]'"
    (folder / "task.toml").write_text(text.replace("after_s = 180", "after_s = 120"))
    found = (await verify_episode(store, 1, provider)).first
    assert (found.step, found.field) == (1, "events")
    assert "bell" in found.seen and "bell" not in found.recorded


async def test_a_branch_has_the_events_of_its_kept_steps(store, provider):
    (branch,) = await branch_episodes(store, 1, 2, ["noop"], provider)
    # What the other agent then meets goes on from there: the clock stands at three minutes.
    assert ids(store.steps(branch)) == [*IDS[:2], []]
    assert store.episode(branch).verdict.scored


async def test_events_are_shown_and_counted(store):
    step = store.steps(1)[1]
    console = Console(record=True, width=200, file=open("/dev/null", "w"))  # noqa: SIM115
    print_step(console, step, full=False)
    console.file.close()
    assert "fault: flaky  bash call 2: timeout after commit" in console.export_text()
    assert list(_step(step).events) == ["fault: flaky  bash call 2: timeout after commit"]
    faults = [what for what in store.events() if what[1].kind == "fault"]
    assert {episode for episode, _ in faults} == {1}
