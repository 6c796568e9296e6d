"""Judging again: what replaces a verdict, what keeps it, and what is told about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from counter_world import (
    Counter,
    CounterEnvironment,
    CounterEpisode,
    CounterProvider,
    Unreachable,
    counter_task,
)

from agentgym.errors import NotFoundError, SandboxDiedError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.rollout import regrade, replay
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.run import run_episode

PLAN = EpisodePlan("counter/count-v1", seed=3, trial=0, agent="ones")


class JudgedEpisode(CounterEpisode):
    async def finish(self):
        return replace(await super().finish(), verifier=Judged.verifier)


class Judged(CounterEnvironment):
    """A counter world whose verdicts name their verifier."""

    episode_type = JudgedEpisode
    verifier = "old"


@pytest.fixture(autouse=True)
def world(monkeypatch):
    """Let the present verifier be a new one that wants twice as much."""
    task = counter_task()
    monkeypatch.setattr(replay, "find_task", lambda task_id: task)
    monkeypatch.setattr(regrade, "find_task", lambda task_id: task)
    monkeypatch.setattr(replay, "Environment", Judged)
    monkeypatch.setattr(regrade, "verifier_version", lambda task: Judged.verifier)
    monkeypatch.setattr(Judged, "verifier", "old")
    return monkeypatch


@pytest.fixture
async def store(tmp_path, world):
    run = RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])
    await record(run, 1)
    world.setattr("counter_world.TARGET", 8)
    world.setattr(Judged, "verifier", "new")
    yield run
    run.close()


async def record(run, episode_id, agent=None):
    env = Judged(counter_task(), CounterProvider())
    await run_episode(env, agent or Counter(), seed=3, store=run, episode_id=episode_id)


async def again(store, provider=None, episode_id=1, **options):
    row = store.episode(episode_id)
    # The counter world keeps no states; what is judged without executing is in test_regrade_kept.
    options = {"rerun": True, **options}
    return await regrade_episode(store, row, provider or CounterProvider(), **options)


async def test_the_new_verdict_is_the_episodes_and_the_old_one_its_history(store):
    old, steps = store.episode(1).verdict, [step.decision for step in store.steps(1)]
    done = await again(store)
    row = store.episode(1)
    assert (done.fate, done.old, done.new) == (Fate.REPLACED, old, row.verdict)
    assert (row.verdict.score, row.verdict.outcome, row.verdict.verifier) == (0.5, False, "new")
    (past,) = store.history.past_verdicts(1)
    assert (past.verdict, past.replaced_by) == (old, "new")
    assert past.why == "judged again by another verifier, on a re-execution"
    assert (old.score, old.verifier) == (1.0, "old")
    assert [step.decision for step in store.steps(1)] == steps


async def test_what_the_present_verifier_has_judged_is_left_alone_unless_forced(store):
    await again(store)
    # A sandbox that cannot start shows that nothing is executed.
    broken = CounterProvider(trouble={"reset": SandboxDiedError("gone")})
    assert (await again(store, broken)).fate is Fate.CURRENT
    assert len(store.history.past_verdicts(1)) == 1
    assert (await again(store, force=True)).fate is Fate.REPLACED
    assert [past.why for past in store.history.past_verdicts(1)] == [
        "judged again by another verifier, on a re-execution",
        "judged again on demand, on a re-execution",
    ]


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        (CounterProvider(drift={2: 5}), "re-execution diverged at step 2: text was "),
        (CounterProvider(hidden=1), "re-execution diverged at state_hash: was "),
        (CounterProvider(trouble={1: SandboxDiedError("gone")}), "error:sandbox: gone"),
        (CounterProvider(trouble={"grade": OSError(5, "I/O")}), "error:engine: OSError: "),
        (CounterProvider(trouble={"check": True}), "gives no score: error:verifier ZeroDivision"),
    ],
)
async def test_where_it_cannot_be_judged_again_the_old_verdict_stays(store, provider, reason):
    before = store.episode(1)
    done = await again(store, provider)
    assert (done.fate, done.old, done.new) == (Fate.KEPT, before.verdict, None)
    assert reason in done.reason
    assert store.episode(1).verdict == before.verdict
    assert store.history.past_verdicts(1) == []


async def test_a_task_that_is_gone_is_the_reason(store, world):
    def gone(task_id):
        raise NotFoundError("task", task_id, [])

    world.setattr(regrade, "find_task", gone)
    done = await again(store)
    assert (done.fate, done.reason) == (Fate.KEPT, "error:config: no task named 'counter/count-v1'")


async def test_an_episode_that_was_not_played_to_its_end_is_not_judged(store):
    planned = await again(store, episode_id=2)
    await record(store, 2, Unreachable())
    failed = await again(store, episode_id=2)
    assert [planned.fate, failed.fate] == [Fate.SKIPPED, Fate.SKIPPED]
    assert planned.reason.startswith("it is planned: there is no whole episode to judge")
    assert failed.reason.startswith("it is error:agent: there is no whole episode to judge")


async def test_an_error_of_the_verifier_is_mended_by_judging_again(store):
    # The task is the one that replays find, whose target was 4.
    task = counter_task(params={"to": 4})
    broken = Judged(task, CounterProvider(trouble={"check": True}))
    await run_episode(broken, Counter(), seed=3, store=store, episode_id=2)
    row = store.episode(2)
    assert (row.verdict.status, row.error) == (
        "error:verifier",
        "checkpoint 'n': ZeroDivisionError in n",
    )
    done = await again(store, episode_id=2, force=True)
    row = store.episode(2)
    assert (done.fate, row.verdict.score, row.error) == (Fate.REPLACED, 1.0, "")
    (past,) = store.history.past_verdicts(2)
    assert (past.verdict.status, past.error) == (
        "error:verifier",
        "checkpoint 'n': ZeroDivisionError in n",
    )


async def test_without_a_kept_state_the_reason_names_the_command_that_helps(store):
    done = await again(store, rerun=False)
    assert done.fate is Fate.KEPT
    assert done.reason == (
        "error:replay: its final state was not kept (it was not judged by agentgym's checks); to "
        "execute its actions again and judge what they leave, run: agentgym regrade "
        f"{store.folder} --episode 1 --rerun"
    )
