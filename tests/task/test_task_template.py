"""Slots: drawing is pinned and independent of order, filling is single-pass and typed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import TaskError
from agentgym.task.reference_actions import read_actions
from agentgym.task.template import Filling, Slot, cardinality, draw, environment, fill, fill_json

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
SCALARS = (
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
)
PARAMS = st.dictionaries(NAMES, SCALARS, min_size=1, max_size=4)
CHOICES = st.lists(SCALARS, min_size=1, max_size=6, unique_by=json.dumps).map(
    lambda values: Slot(choice=tuple(values))
)
RANGES = st.tuples(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53)).map(
    lambda ends: Slot(range=tuple(sorted(ends)))
)


def test_the_draw_of_a_known_seed_is_pinned() -> None:
    # By hand: `printf 'agentgym.draw/1\0007\000host' | sha256sum` is 1 modulo 3, the same with
    # `count` is 21 modulo 71.
    slots = {"host": Slot(choice=("a", "b", "c")), "count": Slot(range=(20, 90))}
    assert draw(slots, 7) == {"host": "b", "count": 41}


@given(st.dictionaries(NAMES, CHOICES | RANGES, max_size=5), st.integers(0, 2**64))
def test_a_draw_is_possible_and_independent_of_the_other_slots(
    slots: Mapping[str, Slot], seed: int
) -> None:
    drawn = draw(slots, seed)
    assert drawn == draw(dict(reversed(slots.items())), seed)
    for name, slot in slots.items():
        assert draw({name: slot}, seed)[name] == drawn[name]
        if slot.choice is not None:
            assert drawn[name] in slot.choice
        else:
            assert isinstance(drawn[name], int)
            assert slot.range[0] <= drawn[name] <= slot.range[1]


def test_seeds_reach_every_value_about_equally_often() -> None:
    slot = Slot(range=(1, 4))
    drawn = [draw({"x": slot}, seed)["x"] for seed in range(4000)]
    counts = {value: drawn.count(value) for value in set(drawn)}
    assert set(counts) == {1, 2, 3, 4}
    # Five standard deviations of a fair draw: sqrt(4000 * 1/4 * 3/4) is 27.4.
    assert all(abs(count - 1000) < 137 for count in counts.values())


def test_cardinality_is_the_product() -> None:
    slots = {"a": Slot(choice=("x", "y")), "b": Slot(range=(-1, 1)), "c": Slot(range=(5, 5))}
    assert cardinality(slots) == 6
    assert cardinality({}) == 1


@given(st.text(), PARAMS)
def test_a_text_without_braces_is_left_alone(text: str, params: Mapping[str, object]) -> None:
    text = text.replace("{", "")
    assert fill(text, params, "f") == text
    assert fill_json(text, params, "f") == text


@given(PARAMS, st.data())
def test_every_slot_is_replaced_once_and_nothing_that_was_filled_in_is(
    params: dict[str, object], data: st.DataObject
) -> None:
    params["nested"] = "{{nested}}"
    names = data.draw(st.lists(st.sampled_from(sorted(params)), min_size=2))
    blanks = data.draw(st.sampled_from(["", " ", "\t"]))
    template = "|".join(f"{{{{{blanks}{name}{blanks}}}}}" for name in names)
    values = [params[name] for name in names]
    expected = "|".join(v if isinstance(v, str) else json.dumps(v) for v in values)
    assert fill(template, params, "f") == expected
    assert fill_json(template, params, "f") == expected


@given(PARAMS)
def test_a_json_text_that_is_one_slot_takes_its_type(params: Mapping[str, object]) -> None:
    template = {"list": [f"{{{{{name}}}}}" for name in params], "n": 1, "none": None}
    filled = fill_json(template, params, "f")
    assert filled == {"list": list(params.values()), "n": 1, "none": None}
    assert [type(v) for v in filled["list"]] == [type(v) for v in params.values()]


def test_keys_of_objects_are_filled_and_may_not_collide() -> None:
    assert fill_json({"{{a}}.conf": 1}, {"a": "x"}, "f") == {"x.conf": 1}
    with pytest.raises(TaskError, match=r"f:3: two keys of .* are equal once filled"):
        fill_json({"{{a}}": 1, "{{b}}": 2}, {"a": "x", "b": "x"}, "f:3")


@pytest.mark.parametrize("text", ["{{.State}}", "{{json .}}", "{{}}", "${{ a.b }}", "{x}", "{{ x"])
def test_other_peoples_braces_are_text(text: str) -> None:
    assert fill(text, {}, "f") == text
    assert fill_json(text, {}, "f") == text


def test_an_unknown_slot_is_named_with_its_line_and_the_close_match() -> None:
    with pytest.raises(TaskError) as caught:
        fill("one\ntwo {{host}}\n{{ hots }}\n", {"host": "web-1"}, "dir/instruction.md")
    assert str(caught.value) == (
        "dir/instruction.md:3: unknown slot {{hots}}; did you mean {{host}}?"
    )
    with pytest.raises(TaskError) as caught:
        fill_json({"a": ["{{zzz}}"]}, {"host": "web-1"}, "rubric.toml:9")
    assert str(caught.value) == "rubric.toml:9: unknown slot {{zzz}}; known: host"


def test_parameters_become_environment_variables() -> None:
    assert environment({"host": "web-1", "n": 3, "on": True, "é": "ü"}) == {
        "PARAM_HOST": "web-1",
        "PARAM_N": "3",
        "PARAM_ON": "true",
        "PARAM_É": "ü",
        "AGENTGYM_PARAMS": '{"host":"web-1","n":3,"on":true,"\\u00e9":"\\u00fc"}',
    }


CASE = Slot(choice=({"ticket": 17, "name": "Ada"}, {"ticket": 18, "name": "Bo"}))


def test_a_choice_of_tables_draws_values_that_belong_together() -> None:
    for seed in range(8):
        params = draw({"case": CASE}, seed)
        assert fill("{{case.ticket}} {{ case.name }}", params, "f") in ("17 Ada", "18 Bo")
        assert fill_json(["{{case.ticket}}"], params, "f") in ([17], [18])
    with pytest.raises(TaskError, match=r"f:1: unknown slot \{\{case.nam\}\}; did you mean"):
        fill("{{case.nam}}", params, "f")


@pytest.mark.parametrize("choice", [({"a": 1}, {"b": 1}), ({"a": 1}, 2), ({},), ({"a b": 1},)])
def test_tables_of_a_choice_have_one_form(choice) -> None:
    with pytest.raises(ValueError, match="expected"):
        Slot(choice=choice)


def test_a_value_is_short_because_a_slot_multiplies_it() -> None:
    Slot(choice=("x" * 1_024,))
    for choice in (("x" * 1_025,), ({"a": "x" * 1_025},)):
        with pytest.raises(ValueError, match="expected at most 1,024 characters, got 1,025"):
            Slot(choice=choice)


@pytest.mark.parametrize("within", [str, lambda text: [text, {"k": text}]])
def test_the_slots_of_a_text_have_a_largest_size(within) -> None:
    params = {"a": "x" * 1_000}
    template = within("{{a}}" * 9_000)
    with pytest.raises(TaskError, match=r"f(:1)?: the values of the slots have more than"):
        fill(template, params, "f") if isinstance(template, str) else fill_json(
            template, params, "f"
        )


def test_the_slots_of_all_lines_of_a_file_have_a_largest_size(tmp_path) -> None:
    line = json.dumps({"tool": "bash", "arguments": {"command": "{{a}}" * 1_000}})
    path = tmp_path / "actions.jsonl"
    path.write_text(f"{line}\n" * 9)
    with pytest.raises(TaskError, match=r"actions.jsonl:9: the values of the slots have more"):
        read_actions(path, TaskError, {"a": "x" * 1_000})


def test_a_slot_is_filled_in_constant_time() -> None:
    lines: list[int] = []

    def where(at: int) -> str:
        lines.append(at)
        return "f"

    assert Filling({"a": 1}).text("{{a}}" * 1_000, where) == "1" * 1_000
    assert not lines  # The line is looked for only for a message.
