"""Checking tool calls against their schemas, and drawing legal ones."""

import doctest
import re
import types
import unicodedata

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ActionError, SurfaceError
from agentgym.records import Action, ToolSpec
from agentgym.surfaces import calls
from agentgym.surfaces.calls import MAX_BYTES, check_call, draw_value, sample_call


def tool(name, properties, required=(), **more):
    schema = {"type": "object", "properties": properties, "required": list(required), **more}
    return ToolSpec(name, "", schema)


CLOSED = {"additionalProperties": False}
BASH = tool(
    "bash",
    {"command": {"type": "string"}, "timeout_s": {"type": "number", "exclusiveMinimum": 0}},
    ["command"],
    **CLOSED,
)
READ = tool(
    "read_file",
    {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}},
    ["path"],
    **CLOSED,
)
EDIT = tool(
    "edit_file",
    {
        "path": {"type": "string", "minLength": 1, "maxLength": 5},
        "old": {"type": "string", "minLength": 30},
        "replace_all": {"type": "boolean"},
    },
    ["path", "old"],
    **CLOSED,
)
WIDE = tool(
    "wide",
    {
        "mode": {"type": "string", "enum": ["left", "right"]},
        "exact": {"const": [1, {"two": 2}]},
        "nullable": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "one": {"oneOf": [{"type": "integer", "maximum": 0}, {"type": "integer", "minimum": 0}]},
        "points": {
            "type": "array",
            "minItems": 2,
            "maxItems": 4,
            "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        },
        "nested": {
            "type": "object",
            "properties": {"x": {"type": "number", "minimum": 0.5, "maximum": 0.75}},
            "required": ["x"],
        },
        "low": {"type": "integer", "maximum": -5},
        "big": {"type": "integer", "minimum": -(2**63), "maximum": 2**63},
        "anything": {},
        "really": True,
    },
    ["mode", "exact", "nullable", "either", "one", "points", "nested", "low", "big"],
)
TOOLS = (BASH, READ, EDIT, WIDE, tool("submit", {"answer": {"type": "string"}}, **CLOSED))


def refusal(action, tools=TOOLS):
    with pytest.raises(ActionError) as caught:
        check_call(action, tools)
    return str(caught.value)


def test_the_example_in_the_documentation():
    assert doctest.testmod(calls) == (0, 2)


# --- drawing -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**63))
def test_every_sample_is_legal(seed):
    action = sample_call(TOOLS, np.random.default_rng(seed))
    check_call(action, TOOLS)
    schema = next(t.parameters for t in TOOLS if t.name == action.tool)
    jsonschema.validate(action.arguments, schema, cls=jsonschema.Draft202012Validator)


def test_same_generator_same_calls():
    def draw(seed):
        rng = np.random.default_rng(seed)
        return [sample_call(TOOLS, rng) for _ in range(20)]

    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_sampling_reaches_every_tool_and_both_sides_of_an_option():
    rng = np.random.default_rng(0)
    drawn = [sample_call(TOOLS, rng) for _ in range(300)]
    assert {action.tool for action in drawn} == {t.name for t in TOOLS}
    reads = [action.arguments for action in drawn if action.tool == "read_file"]
    assert {"offset" in arguments for arguments in reads} == {True, False}
    wides = [action.arguments for action in drawn if action.tool == "wide"]
    assert {type(arguments["nullable"]) for arguments in wides} == {str, type(None)}
    assert {arguments["mode"] for arguments in wides} == {"left", "right"}


def test_sampled_text_covers_unicode_and_stays_encodable():
    rng = np.random.default_rng(0)
    text = "".join(sample_call([BASH], rng).arguments["command"] for _ in range(2000))
    assert "\0" not in text
    assert text.encode().decode() == text
    planes = {ord(character) >> 16 for character in text}
    assert planes == set(range(17))
    assert any(character in "\n\t\u2003" for character in text)
    assert sum(unicodedata.category(character) == "Ll" for character in text) > 100


def test_text_with_a_pattern_is_made_from_it():
    code = {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{12}$"}
    rng = np.random.default_rng(0)
    drawn = {
        sample_call([tool("code", {"code": code}, ["code"])], rng).arguments["code"] for _ in "abc"
    }
    assert len(drawn) == 3 and all(re.fullmatch("[A-Z]{3}-[0-9]{12}", text) for text in drawn)
    # What Python cannot read as a pattern is drawn as any text is.
    assert isinstance(draw_value({"type": "string", "pattern": "("}, rng), str)


def test_a_schema_that_no_draw_meets_is_named():
    code = {"type": "string", "pattern": "^[0-9]{12}$", "maxLength": 5}
    picky = tool("picky", {"code": code}, ["code"])
    with pytest.raises(SurfaceError, match=r"picky.*arguments\.code"):
        sample_call([picky], np.random.default_rng(0))


# --- checking ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "ls"}),
        ("bash", {"command": "", "timeout_s": 0.5}),
        ("bash", {"command": "printf '\\u0000'", "timeout_s": 5}),
        ("bash", {"command": "caf\u00e9 \U0001f600 \uffff"}),
        ("bash", types.MappingProxyType({"command": "ls"})),
        ("submit", {}),
    ],
)
def test_legal_calls_pass(name, arguments):
    check_call(Action(name, arguments), TOOLS)


def test_tuples_and_mappings_count_as_arrays_and_objects():
    points = ToolSpec("points", "", {"properties": {"at": {"type": "array"}}})
    check_call(Action("points", {"at": (1, types.MappingProxyType({"x": (2,)}))}), [points])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, ["arguments", "missing 'command'"]),
        ({"command": 5}, ["arguments.command", "expected string", "got 5", "integer"]),
        ({"command": None}, ["arguments.command", "expected string", "null"]),
        ({"command": ["ls"]}, ["arguments.command", "expected string", "array"]),
        ({"command": "ls", "timeout_s": True}, ["arguments.timeout_s", "expected number", "True"]),
        ({"command": "ls", "timeout_s": -1}, ["arguments.timeout_s", "exclusiveMinimum 0", "-1"]),
        ({"cmd": "ls", "command": "ls"}, ["'cmd'", "did you mean 'command'?", "timeout_s"]),
        ({"command": "a\0b"}, ["arguments.command", "NUL", "'a\\x00b'"]),
        ({"command": "a\ud800"}, ["arguments.command", "lone surrogate", "'a\\ud800'"]),
        ({"command\udfff": "ls"}, ["a key", "lone surrogate"]),
        ({"command": float("inf")}, ["arguments.command", "finite", "inf"]),
        ({"command": [{"deep": float("nan")}]}, ["arguments.command[0].deep", "finite"]),
        ({"command": b"ls"}, ["arguments.command", "expected a JSON value", "bytes"]),
        ({"command": "ls", "timeout_s": np.int64(1)}, ["arguments.timeout_s", "int64"]),
        ({("a", 1): "ls"}, ["expected text as a key", "('a', 1)"]),
    ],
)
def test_a_refusal_names_tool_field_and_both_sides(arguments, said):
    message = refusal(Action("bash", arguments))
    for part in ["tool 'bash'", *said]:
        assert part in message


def test_violations_inside_nested_arguments_have_a_path():
    legal = dict(sample_call([WIDE], np.random.default_rng(0)).arguments)
    message = refusal(Action("wide", {**legal, "points": [[1], ["x"]]}))
    assert "arguments.points[1][0]: expected integer, got 'x' (string)" in message
    assert "expected one of ['left', 'right'], got 'up'" in refusal(
        Action("wide", {**legal, "mode": "up"})
    )


def test_an_unknown_tool_offers_the_close_match():
    message = refusal(Action("read_fil", {"path": "x"}))
    assert "no tool named 'read_fil'; did you mean 'read_file'?" in message
    assert "submit" in message
    assert "none" in refusal(Action("bash", {}), ())


def test_the_size_limit_is_on_the_bytes_of_the_arguments():
    check_call(Action("bash", {"command": "x" * (MAX_BYTES - 100)}), TOOLS)
    assert "1048576" in refusal(Action("bash", {"command": "x" * MAX_BYTES}))
    assert "1048576" in refusal(Action("bash", {"command": "\u20ac" * (MAX_BYTES // 2)}))


def test_a_refusal_stays_short_whatever_was_sent():
    assert len(refusal(Action("bash", {"command": ["x" * 1000] * 1000}))) < 500
    assert len(refusal(Action("x" * 10_000, {}))) < 500
    assert len(refusal(Action("bash", {"command": "\0" * 10_000}))) < 500


def test_arguments_without_a_bottom_are_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    circular = {}
    circular["command"] = circular
    half = b""
    for _ in range(600):
        half = [half]
    for arguments in ({"command": deep}, circular, {"command": half}):
        assert "nested too deeply" in refusal(Action("bash", arguments))


def test_a_tool_with_a_broken_schema_is_the_surface_s_fault():
    broken = ToolSpec("broken", "", {"type": "objekt"})
    with pytest.raises(SurfaceError, match="broken.*objekt") as caught:
        check_call(Action("broken", {}), [broken])
    assert not isinstance(caught.value, ActionError)


def test_tools_of_the_same_name_keep_their_own_schemas():
    # Many short-lived tools: one that takes the place of another must not inherit its schema.
    for number in range(1500):
        limit = number % 7
        spec = tool("move", {"x": {"type": "integer", "maximum": limit}}, ["x"])
        check_call(Action("move", {"x": limit}), [spec])
        with pytest.raises(ActionError):
            check_call(Action("move", {"x": limit + 1}), [spec])
