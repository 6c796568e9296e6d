"""Validity and effect of single steps."""

from dataclasses import replace

import numpy as np
import pytest

from agentgym.records import Effect, Observation, StepEvent, StepEventKind
from agentgym.testing.step_grader import step, trajectory
from agentgym.verify.steps.effect import EffectGrader
from agentgym.verify.steps.validity import ValidityGrader

FAULT = StepEvent(StepEventKind.FAULT, "flaky-disk", "timeout after commit")
EVENT = StepEvent(StepEventKind.EVENT, "new-mail")


async def validity(steps, complaints=None):
    episode = replace(trajectory(steps), complaints=complaints or {})
    grades = await ValidityGrader().grade(episode)
    return [(grade.status.value, grade.label) for grade in grades], grades


@pytest.mark.parametrize(
    ("effect", "found"),
    [
        (Effect.CHANGED, ("pass", "legal")),
        (Effect.NO_CHANGE, ("pass", "legal")),
        (Effect.ERROR, ("fail", "failed")),
        (Effect.TIMEOUT, ("fail", "timeout")),
    ],
)
async def test_a_legal_call_is_valid_unless_it_fails(effect, found):
    assert (await validity([step(0, effect=effect)]))[0] == [found]


async def test_an_illegal_call_says_why():
    told = "no tool named 'bsh'; did you mean 'bash'?"
    found, grades = await validity([step(0), step(1, "bsh", Effect.ERROR)], {1: told})
    assert found == [("pass", "legal"), ("fail", "illegal")]
    assert grades[1].message == told


async def test_a_failure_under_a_fault_is_nobodys_mistake():
    failed = step(0, effect=Effect.TIMEOUT)
    found, grades = await validity(
        [replace(failed, events=(EVENT, FAULT)), replace(failed, index=1, events=(EVENT,))]
    )
    assert found == [("not_applicable", "fault"), ("fail", "timeout")]
    assert grades[0].message == "timeout while flaky-disk fired"


async def test_an_illegal_call_stays_one_under_a_fault():
    failed = replace(step(0, effect=Effect.ERROR), events=(FAULT,))
    assert (await validity([failed], {0: "no tool"}))[0] == [("fail", "illegal")]


async def test_the_message_is_the_end_of_what_was_seen():
    text = "x" * 9000 + "\nno\x0bsuch é\n[exit code 1]\n"
    _, grades = await validity([step(0, effect=Effect.ERROR, text=text)])
    assert grades[0].message == "'no\\x0bsuch é [exit code 1]'"


async def effects(steps, first=None):
    grades = await EffectGrader().grade(replace(trajectory(steps), first=first))
    return [(grade.status.value, grade.label, bool(grade.message)) for grade in grades]


async def test_effects_are_what_the_surface_says():
    assert await effects([step(k, effect=effect) for k, effect in enumerate(Effect)]) == [
        ("pass", "changed", False),
        ("not_applicable", "no_change", False),
        ("fail", "error", False),
        ("fail", "timeout", False),
    ]


def seen(index, shade, effect):
    picture = np.full((2, 2, 3), shade, np.uint8)
    plain = step(index, "click", effect)
    return replace(plain, observation=Observation("", picture, {}, effect))


async def test_pictures_have_the_last_word():
    first = Observation("", np.zeros((2, 2, 3), np.uint8))
    steps = [
        seen(0, 0, Effect.CHANGED),  # says so, shows nothing
        seen(1, 9, Effect.NO_CHANGE),  # shows more than it says
        seen(2, 9, Effect.NO_CHANGE),
        seen(3, 9, Effect.ERROR),  # a failure stays one
    ]
    assert await effects(steps, first) == [
        ("not_applicable", "no_change", True),
        ("pass", "changed", True),
        ("not_applicable", "no_change", False),
        ("fail", "error", False),
    ]
    # Without a picture to compare with, the surface is believed.
    assert (await effects(steps[:1]))[0] == ("pass", "changed", False)
