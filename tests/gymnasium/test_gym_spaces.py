"""Spaces of tool calls, text and JSON, and the slots they travel in."""

import doctest
import json
import multiprocessing
import pickle
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from fake_environment import TOOLS
from gymnasium.vector.utils import (
    batch_space,
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.gymnasium import spaces
from agentgym.gymnasium.spaces import (
    JsonSpace,
    PictureSpace,
    TextSpace,
    ToolCallSpace,
    observation_space,
)
from agentgym.records import Action, ObservationLimits, ToolSpec

TEXTS = [
    "",
    "plain",
    "caf\u00e9 \u6f22\u5b57 \U0001f600 \U0010ffff",
    "\0 nul and \x1b[31m escapes \r\n",
    "x" * 4096,
    "\u20ac" * 1365,
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def through_shared_memory(space, *values):
    memory = create_shared_memory(space, n=len(values), ctx=multiprocessing)
    seen = read_from_shared_memory(space, memory, n=len(values))
    for index, value in enumerate(values):
        write_to_shared_memory(space, index, value, memory)
    return seen, memory


def test_the_examples_in_the_documentation():
    assert doctest.testmod(spaces) == (0, 6)


# --- tool calls ----------------------------------------------------------------------------


def test_samples_are_elements_and_follow_the_seed():
    space = ToolCallSpace(TOOLS, seed=1)
    first = [space.sample() for _ in range(50)]
    assert all(call in space for call in first)
    assert {call["tool"] for call in first} == {"say", "fill", "submit"}
    space.seed(1)
    assert [space.sample() for _ in range(50)] == first


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        ({"tool": "say", "arguments": {"text": "\U0001f600"}}, True),
        ({"tool": "submit"}, True),
        (Action("say", {"text": ""}), True),
        ({"tool": "say", "arguments": {}}, False),
        ({"tool": "say", "arguments": {"text": "\ud800"}}, False),
        ({"tool": "shout", "arguments": {"text": "a"}}, False),
        ({"tool": "submit", "arguments": {}, "more": 1}, False),
        ({"arguments": {}}, False),
        ("say", False),
        (0, False),
        (None, False),
        (np.zeros(3), False),
    ],
)
def test_what_is_an_element(value, inside):
    assert (value in ToolCallSpace(TOOLS)) is inside


def test_there_are_no_masks():
    for space in (ToolCallSpace(TOOLS), TextSpace(9), JsonSpace(9)):
        with pytest.raises(ValueError, match=r"no mask.*got mask=array"):
            space.sample(mask=np.ones(3, np.int8))
        with pytest.raises(ValueError, match=r"probability=\[1\.0\]"):
            space.sample(probability=[1.0])


def test_equality_repr_and_copies():
    space = ToolCallSpace(TOOLS, seed=3)
    assert space == ToolCallSpace(list(TOOLS))
    assert space != ToolCallSpace(TOOLS[:2])
    assert space != ToolCallSpace([ToolSpec("say", "", {}), *TOOLS[1:]])
    assert repr(space) == "ToolCallSpace(say, fill, submit)"
    copies = [deepcopy(space), pickle.loads(pickle.dumps(space)), space]
    assert copies[0] == copies[1] == space
    first, *others = [[copy.sample() for _ in range(5)] for copy in copies]
    assert others == [first, first]


def test_calls_are_json():
    space = ToolCallSpace(TOOLS, seed=3)
    calls = [space.sample() for _ in range(20)]
    text = json.dumps(space.to_jsonable([*calls, Action("submit", {})]))
    assert space.from_jsonable(json.loads(text)) == [*calls, {"tool": "submit", "arguments": {}}]


def test_a_batch_of_calls_is_a_tuple_of_them():
    batch = batch_space(ToolCallSpace(TOOLS, seed=3), 3)
    calls = batch.sample()
    assert calls in batch
    assert calls != (calls[0],) * 3


# --- text and JSON -------------------------------------------------------------------------


def test_text_is_measured_in_bytes_of_utf8():
    space = TextSpace(6)
    assert "abcdef" in space
    assert "\u20ac\u20ac" in space
    assert "\u20ac\u20ac\u20ac" not in space
    assert "\ud800" not in space
    assert b"abc" not in space
    assert all(sample in space for sample in (space.sample() for _ in range(200)))


def test_json_takes_what_comes_back_unchanged():
    space = JsonSpace(1000)
    for value in (None, True, 0, 1.5, "\ud800", [1, [2]], {"a": {"b": []}}):
        assert value in space
    loop = []
    loop.append(loop)
    for value in (float("nan"), {1: 2}, (1, 2), {"a": {3}}, b"", np.zeros(2), "x" * 1000, loop):
        assert value not in space
    assert all(sample in space for sample in (space.sample() for _ in range(200)))


def test_spaces_of_other_sizes_differ():
    assert TextSpace(5) == TextSpace(5)
    assert TextSpace(5) != TextSpace(6)
    assert TextSpace(5) != JsonSpace(5)
    assert pickle.loads(pickle.dumps(TextSpace(5))) == TextSpace(5)
    assert repr(TextSpace(5)) == "TextSpace(max_bytes=5)"
    assert not TextSpace(5).is_np_flattenable


def test_the_observation_space_has_three_parts():
    space = observation_space(ObservationLimits(100, 1_000))
    assert sorted(space) == ["data", "image", "text"]
    space.seed(0)
    assert all(space.sample() in space for _ in range(20))
    black = np.zeros((1, 1, 3), np.uint8)
    assert {"text": "\u00e9", "image": black, "data": {"cwd": "/"}} in space
    assert {"text": "x" * 101, "image": black, "data": {}} not in space


def test_pictures_have_any_size_up_to_a_width_and_a_height():
    space = PictureSpace(12, 8)
    space.seed(1)
    drawn = [space.sample() for _ in range(50)]
    assert all(picture in space for picture in drawn)
    assert len({picture.shape for picture in drawn}) > 10
    back = space.from_jsonable(json.loads(json.dumps(space.to_jsonable(drawn))))
    assert all(np.array_equal(a, b) and b in space for a, b in zip(drawn, back, strict=True))
    for odd in (
        np.zeros((9, 1, 3), np.uint8),
        np.zeros((1, 13, 3), np.uint8),
        np.zeros((0, 1, 3), np.uint8),
        np.zeros((1, 1, 4), np.uint8),
        np.zeros((1, 1), np.uint8),
        np.zeros((1, 1, 3), np.int64),
        [[[0, 0, 0]]],
        None,
    ):
        assert odd not in space
    assert space == PictureSpace(12, 8) != PictureSpace(12, 9)
    assert space != PictureSpace(8, 12)
    admitting = observation_space(ObservationLimits(10, 100, 64, 48))
    assert {"text": "", "image": np.zeros((30, 40, 3), np.uint8), "data": {}} in admitting
    assert {"text": "", "image": space.blank, "data": {}} in admitting


def test_pictures_survive_shared_memory_exactly():
    space = PictureSpace(8, 8)
    pictures = [np.full((height, 3, 3), height, np.uint8) for height in (2, 8)]
    seen, memory = through_shared_memory(space, *pictures)
    assert all(np.array_equal(a, b) for a, b in zip(seen, pictures, strict=True))
    kept = deepcopy({"image": seen})["image"]
    write_to_shared_memory(space, 1, pictures[0], memory)
    assert np.array_equal(seen[1], pictures[0]) and np.array_equal(kept[1], pictures[1])


# --- slots ---------------------------------------------------------------------------------


def test_text_survives_shared_memory_exactly():
    space = TextSpace(4096)
    seen, memory = through_shared_memory(space, *TEXTS)
    assert list(seen) == TEXTS
    # Shorter text over longer leaves nothing of the longer.
    write_to_shared_memory(space, 4, "short", memory)
    assert seen[4] == "short"
    assert (seen[3], seen[5]) == (TEXTS[3], TEXTS[5])


def test_the_view_lives_and_its_copy_does_not():
    space = TextSpace(10)
    seen, memory = through_shared_memory(space, "one", "two")
    kept = deepcopy({"text": seen})["text"]
    write_to_shared_memory(space, 0, "new", memory)
    assert kept == ("one", "two")
    assert tuple(seen) == ("new", "two")
    assert (seen[-1], seen[0:1], len(seen)) == ("two", ("new",), 2)
    with pytest.raises(IndexError):
        seen[2]


def test_empty_slots_hold_blanks():
    for space, blank in ((TextSpace(8), ""), (JsonSpace(8), None)):
        memory = create_shared_memory(space, n=2, ctx=multiprocessing)
        assert list(read_from_shared_memory(space, memory, n=2)) == [blank, blank]
        assert create_empty_array(space, n=2) == (blank, blank)


def test_what_does_not_fit_is_refused_and_harms_no_neighbour():
    space = TextSpace(10)
    seen, memory = through_shared_memory(space, "a" * 10, "b" * 10)
    with pytest.raises(ValueError, match=r"12 bytes.*at most 10"):
        write_to_shared_memory(space, 0, "\u20ac" * 4, memory)
    assert list(seen) == ["a" * 10, "b" * 10]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=50), min_size=1, max_size=4))
def test_any_text_comes_back(texts):
    seen, _ = through_shared_memory(TextSpace(200), *texts)
    assert list(seen) == texts


@settings(deadline=None, max_examples=60)
@given(st.lists(json_values, min_size=1, max_size=3))
def test_any_json_comes_back(values):
    seen, _ = through_shared_memory(JsonSpace(10_000), *values)
    assert list(seen) == values


def test_gymnasium_s_own_text_space_still_has_the_trap():
    # The reason for SlotSpace; when this fails, Gymnasium has mended what it works around.
    seen, _ = through_shared_memory(gymnasium.spaces.Text(8), "abc")
    assert list(seen) != ["abc"]
