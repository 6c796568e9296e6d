"""Schemas of other people's tools: what they admit must stay what their authors meant."""

import itertools

import jsonschema
import numpy as np
import pytest
from pydantic import BaseModel

from agentgym.errors import ActionError
from agentgym.records import Action, ToolSpec
from agentgym.surfaces.calls import check_call, sample_call
from agentgym.surfaces.mcp_schema import adapt

ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}},
    "required": ["street"],
}
VALUES = [
    None, True, 0, 1, 7, -3, 2.5, "", "a", "2026-03-02", [], [1], ["a", 1], [1, "a", None], {},
    {"street": "x"}, {"street": 1}, {"street": "x", "zip": 3, "more": 1}, {"a": {"a": {}}},
]  # fmt: skip

# What a property may be, in drafts 4 to 2020-12, with the class that reads it as it was written.
PROPERTIES = {
    "reference": (
        {"$ref": "#/$defs/A"}, {"$defs": {"A": ADDRESS}}, jsonschema.Draft202012Validator,
    ),
    "definitions": (
        {"$ref": "#/definitions/A"}, {"definitions": {"A": ADDRESS}}, jsonschema.Draft7Validator,
    ),
    "optional reference": (
        {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "default": None},
        {"$defs": {"A": ADDRESS}}, jsonschema.Draft202012Validator,
    ),
    "reference to a reference": (
        {"items": {"$ref": "#/$defs/B"}, "type": "array"},
        {"$defs": {"A": ADDRESS, "B": {"$ref": "#/$defs/A"}}}, jsonschema.Draft202012Validator,
    ),
    "reference beside others": (
        {"$ref": "#/$defs/N", "minimum": 1, "description": "Told."},
        {"$defs": {"N": {"type": "integer", "minimum": -5, "description": "Not told."}}},
        jsonschema.Draft202012Validator,
    ),
    "escaped pointer": (
        {"$ref": "#/$defs/a~1b%20c"}, {"$defs": {"a/b c": {"type": "string"}}},
        jsonschema.Draft202012Validator,
    ),
    "tuple of draft 7": (
        {"type": "array", "items": [{"type": "integer"}, {"type": "string"}],
         "additionalItems": False}, {}, jsonschema.Draft7Validator,
    ),
    "bounds of draft 4": (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {}, jsonschema.Draft4Validator,
    ),
    "dependencies of draft 7": (
        {"type": "object", "dependencies": {"zip": ["more"], "a": {"maxProperties": 1}}}, {},
        jsonschema.Draft7Validator,
    ),
    "union": ({"oneOf": [{"type": "integer"}, {"type": "string", "minLength": 1}]}, {},
              jsonschema.Draft202012Validator),
    "all of": ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, {},
               jsonschema.Draft202012Validator),
    "null alone": ({"const": None}, {}, jsonschema.Draft202012Validator),
    "free object": ({"type": "object", "additionalProperties": {"type": "integer"}}, {},
                    jsonschema.Draft202012Validator),
}  # fmt: skip


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_admits_what_it_admitted(name):
    schema, beside, validator = PROPERTIES[name]
    whole = {"type": "object", "properties": {"p": schema}, **beside}
    theirs, ours = validator(whole), jsonschema.Draft202012Validator(adapt(whole))
    answers = [theirs.is_valid({"p": value}) for value in VALUES]
    assert [ours.is_valid({"p": value}) for value in VALUES] == answers
    assert len(set(answers)) == 2, "the values tell nothing"


@pytest.mark.parametrize("name", PROPERTIES)
def test_calls_can_be_drawn_and_no_reference_is_left(name):
    schema, beside, _ = PROPERTIES[name]
    adapted = adapt({"type": "object", "properties": {"p": schema}, "required": ["p"], **beside})
    assert "$ref" not in str(adapted) and "$defs" not in str(adapted)
    tool = ToolSpec("tool", "", adapted)
    rng = np.random.default_rng(3)
    for _ in range(20):
        check_call(sample_call([tool], rng), [tool])


def test_mistyped_arguments_are_refused_where_the_names_are_known():
    tool = ToolSpec("t", "", adapt({"type": "object", "properties": {"path": {"type": "string"}}}))
    with pytest.raises(ActionError, match="did you mean 'path'"):
        check_call(Action("t", {"pth": "x"}), [tool])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"type": "object", "properties": {}, "patternProperties": {"^b": {}}},
        {"type": "object", "properties": {}, "anyOf": [{"required": ["b"]}, {}]},
    ],
)
def test_names_stay_free_where_the_schema_lets_others_in(schema):
    check_call(Action("t", {"b": 1}), [ToolSpec("t", "", adapt(schema))])


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


def test_a_schema_that_contains_itself_is_checked_once_around():
    model = {
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "$defs": Tree.model_json_schema()["$defs"],
    }
    ours = jsonschema.Draft202012Validator(adapt(model))
    assert ours.is_valid({"tree": {"value": 1, "children": [{"value": 2, "children": []}]}})
    assert not ours.is_valid({"tree": {"value": "x"}})
    assert not ours.is_valid({"tree": {"value": 1, "children": 7}})


@pytest.mark.parametrize(
    "schema",
    [
        None, [], "object", {"type": "any"}, {"properties": 7}, {"required": True},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"$ref": "https://schemas.example/tool.json"}, {"$ref": "#/nowhere"}, {"$ref": "#"},
        {"$ref": "#/anyOf/" + "9" * 5_000},
        {"properties": {"a": {"pattern": "(?<name>x)[[:alpha:]"}}},
        {"properties": {"a": {"pattern": 7}}}, {"properties": {"a": {"anyOf": []}}},
    ],
)  # fmt: skip
def test_what_cannot_be_used_accepts_everything(schema):
    tool = ToolSpec("t", "", adapt(schema))
    jsonschema.Draft202012Validator.check_schema(tool.parameters)
    check_call(Action("t", {"a": "x"} if "a" in str(schema) else {}), [tool])


def test_references_that_multiply_are_cut():
    defs = {
        f"D{k}": {
            "type": "object",
            "properties": dict.fromkeys("abcd", {"$ref": f"#/$defs/D{k + 1}"}),
        }
        for k in range(30)
    }
    adapted = adapt({"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": defs})
    assert sum(1 for _ in itertools.islice(_parts(adapted), 9_000)) < 5_000


def test_depth_is_bounded():
    schema = {"type": "string"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    check_call(Action("t", {"a": {"a": {}}}), [ToolSpec("t", "", adapt(schema))])


def _parts(value):
    yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _parts(inner)
