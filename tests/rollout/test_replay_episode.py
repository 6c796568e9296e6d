"""Verification finds the first divergence; a branch shares the steps before it."""

from __future__ import annotations

import numpy as np
import pytest
from counter_world import Counter, CounterEnvironment, CounterProvider, Unreachable, counter_task

from agentgym.errors import NotFoundError, ReplayError, SandboxDiedError, UnsupportedError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.record.volatile.masking import Masking
from agentgym.records import Action, Effect, Observation
from agentgym.rollout import branch, replay
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.reexecution import compare
from agentgym.rollout.replay import (
    Agreement,
    Divergence,
    Verification,
    verify_episode,
)
from agentgym.rollout.run import run_episode

PLAN = EpisodePlan("counter/count-v1", seed=3, trial=0, agent="ones")
AGENTS = {"ones": lambda: Counter(), "twos": lambda: Counter(by=2), "dead": lambda: Dead()}


class Dead(Counter):
    def __init__(self, after=0):
        super().__init__()
        self.after = after

    async def act(self, observation, tools, history):
        if len(history) >= self.after:
            raise OSError("no policy there")
        return await super().act(observation, tools, history)


def create(spec):
    if spec not in AGENTS:
        raise NotFoundError("agent", spec, AGENTS)
    return AGENTS[spec]()


@pytest.fixture(autouse=True)
def counter_catalogue(monkeypatch):
    """Let replay find the counter task, its environment and the agents."""
    monkeypatch.setattr(replay, "find_task", {"counter/count-v1": counter_task()}.__getitem__)
    monkeypatch.setattr(replay, "Environment", CounterEnvironment)
    monkeypatch.setattr(branch, "create", create)
    monkeypatch.setattr(CounterEnvironment, "opened", [])


@pytest.fixture
async def store(tmp_path):
    """A run whose first episode went well and whose second has not begun."""
    run = RunStore.create(tmp_path / "run", {"max_steps": None}, [PLAN, PLAN])
    await record(run, 1)
    yield run
    assert all(env.closed for env in CounterEnvironment.opened[1:])
    run.close()


async def record(run, episode_id, agent=None, max_steps=None, **options):
    env = CounterEnvironment(counter_task(), CounterProvider(), max_steps=max_steps)
    env.closed = True
    await run_episode(env, agent or Counter(), seed=3, store=run, episode_id=episode_id, **options)


# --- verify --------------------------------------------------------------------------------


AGREES = Verification()


async def first_difference(store, provider, episode_id=1):
    found = await verify_episode(store, episode_id, provider)
    assert found.agreement is Agreement.STATE_DIFFERS
    return found.first


async def test_an_episode_that_re_executes_has_no_divergence(store):
    # Another process id is volatile text of the task.
    assert await verify_episode(store, 1, CounterProvider(process_id=977)) == AGREES
    assert AGREES.agreement is Agreement.SAME


@pytest.mark.parametrize(
    ("provider", "step", "field", "recorded", "seen"),
    [
        (CounterProvider(drift={2: 5}), 2, "text", "it is 3 ", "it is 8 "),
        (CounterProvider(drift={4: 5}), 4, "data", '"number":4', '"number":9'),
    ],
)
async def test_the_first_divergent_step_is_reported(store, provider, step, field, recorded, seen):
    found = await first_difference(store, provider)
    assert (found.step, found.field) == (step, field)
    assert recorded in found.recorded
    assert seen in found.seen


async def test_text_that_differs_is_told_where_the_state_agrees(store):
    found = await verify_episode(store, 1, CounterProvider(murmur={1: "!", 3: "?"}))
    assert found.agreement is Agreement.TEXT_DIFFERS
    assert [(text.step, text.field) for text in found.texts] == [(1, "text"), (3, "text")]
    assert found.texts[0].diff == ("- it is 2 (*)", "+ it is 2 (*)!")


async def test_text_that_differs_is_a_divergence_where_no_state_can_be_compared(store):
    broken = CounterProvider(trouble={2: SandboxDiedError("gone")}, trouble_passes=True)
    env = CounterEnvironment(counter_task(), broken)
    env.closed = True
    await run_episode(env, Counter(), seed=3, store=store, episode_id=2)
    found = await verify_episode(store, 2, CounterProvider(murmur={1: "!"}))
    assert (found.agreement, found.divergence.step) == (Agreement.STATE_DIFFERS, 1)


async def test_nothing_is_executed_after_the_first_divergence_of_the_task(store, monkeypatch):
    changed = counter_task(params={"to": 5})
    monkeypatch.setattr(replay, "find_task", lambda task_id: changed)
    await verify_episode(store, 1, CounterProvider(trouble={0: SandboxDiedError("gone")}))


async def test_a_difference_that_no_observation_shows_is_found_in_the_state(store):
    found = await first_difference(store, CounterProvider(hidden=1))
    assert (found.step, found.field) == (-1, "state_hash")
    assert found.recorded == store.episode(1).verdict.state_hash != found.seen


async def test_another_score_is_a_divergence(store, monkeypatch):
    monkeypatch.setattr("counter_world.TARGET", 8)
    found = await first_difference(store, CounterProvider())
    assert found == Divergence(-1, "score", "1.0", "0.5")


async def test_a_task_that_changed_is_named_first(store, monkeypatch):
    changed = counter_task(params={"to": 5})
    monkeypatch.setattr(replay, "find_task", lambda task_id: changed)
    found = await first_difference(store, CounterProvider(drift={0: 1}))
    assert (found.step, found.field) == (-1, "params")


async def test_an_end_that_comes_too_early_is_a_divergence(store, monkeypatch):
    monkeypatch.setattr(replay, "find_task", lambda task_id: counter_task(max_steps=2))
    found = await first_difference(store, CounterProvider())
    assert found == Divergence(1, "end", "goes on", "over")


async def test_the_bound_of_the_run_holds_in_the_replay(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "find_task", lambda task_id: counter_task(max_steps=2))
    run = RunStore.create(tmp_path / "long", {"max_steps": 8}, [PLAN])
    await record(run, 1, max_steps=8)
    assert run.episode(1).steps == 5
    assert await verify_episode(run, 1, CounterProvider()) == AGREES
    run.close()


async def test_an_episode_that_ran_out_of_time_is_graded_as_it_stands(store):
    await record(store, 2, timeout_s=0.0)
    assert await verify_episode(store, 2, CounterProvider()) == AGREES
    found = await first_difference(store, CounterProvider(hidden=1), 2)
    assert found.field == "state_hash"


async def test_an_episode_without_a_score_is_compared_step_by_step(store):
    await record(store, 2, agent=Unreachable())
    assert store.episode(2).verdict.status == "error:agent"
    assert await verify_episode(store, 2, CounterProvider(hidden=1)) == AGREES


async def test_an_episode_that_has_not_begun_cannot_be_verified(store):
    with pytest.raises(ReplayError, match="episode 2 cannot be verified: it has not begun"):
        await verify_episode(store, 2, CounterProvider())


async def test_a_sandbox_that_dies_is_no_divergence(store):
    with pytest.raises(SandboxDiedError, match="gone"):
        await verify_episode(store, 1, CounterProvider(trouble={1: SandboxDiedError("gone")}))


ACTION = Action("bash", {"command": "ls"})
PIXELS = np.zeros((2, 3, 3), np.uint8)


@pytest.mark.parametrize(
    ("recorded", "seen", "field", "words"),
    [
        (Observation("a", effect=Effect.CHANGED), Observation("b"), "effect", "'changed'"),
        (Observation("a"), Observation("b"), "text", "'a'"),
        (Observation("", None, {"x": 1}), Observation("", None, {"x": 2}), "data", """'{"x":1}'"""),
        (Observation("", PIXELS), Observation(""), "image", "3x2 pixels"),
        (Observation("", PIXELS), Observation("", PIXELS + np.uint8(1)), "image", "3x2 pixels"),
    ],
)
def test_fields_are_compared_in_order(recorded, seen, field, words):
    found = compare(7, recorded, seen, Masking(), ACTION)
    assert (found.step, found.field, found.recorded) == (7, field, words)
    assert compare(7, recorded, recorded, Masking(), ACTION) is None


def test_a_long_text_is_cut_to_its_first_difference():
    left, right = (Observation("x" * 5000 + end) for end in ("left" * 99, "right"))
    found = compare(0, left, right, Masking(), ACTION)
    assert found.recorded.startswith("…'xxx")
    assert found.recorded.endswith("'…")
    assert "left" in found.recorded
    assert found.seen.endswith("xright'")
    assert len(found.recorded) < 100
    assert str(found) == f"step 0: text was {found.recorded}, is now {found.seen}"


# --- branch --------------------------------------------------------------------------------


async def test_a_branch_goes_on_with_another_agent(store):
    before, heard = (store.episode(1), store.steps(1)), []
    (new,) = await branch_episodes(
        store, 1, 2, ["twos"], CounterProvider(), on_step=lambda _, step: heard.append(step.index)
    )
    row, steps = store.episode(new), store.steps(new)
    assert (new, row.parent, row.state) == (3, (1, 2), "done")
    assert row.plan == EpisodePlan("counter/count-v1", seed=3, trial=0, agent="twos")
    assert [step.action.arguments.get("n") for step in steps] == [1, 1, 2, None]
    assert [step.index for step in steps] == [0, 1, 2, 3]
    assert (row.verdict.outcome, heard, row.log) == (True, [2, 3], "")
    # The episode it came from is what it was.
    assert store.episode(1).verdict == before[0].verdict
    assert [s.decision for s in store.steps(1)] == [s.decision for s in before[1]]
    # The branch is an episode like any other.
    assert await verify_episode(store, new, CounterProvider()) == AGREES


async def test_a_branch_at_the_start_shares_nothing(store):
    (new,) = await branch_episodes(store, 1, 0, ["twos"], CounterProvider())
    assert [step.action.arguments.get("n") for step in store.steps(new)] == [2, 2, None]


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (6, "at step 6: it has 5 steps"),
        (-1, "at step -1: it has 5 steps"),
        (5, "at step 5: it is over by then"),
    ],
)
async def test_a_branch_needs_a_step_to_begin_at(store, k, message):
    with pytest.raises(ReplayError, match=message):
        await branch_episodes(store, 1, k, ["twos"], CounterProvider())
    assert len(store.episodes()) == 2


async def test_a_branch_of_an_unknown_agent_is_refused(store):
    with pytest.raises(NotFoundError, match="did you mean 'ones'"):
        await branch_episodes(store, 1, 2, ["one"], CounterProvider())


async def test_a_branch_whose_past_diverges_is_refused_unless_allowed(store):
    drifting = CounterProvider(drift={1: 1})
    with pytest.raises(ReplayError, match="diverged at step 1: text was 'it is 2 "):
        await branch_episodes(store, 1, 3, ["twos"], drifting)
    assert len(store.episodes()) == 2
    (new,) = await branch_episodes(store, 1, 3, ["twos"], drifting, allow_divergence=True)
    assert store.episode(new).log.startswith("branch diverged at step 1: ")
    # It records what it saw, not what the other episode saw.
    assert [step.observation.data["number"] for step in store.steps(new)] == [1, 3, 4, 4]


async def test_a_branch_goes_on_where_only_text_differs_and_says_so(store):
    (new,) = await branch_episodes(store, 1, 3, ["twos"], CounterProvider(murmur={1: "!"}))
    row = store.episode(new)
    assert row.verdict.outcome
    assert row.log.startswith("text differs in 1 kept steps, state agrees; the first: step 1: ")
    # A difference after the kept steps is of no interest.
    (later,) = await branch_episodes(store, 1, 1, ["twos"], CounterProvider(murmur={3: "!"}))
    assert store.episode(later).log == ""


async def test_a_branch_whose_agent_fails_is_judged_as_it_stands(store):
    (new,) = await branch_episodes(store, 1, 2, ["dead"], CounterProvider())
    row = store.episode(new)
    assert (row.verdict.status, row.error) == ("scored", "OSError: no policy there")
    assert await verify_episode(store, new, CounterProvider()) == AGREES
    assert row.steps == 2


# --- another prepared setup ----------------------------------------------------------------


async def record_prepared(store, digest):
    env = CounterEnvironment(counter_task(), CounterProvider())
    env.closed, env.prepared = True, digest
    await run_episode(env, Counter(), seed=3, store=store, episode_id=2)


async def test_another_prepared_setup_is_the_first_divergence(store):
    await record_prepared(store, "ab" * 32)
    assert store.episode(2).prepared == "ab" * 32 and store.episode(1).prepared == ""
    found = await verify_episode(store, 2, CounterProvider())
    assert "prepared setup: was abababababab, is now" in str(getattr(found, "first", found))


async def test_a_resume_on_another_prepared_setup_says_so(store):
    await record_prepared(store, "ab" * 32)
    store._database.execute("UPDATE episodes SET state = 'running', verdict = NULL WHERE id = 2")
    await record_prepared(store, "cd" * 32)
    row = store.episode(2)
    assert "resume diverged at prepared setup: was abababababab, is now cdcdcdcdcdcd" in row.log
    assert row.prepared == "ab" * 32
    store.reset_episode(2)
    assert store.episode(2).prepared == ""


# --- many branches -------------------------------------------------------------------------


def environment():
    return CounterEnvironment.opened[-1]


async def test_many_branches_execute_the_kept_steps_once_and_fork(store):
    heard = []
    new = await branch_episodes(
        *(store, 1, 3, ["twos", "ones"] * 4, CounterProvider()),
        jobs=3,
        on_step=lambda branch, step: heard.append((branch, step.index)),
    )
    assert new == list(range(3, 11))
    started, forks = environment().episodes, environment().forks
    assert (len(started), len(started[0].steps), len(forks)) == (1, 3, 8)
    assert all(episode.closed for episode in (*started, *forks))
    assert {branch for branch, _ in heard} == set(new)
    for id in new:
        row = store.episode(id)
        assert (row.parent, row.forked, row.verdict.outcome, row.log) == ((1, 3), True, True, "")
        assert [step.action.arguments.get("n") for step in store.steps(id)][:3] == [1, 1, 1]
    (count,) = store._database.rows("SELECT COUNT(*) AS n FROM steps WHERE episode > 2")
    assert count["n"] == 16, "two steps of its own for each branch"
    for id in new[:2]:
        assert await verify_episode(store, id, CounterProvider()) == AGREES


async def test_a_single_branch_forks_nothing(store):
    (new,) = await branch_episodes(store, 1, 3, ["twos"], CounterProvider())
    assert not environment().forks and not store.episode(new).forked


async def test_what_cannot_be_forked_is_executed_again_for_each_branch_and_says_so(store):
    refusing = CounterProvider(trouble={"fork": UnsupportedError("surface 'x' cannot be forked")})
    new = await branch_episodes(store, 1, 2, ["twos"] * 3, refusing)
    assert [len(episode.steps) for episode in environment().episodes] == [4, 4, 4]
    for id in new:
        row = store.episode(id)
        assert (row.verdict.outcome, row.forked) == (True, False)
        assert row.log == (
            "the kept steps were executed again for this branch alone: "
            "surface 'x' cannot be forked\n"
        )


async def test_an_agent_that_fails_ends_its_own_branch_only(store):
    new = await branch_episodes(store, 1, 2, ["dead", "twos"], CounterProvider(), jobs=2)
    assert [store.episode(id).error for id in new] == ["OSError: no policy there", ""]
    assert [store.episode(id).verdict.outcome for id in new] == [False, True]


async def test_branches_whose_kept_steps_differ_in_text_keep_what_they_saw(store):
    new = await branch_episodes(store, 1, 3, ["twos"] * 2, CounterProvider(murmur={1: "!"}))
    for id in new:
        assert store.episode(id).log.startswith("text differs in 1 kept steps, state agrees")
        assert store.steps(id)[1].observation.text.endswith("!")
    (count,) = store._database.rows("SELECT COUNT(*) AS n FROM steps WHERE episode > 2")
    assert count["n"] == 10


async def test_a_branch_of_a_fork_forks_where_that_was_forked(store):
    (first, _) = await branch_episodes(store, 1, 2, ["ones"] * 2, CounterProvider())
    (new,) = await branch_episodes(store, first, 4, ["twos"], CounterProvider())
    assert len(environment().forks) == 1 and len(environment().forks[0].steps) == 5
    assert store.forks(new) == (2,)
    (early,) = await branch_episodes(store, first, 1, ["twos"], CounterProvider())
    assert not environment().forks and store.forks(early) == ()


async def test_a_fork_that_dies_is_an_error_and_leaves_nothing_open(store):
    dying = CounterProvider(trouble={"fork": SandboxDiedError("gone")})
    with pytest.raises(SandboxDiedError, match="gone"):
        await branch_episodes(store, 1, 2, ["twos"] * 2, dying)
    assert all(episode.closed for episode in environment().episodes)
    assert len(store.episodes()) == 2
