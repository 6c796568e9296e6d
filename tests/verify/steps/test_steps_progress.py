"""Progress over milestones: potentials, the end, and what is not known."""

from dataclasses import replace

import pytest

from agentgym.errors import VerifierError
from agentgym.records import CheckpointResult, CheckStatus, Milestone, Phase, Verdict
from agentgym.testing.step_grader import step, trajectory
from agentgym.verify.steps.progress import MilestoneGrader, ProgressGrader, potentials


def episode(count, reached, weights=None, missing=()):
    """An episode whose milestones were reached at the steps given by id; None: never."""
    weights = weights or {id: 1 / len(reached) for id in reached}
    results = [
        CheckpointResult(
            *(id, Phase.OUTCOME, CheckStatus.FAIL if at is None else CheckStatus.PASS),
            *(0.0, 1.0),
            step=at,
        )
        for id, at in reached.items()
        if id not in missing
    ]
    steps = [step(k) for k in range(count)]
    return replace(
        trajectory(steps),
        verdict=Verdict("scored", False, 0.0, checkpoints=tuple(results)),
        milestones=tuple(Milestone(id, weights[id]) for id in reached),
    )


async def values(shown, argument=""):
    return [grade.value for grade in await ProgressGrader(argument).grade(shown)]


def test_the_potential_is_the_weighted_share_that_has_latched():
    shown = episode(4, {"a": 0, "b": 2, "c": None}, {"a": 0.25, "b": 0.25, "c": 0.5})
    assert potentials(shown) == [0.0, 0.25, 0.25, 0.5, 0.5]


def test_what_holds_at_the_start_is_no_ones_progress():
    assert potentials(episode(2, {"a": -1, "b": 1})) == [0.5, 0.5, 1.0]


async def test_each_step_is_worth_the_difference_and_the_end_gives_it_back():
    shown = episode(4, {"a": 0, "b": 2, "c": None}, {"a": 0.25, "b": 0.25, "c": 0.5})
    assert await values(shown) == [0.25, 0.0, 0.25, -0.5]
    assert await values(shown, "0.5") == [0.125, -0.125, 0.0, -0.5]


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.5, 0.0])
@pytest.mark.parametrize(
    "reached", [{"a": 0}, {"a": None}, {"a": -1, "b": 3}, {"a": 4, "b": 4, "c": 1}]
)
async def test_an_episode_adds_up_to_minus_the_first_potential(gamma, reached):
    shown = episode(5, reached)
    total = sum(gamma**t * f for t, f in enumerate(await values(shown, str(gamma))))
    assert total == pytest.approx(-potentials(shown)[0])


async def test_steps_that_reach_something_pass_and_the_others_have_no_grade():
    grades = await ProgressGrader().grade(episode(3, {"a": 1, "b": 1, "c": None}))
    assert [(g.status.value, g.label) for g in grades] == [
        ("not_applicable", "none"),
        ("pass", "milestone"),
        ("not_applicable", "end"),
    ]
    assert grades[1].message == "Φ 0.000 → 0.667: a, b"


async def test_a_rubric_without_milestones_gives_no_grades():
    assert await values(episode(3, {})) == []


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (replace(episode(2, {"a": 0}), verdict=None), "the episode is not over"),
        (episode(2, {"a": 0}, missing=("a",)), "the verdict does not know milestone 'a'"),
        (replace(episode(2, {"a": 0}), problem="no task named 'x'"), "not known: no task"),
    ],
)
async def test_what_is_not_known_is_an_error_and_no_zero(shown, says):
    with pytest.raises(VerifierError, match=says):
        await values(shown)


async def test_a_milestone_in_error_is_an_error():
    shown = episode(2, {"a": None})
    assert shown.verdict is not None
    (result,) = shown.verdict.checkpoints
    broken = replace(result, status=CheckStatus.ERROR, message="ZeroDivisionError")
    shown = replace(shown, verdict=replace(shown.verdict, checkpoints=(broken,)))
    with pytest.raises(VerifierError, match="'a' is in error: ZeroDivisionError"):
        await values(shown)


async def test_a_bonus_pays_each_milestone_at_the_step_that_reached_it():
    shown = episode(4, {"a": 0, "b": 2, "c": None, "d": 2, "e": -1})
    grades = await MilestoneGrader().grade(shown)
    assert [(grade.step, grade.value) for grade in grades] == [(0, 0.2), (2, 0.4)]
    assert [grade.message for grade in grades] == ["a", "b, d"]
    assert all(grade.status is CheckStatus.PASS for grade in grades)
    assert await MilestoneGrader().grade(episode(2, {"a": None})) == []
    with pytest.raises(VerifierError, match="does not know milestone 'b'"):
        await MilestoneGrader().grade(episode(2, {"a": 0, "b": 1}, missing=("b",)))
