"""Bounds of what agents send: measured without recursion, and answered as an illegal action."""

import json

import pytest

from agentgym.records import Action, Decision
from agentgym.records.bounds import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NAME,
    MAX_VALUES,
    bounded_decision,
    flaw_of,
)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [[1, 2.5, None, True, "x"]]},
        nested(MAX_DEPTH - 1),
        [0] * (MAX_VALUES - 1),
        "x" * MAX_CHARACTERS,
        2**64,
        (),
    ],
    ids=["plain", "deep", "many", "long", "large", "empty"],
)
def test_what_is_within_the_bounds(value):
    assert flaw_of(value) == ""


def loop():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (nested(MAX_DEPTH + 1), "nested more than 64 deep"),
        (nested(100_000), "nested more than 64 deep"),
        (loop(), "nested more than 64 deep"),
        ({"a": {"b": nested(MAX_DEPTH)}}, "nested more than 64 deep"),
        ([[0] * 400] * 300, "more than 100,000 values"),
        (["x" * 2**19] * 3, "more than 1,048,576 characters"),
        ({"k" * (MAX_CHARACTERS + 1): 1}, "more than 1,048,576 characters"),
        (10**10_000, "an integer of 33,220 bits"),
        ({"x": b"y"}, "bytes is not a JSON value"),
    ],
    ids=["deep", "deepest", "loop", "deep objects", "many", "long", "key", "integer", "bytes"],
)
def test_what_is_beyond_them(value, flaw):
    assert flaw_of(value).startswith(flaw)


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        (Action("bash", {"command": nested(960)}), "tool 'bash': the arguments are out of bounds"),
        (Action("t" * (MAX_NAME + 1)), "no tool has a name of 201 characters"),
        (Action(5), "expected text as the name of a tool, got int"),
        (Action("bash", 7), "the arguments of tool 'bash' are no object: int"),
        (Action("", None), "the arguments of tool '' are no object: NoneType"),
    ],
)
def test_an_action_beyond_them_becomes_a_malformed_one(action, complaint):
    bounded = bounded_decision(Decision(action, reply=nested(2000))).action
    assert bounded.tool == "" and bounded.arguments["malformed"].startswith(complaint)
    assert len(json.dumps(dict(bounded.arguments))) < 300


def test_what_stands_beside_an_action_is_bounded_and_the_rest_stays():
    fine = Decision(Action("bash", {"command": "ls"}), "why", reply={"role": "assistant"})
    assert bounded_decision(fine) == fine
    long = Decision(fine.action, "x" * (MAX_CHARACTERS + 1), reply=nested(5000))
    bounded = bounded_decision(long)
    assert (bounded.action, len(bounded.thought), bounded.reply) == (
        fine.action,
        MAX_CHARACTERS,
        None,
    )
