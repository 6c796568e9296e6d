"""Every record comes back from JSON as it was, whatever is in it."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.record import codec
from agentgym.record.reading import NUMBER, expect, read
from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckStatus,
    Connection,
    Decision,
    Effect,
    Observation,
    Phase,
    Process,
    StepEvent,
    StepEventKind,
    TokenUsage,
    UserCall,
    UserTurn,
    Verdict,
)

SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# Every code point there is, NUL and lone surrogates included; JSON cannot tell two surrogates
# that form a pair from the character they spell.
texts = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda text: not SURROGATE_PAIR.search(text)
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
objects = st.dictionaries(texts, values, max_size=4)
counts = st.integers(0, 2**40)
images = st.builds(
    lambda h, w, seed: np.random.default_rng(seed).integers(0, 256, (h, w, 3), dtype=np.uint8),
    *(st.integers(1, 9), st.integers(1, 9), st.integers(0, 99)),
)
decisions = st.builds(
    Decision,
    st.builds(Action, texts, objects),
    texts,
    st.builds(TokenUsage, counts, counts, counts),
    values,
)
fractions = st.floats(0, 1)
checkpoints = st.builds(
    CheckpointResult,
    *(texts, st.sampled_from(list(Phase)), st.sampled_from(list(CheckStatus)), fractions),
    *(fractions, texts, st.booleans(), st.integers(0, 9)),
)
verdicts = st.builds(
    Verdict,
    *(texts, st.booleans(), fractions, st.none() | fractions),
    *(st.lists(texts, max_size=3).map(tuple), st.lists(checkpoints, max_size=3).map(tuple), texts),
    words=st.sampled_from(["", "judged", "not judged"]),
)
processes = st.builds(
    Process,
    *(counts, st.lists(texts, max_size=3).map(tuple), st.lists(counts, max_size=3).map(tuple)),
)
connections = st.builds(Connection, texts, counts, texts, texts, counts, counts)
audits = st.builds(
    Audit,
    *(st.lists(processes, max_size=3).map(tuple), st.lists(connections, max_size=3).map(tuple)),
    st.none() | counts,
)
turns = st.builds(
    UserTurn,
    *(texts, st.booleans(), st.lists(st.builds(UserCall, texts, objects), max_size=2).map(tuple)),
    *(texts, st.booleans()),
)
events = st.builds(StepEvent, st.sampled_from(list(StepEventKind)), texts, texts, st.none() | turns)


def through_json(value):
    line = codec.dumps(value)
    assert line.isascii()
    assert "\n" not in line
    return codec.loads(line)


@given(decisions)
def test_a_decision_comes_back_from_json(decision):
    value = codec.loads(codec.decision_to_text(decision))
    assert codec.decision_from_json(value, decision.usage) == decision


@given(verdicts)
def test_a_verdict_comes_back_from_json(verdict):
    assert read(Verdict, through_json(verdict), "verdict") == verdict


@given(audits)
def test_an_audit_comes_back_from_json(audit):
    assert read(Audit, through_json(audit), "audit") == audit


@given(st.lists(events, max_size=3).map(tuple))
def test_events_come_back_from_json(happened):
    assert read(tuple[StepEvent, ...], through_json(happened), "events") == happened


@given(texts, objects, st.sampled_from(list(Effect)))
def test_an_observation_comes_back_from_json(text, data, effect):
    observation = Observation(text, None, data, effect)
    value = codec.loads(codec.observation_to_text(observation))
    back = codec.observation_from_json(value, {}.__getitem__)
    assert (back.text, back.data, back.effect, back.image) == (text, data, effect, None)
    assert codec.observation_hash(back) == codec.observation_hash(observation)


@given(images)
def test_an_image_comes_back_from_png(image):
    png = codec.png_from_image(image)
    back = codec.image_from_png(png)
    assert png.startswith(b"\x89PNG")
    assert back.dtype == np.uint8
    assert np.array_equal(back, image)


def test_tuples_and_other_mappings_are_written_as_lists_and_objects():
    from types import MappingProxyType

    assert codec.dumps({"a": (1, MappingProxyType({"b": ()}))}) == '{"a":[1,{"b":[]}]}'


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_what_is_no_json_value_is_refused(value):
    with pytest.raises(TypeError, match=f"a {type(value).__name__} is not a JSON value"):
        codec.dumps({"a": value})


# --- what is not what its field says ---------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (int, True, "x: expected an integer, got true"),
        (int, 1.5, "x: expected an integer, got 1.5"),
        (int, 2**70, "x: expected a number between"),
        (bool, 1, "x: expected true or false, got 1"),
        (str, b"x", "x: expected text, got"),
        (str | None, 5, "x: expected text, got 5"),
        (NUMBER, "1", 'x: expected a number, got "1"'),
        (NUMBER, True, "x: expected a number, got true"),
        (NUMBER, float("inf"), "x: expected a finite number, got Infinity"),
        (dict, [], r"x: expected an object, got \[\]"),
        (Effect, "odd", "x: expected one of changed, no_change, error, timeout, got"),
        (TokenUsage, {"prompt": "3"}, 'x.prompt: expected an integer, got "3"'),
        (Action, {"arguments": {}}, "x.tool: absent"),
        (Action, {"tool": "a", "arguments": []}, r"x.arguments: expected an object, got \[\]"),
        (tuple[str, ...], [1] * 10**6, "x: expected text, got 1"),
        (tuple[str, ...], "ab", 'x: expected an array, got "ab"'),
    ],
)
def test_a_value_of_another_kind_is_refused_by_its_field(kind, value, says):
    with pytest.raises(ValueError, match=says) as caught:
        expect(value, "x", kind)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("kind", [Action, StepEvent, Verdict])
def test_a_flood_of_unknown_fields_is_refused_at_the_first(kind):
    flood = {f"field {number}": 0 for number in range(200_000)}
    tracemalloc.start()
    with pytest.raises(ValueError, match="x: expected the fields of this record, and no 'field 0'"):
        read(kind, flood, "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_lone_surrogate_is_text():
    assert expect("\ud800", "x", str) == "\ud800"


# --- the observation hash ------------------------------------------------------------------

IMAGE = np.zeros((2, 3, 3), np.uint8)
BASE = Observation("ready", IMAGE, {"exit_code": 0, "jobs": ["pid 41"]}, Effect.CHANGED)


def other_pixel():
    image = IMAGE.copy()
    image[1, 2, 0] = 1
    return image


@pytest.mark.parametrize(
    "change",
    [
        {"text": "ready "},
        {"data": {"exit_code": 1, "jobs": ["pid 41"]}},
        {"effect": Effect.NO_CHANGE},
        {"image": None},
        {"image": other_pixel()},
        {"image": IMAGE.reshape(3, 2, 3)},
    ],
    ids=["text", "data", "effect", "no image", "pixel", "shape"],
)
def test_the_hash_depends_on_every_field(change):
    assert codec.observation_hash(replace(BASE, **change)) != codec.observation_hash(BASE)


def test_the_hash_does_not_depend_on_the_order_of_keys():
    turned = replace(BASE, data={"jobs": ["pid 41"], "exit_code": 0})
    assert codec.observation_hash(turned) == codec.observation_hash(BASE)


def test_the_hash_is_the_one_that_older_records_hold():
    # printf '["ok",{},"no_change",null]' | sha256sum
    expected = "044eb8b7b833ea5a3378a5b9a95fc0fe3045158134b62cfc4ef9a42d970ccd91"
    assert codec.observation_hash(Observation("ok")) == expected


def test_volatile_text_is_masked_in_text_and_data():
    one = replace(BASE, text="started pid 41 at 10:00")
    other = replace(one, text="started pid 977 at 11:30", data={"exit_code": 0, "jobs": ["pid 9"]})
    patterns = [r"pid \d+", r"\d\d:\d\d"]
    assert codec.observation_hash(one) != codec.observation_hash(other)
    assert codec.observation_hash(one, patterns[:1]) != codec.observation_hash(other, patterns[:1])
    assert codec.observation_hash(one, patterns) == codec.observation_hash(other, patterns)
