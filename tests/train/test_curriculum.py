"""The choice of tasks, seeds and group sizes."""

from __future__ import annotations

from collections import Counter

import pytest

from agentgym.train.curriculum import Curriculum, Difficulty
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import EpisodeTokens


def group(task, seed, rewards):
    tokens = EpisodeTokens((), 0, 0)
    trajectories = tuple(Trajectory(reward, tokens, ("",)) for reward in rewards)
    return Group(Assignment(0, task, seed, len(rewards)), trajectories)


INSTANCES = {"easy": [0], "fair": [0], "hard": [0]}
KNOWN = [
    group("easy", 0, [1.0] * 40),
    group("fair", 0, [1.0, 0.0] * 20),
    group("hard", 0, [0.0] * 40),
]


def chosen(curriculum, count=200):
    return Counter(curriculum.choose(number).task for number in range(count))


def test_thompson_sampling_and_a_band_prefer_what_is_solved_sometimes():
    uniform = chosen(Curriculum(INSTANCES))
    assert min(uniform.values()) > 40
    for difficulty in (Difficulty.THOMPSON, Difficulty.BAND):
        curriculum = Curriculum(INSTANCES, difficulty=difficulty)
        before = chosen(curriculum)
        assert min(before.values()) > 30
        curriculum.learn(KNOWN)
        assert chosen(curriculum)["fair"] > 180


def test_what_was_known_fades_as_the_policy_changes():
    curriculum = Curriculum(INSTANCES, difficulty=Difficulty.THOMPSON, fade=0.5)
    curriculum.learn(KNOWN)
    assert curriculum.success_rate("easy", 0) > 0.97
    for _ in range(12):
        curriculum.learn([])
    assert curriculum.success_rate("easy", 0) == pytest.approx(0.5, abs=0.01)
    assert min(chosen(curriculum).values()) > 30


def test_an_instance_never_tried_counts_as_hard_as_its_task():
    curriculum = Curriculum(
        {"fair": range(100), "hard": range(100)}, difficulty=Difficulty.THOMPSON
    )
    assert curriculum.success_rate("hard", 99) == 0.5
    curriculum.learn(KNOWN)
    assert curriculum.success_rate("hard", 99) < 0.05
    assert curriculum.success_rate("fair", 99) == pytest.approx(0.5)
    assert chosen(curriculum)["fair"] > 170


def test_part_of_the_credit_is_something_to_learn_from():
    curriculum = Curriculum(INSTANCES, difficulty=Difficulty.THOMPSON)
    curriculum.learn([*KNOWN[::2], group("fair", 0, [0.4, 0.6] * 20)])
    assert curriculum.success_rate("fair", 0) == pytest.approx(0.5)
    assert chosen(curriculum)["fair"] > 180


def test_groups_of_one_sided_instances_are_larger():
    curriculum = Curriculum(INSTANCES, sizes=(4, 16))
    curriculum.learn(KNOWN)
    sizes = {
        task: next(found.size for n in range(999) if (found := curriculum.choose(n)).task == task)
        for task in INSTANCES
    }
    assert sizes["fair"] < sizes["easy"] == sizes["hard"] == 16


def test_the_same_number_gives_the_same_group_after_a_resume():
    one = Curriculum(INSTANCES, difficulty=Difficulty.BAND, sizes=(2, 9), seed=4)
    one.learn(KNOWN)
    other = Curriculum(INSTANCES, difficulty=Difficulty.BAND, sizes=(2, 9), seed=4)
    other.load_state_dict(one.state_dict())
    assert [one.choose(n) for n in range(50)] == [other.choose(n) for n in range(50)]
    third = Curriculum(INSTANCES, difficulty=Difficulty.BAND, sizes=(2, 9), seed=5)
    assert [one.choose(n) for n in range(50)] != [third.choose(n) for n in range(50)]


@pytest.mark.parametrize(
    ("instances", "options"),
    [
        ({}, {}),
        ({"a": []}, {}),
        (INSTANCES, {"sizes": (4, 2)}),
        (INSTANCES, {"sizes": (0, 2)}),
        (INSTANCES, {"band": (0.8, 0.2)}),
        (INSTANCES, {"band": (0.2, 1.2)}),
    ],
)
def test_bad_bounds_are_refused(instances, options):
    with pytest.raises(ValueError, match="expected"):
        Curriculum(instances, **options)
