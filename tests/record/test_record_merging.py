"""Episodes of another run are merged wholly, once, and read as they were."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from agentgym.errors import RecordError
from agentgym.record.endings import Ending
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Audit,
    CheckStatus,
    Decision,
    Generation,
    Grading,
    Observation,
    Step,
    StepGrade,
    TokenTrace,
    TokenUsage,
    Verdict,
)

PLAN = EpisodePlan("t/a-v1", 3, 0, "noop", "g", {"epoch": 1})
OTHER = replace(PLAN, seed=4, trial=1)
PICTURE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
LONG = "long " * 3_000
DONE = Verdict("scored", True, 1.0)


@pytest.fixture
def main(tmp_path):
    with closing(RunStore.create(tmp_path / "main", {}, [OTHER, PLAN])) as store:
        yield store


@pytest.fixture
def part(tmp_path):
    with closing(RunStore.create(tmp_path / "part", {}, [PLAN])) as store:
        yield store


def step(index):
    generation = Generation(TokenTrace([*range(300), *range(index)], [index], (-0.5,)))
    decision = Decision(
        Action("noop", {}), usage=TokenUsage(10, 1), generations=(generation,), thought=LONG
    )
    return Step(index, decision, Observation(f"seen {index}", PICTURE + index), 0.25)


def play(store, episode_id=1, steps=3, state=b"final", verdict=DONE):
    recorder = store.begin(
        episode_id,
        params={"n": 1},
        instruction=LONG,
        sandbox="x",
        reset_s=0.5,
        first=Observation("first", PICTURE),
    )
    store.endings.begin(episode_id, 100.0)
    store.setups.note(episode_id, "a" * 64)
    recorder.follow(store.steps(episode_id))
    for index in range(recorder.steps, steps):
        recorder.step(step(index))
    recorder.note("a note")
    if verdict is not None:
        store.endings.finish(episode_id, Ending(0.0, 200.0, {"rows": [1]}), state)
        refused = (Generation(TokenTrace([1], [2])),)
        recorder.finish(
            *(verdict,),
            duration_s=2.5,
            audit=Audit(),
            refused=TokenUsage(5, 6),
            generations=refused,
        )


def told(store, id):
    """What readers see of an episode, without its number."""
    row = replace(store.episode(id), id=0, parent=None)
    row = replace(row, first=replace(row.first, image=row.first.image.tolist()))
    steps = [
        (each.decision, each.observation.text, each.observation.image.tolist(), each.duration_s)
        for each in store.steps(id)
    ]
    return repr((row, steps, store.refused(id), store.setups.find(id), store.endings.find(id)))


def test_a_merged_episode_reads_as_it_was(main, part):
    play(part)
    assert main.merge(part, {1: 2}) == {1: 2}
    assert told(main, 2) == told(part, 1)
    assert main.endings.state(main.endings.find(2)) == b"final"
    assert main.episode(1).state == "planned"


def test_it_is_merged_once(main, part):
    play(part)
    main.merge(part, {1: 2})
    before = told(main, 2)
    with pytest.raises(RecordError, match="episode 2 is done; expected one that is planned"):
        main.merge(part, {1: 2})
    assert told(main, 2) == before


@pytest.mark.parametrize(
    ("place", "why"), [(1, "its seed is 3, not 4"), (9, "episode 9 is unknown")]
)
def test_no_other_episode_takes_its_place(main, part, place, why):
    play(part)
    with pytest.raises(RecordError, match=why):
        main.merge(part, {1: place})
    assert [row.state for row in main.episodes()] == ["planned", "planned"]


def test_an_episode_that_is_not_over_is_refused(main, part):
    play(part, verdict=None)
    with pytest.raises(RecordError, match="episode 1 of the other run is running"):
        main.merge(part, {1: 2})
    assert main.episode(2).state == "planned"


def test_a_damaged_step_leaves_the_run_as_it_was(main, part):
    play(part)
    part._database.execute("UPDATE steps SET observation = '{}' WHERE step = 1")
    with pytest.raises(RecordError, match="step 1 of episode 1 is damaged"):
        main.merge(part, {1: 2})
    assert main.episode(2).state == "planned"
    assert main.steps(2) == []


def test_forks_are_added_and_keep_their_parents(main, part):
    play(part)
    fork = part.add(PLAN, (1, 2), shared=2, forked=True)
    play(part, fork, steps=5)
    numbers = main.merge(part, {1: 2})
    assert numbers == {1: 2, 2: 3}
    assert main.episode(3).parent == (2, 2)
    assert main.episode(3).forked
    assert told(main, 3) == told(part, fork)
    assert [each.observation.text for each in main.steps(3)] == [f"seen {n}" for n in range(5)]


def test_episodes_that_replace_none_are_added(main, part):
    play(part)
    assert main.merge(part, {}) == {1: 3}
    assert main.episode(3).plan == PLAN
    assert main.episode(2).state == "planned"


def test_a_final_state_without_room_is_left_out(main, part):
    play(part, state=b"x" * 100)
    asked = []

    def no_room(size):
        asked.append(size)
        return "no room"

    main.merge(part, {1: 2}, no_room)
    ending = main.endings.find(2)
    assert asked == [100]
    assert (ending.state, ending.unkept, ending.evidence) == ("", "no room", {"rows": [1]})
    assert main.endings.kept() == (0, 0)
    assert part.endings.find(1).state not in main._packing.blobs.names()


def test_kept_bytes_count_merged_states(main, part):
    assert main.endings.kept_bytes == 0
    play(part, state=b"x" * 100)
    main.merge(part, {1: 2})
    assert main.endings.kept_bytes == 100


def test_kept_bytes_count_equal_states_once_and_follow_each_episode(main):
    for episode_id, state in ((1, b"x" * 100), (2, b"x" * 100)):
        assert main.endings.kept_bytes in (0, 100)
        play(main, episode_id, state=state)
    assert main.endings.kept_bytes == 100
    main.reset_episode(1)
    assert main.endings.kept_bytes == 100
    main.reset_episode(2)
    assert main.endings.kept_bytes == 0
    play(main, state=b"y" * 7)
    assert main.endings.kept_bytes == 7


def test_gradings_stay_those_of_the_present_steps(main, part):
    play(part)
    grade = StepGrade(1, CheckStatus.PASS, "effect", value=0.5)
    now = Grading("effect", "1", (grade,), trajectory=part.history.trajectory(1), steps=3)
    part.history.add_gradings(1, [replace(now, version="0", trajectory="b" * 64), now])
    main.merge(part, {1: 2})
    (newest,) = main.history.newest_gradings(2)
    assert newest == replace(now, trajectory=main.history.trajectory(2))
    assert [each.trajectory for each in main.history.gradings(2)][0] == "b" * 64
    assert newest.trajectory != now.trajectory
