"""A tree of episodes holds every step once; each of them reads whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Decision,
    Generation,
    Observation,
    Step,
    TokenTrace,
    TokenUsage,
    Verdict,
)

PLAN = EpisodePlan("t/a-v1", 0, 0, "noop", "g", {"epoch": 1})
IDS = list(range(500))


@pytest.fixture
def run(tmp_path):
    with closing(RunStore.create(tmp_path / "run", {}, [PLAN])) as store:
        yield store


def step(index, who):
    generation = Generation(TokenTrace([*IDS, *range(index)], [index]))
    decision = Decision(
        Action("noop", {"who": who}), usage=TokenUsage(10, 1), generations=(generation,)
    )
    return Step(index, decision, Observation(f"{who} {index}"))


def begin(store, episode_id):
    return store.begin(
        episode_id, params={}, instruction="", sandbox="x", reset_s=0, first=Observation("")
    )


def play(store, episode_id, who, start, stop):
    recorder = begin(store, episode_id)
    recorder.follow(store.steps(episode_id))
    for index in range(start, stop):
        recorder.step(step(index, who))
    return recorder


def fork(store, parent, at, who, stop):
    child = store.add(PLAN, (parent, at), shared=at, forked=True)
    play(store, child, who, at, stop)
    return child


@pytest.fixture
def tree(run):
    """Episode 1 with six steps; 2 forked from 1 at 4; 3 from 2 at 5, 4 from 2 at 4, 5 from 3 at 2.

    Episode 5 leaves 3 before the steps that 3 took itself.
    """
    play(run, 1, "a", 0, 6)
    assert [fork(run, *args) for args in ((1, 4, "b", 6), (2, 5, "c", 7), (2, 4, "d", 5))] == [
        *(2, 3, 4)
    ]
    fifth = run.add(PLAN, (3, 2), shared=2)
    play(run, fifth, "e", 2, 3)
    return run


def told(store, episode_id):
    steps = store.steps(episode_id)
    assert [one.index for one in steps] == list(range(len(steps)))
    return "".join(str(one.action.arguments["who"]) for one in steps)


def decisions(store, episode_id):
    return [(one.decision, one.observation.text) for one in store.steps(episode_id)]


WHOLE = {1: "aaaaaa", 2: "aaaabb", 3: "aaaabcc", 4: "aaaad", 5: "aae"}


def test_every_episode_reads_whole_and_every_step_is_stored_once(tree):
    assert {id: told(tree, id) for id in WHOLE} == WHOLE
    (count,) = tree._database.rows("SELECT COUNT(*) AS n FROM steps")
    assert count["n"] == 6 + 2 + 2 + 1 + 1
    for id, whole in WHOLE.items():
        last = tree.steps(id)[-1]
        assert last.decision.generations == step(len(whole) - 1, "x").decision.generations


def test_a_row_counts_all_steps_and_its_own_tokens(tree):
    rows = {row.id: row for row in tree.episodes()}
    assert {id: row.steps for id, row in rows.items()} == {1: 6, 2: 6, 3: 7, 4: 5, 5: 3}
    assert [rows[id].usage.prompt for id in WHOLE] == [60, 20, 20, 10, 10]
    assert [rows[id].parent for id in WHOLE] == [None, (1, 4), (2, 5), (2, 4), (3, 2)]
    assert [rows[id].forked for id in WHOLE] == [False, True, True, True, False]
    assert rows[2].plan == PLAN


def test_the_steps_at_which_an_episode_was_forked(tree):
    assert [tree.forks(id) for id in WHOLE] == [(), (4,), (4, 5), (4, 4), ()]


def test_trajectories_have_digests_of_their_whole(tree):
    digests = [tree.history.trajectory(id) for id in WHOLE]
    assert len(set(digests)) == len(WHOLE)


def test_a_parent_that_runs_again_leaves_its_forks_as_they_are(tree):
    before = {id: decisions(tree, id) for id in WHOLE}
    tree.reset_episode(1)
    assert tree.steps(1) == []
    assert {id: decisions(tree, id) for id in (2, 3, 4, 5)} == {
        id: before[id] for id in (2, 3, 4, 5)
    }
    play(tree, 1, "z", 0, 2)
    assert (told(tree, 1), told(tree, 3)) == ("zz", WHOLE[3])
    tree.reset_episode(2)
    assert {id: told(tree, id) for id in (3, 4, 5)} == {id: WHOLE[id] for id in (3, 4, 5)}
    assert tree.steps(2) == []
    with closing(sqlite3.connect(tree.folder / "run.db")) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_episode_whose_shared_steps_are_gone_is_damaged(tree):
    tree._database.execute("DELETE FROM steps WHERE episode = 1 AND step = 3")
    with pytest.raises(RecordError, match="episode 2 is damaged: step 3 is missing"):
        tree.steps(2)


def test_a_fork_without_steps_of_its_own_needs_the_shared_ones(run):
    play(run, 1, "a", 0, 2)
    child = run.add(PLAN, (1, 2), shared=2, forked=True)
    assert told(run, child) == "aa"
    run._database.execute("DELETE FROM steps WHERE step = 1")
    with pytest.raises(RecordError, match="step 1 is missing"):
        run.steps(child)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("parent = 4", "the parent of episode 4 is 4"),
        ("parent = 5", "the parent of episode 4 is 5"),
        ("parent = -1", "the parent of episode 4 is -1"),
        ("shared = 5", "expected 0 to 4 steps of a parent, got 5"),
        ("shared = -1", "got -1"),
        ("shared = 'x'", "shared: expected an integer"),
        ("parent = 'x'", "parent: expected an integer"),
        ("parent_step = 'x'", "parent_step: expected an integer"),
        ("parent = NULL", "expected 0 to 4 steps of a parent"),
    ],
)
def test_a_hostile_origin_is_damage(tree, change, says):
    tree._database.execute("PRAGMA foreign_keys = OFF")
    tree._database.execute(f"UPDATE episodes SET {change} WHERE id = 4")
    with pytest.raises(RecordError, match=f"episode 4 is damaged: .*{says}"):
        tree.steps(4)


def test_a_line_of_parents_without_end_is_damage(run, monkeypatch):
    monkeypatch.setattr("agentgym.record.lineage._MOST_PARENTS", 3)
    assert [run.add(PLAN, (parent, 0), forked=True) for parent in range(1, 5)] == [2, 3, 4, 5]
    assert run.forks(4) == (0, 0, 0)
    with pytest.raises(RecordError, match="episode 5 is damaged: more than 3 episodes"):
        run.forks(5)


def test_a_step_that_another_parent_would_give_breaks_the_child(tree):
    """A prompt of a child builds on its parent's; those of another do not fit."""
    tree._database.execute("UPDATE episodes SET parent = 1 WHERE id = 3")
    with pytest.raises(RecordError, match="damaged"):
        # Step 4 of episode 1 has other tokens than step 4 of episode 2 in this test only.
        tree._database.execute("UPDATE steps SET generations = NULL WHERE episode = 1 AND step = 4")
        tree.steps(3)


def test_a_finished_fork_has_the_length_of_its_trajectory(run):
    play(run, 1, "a", 0, 3)
    child = run.add(PLAN, (1, 2), shared=2, forked=True)
    recorder = play(run, child, "b", 2, 4)
    recorder.finish(Verdict("scored", True, 1.0), duration_s=1.0)
    assert (run.episode(child).steps, told(run, child)) == (4, "aabb")
    run._database.execute(f"DELETE FROM steps WHERE episode = {child} AND step = 3")
    with pytest.raises(RecordError, match="step 3 is missing"):
        run.steps(child)
