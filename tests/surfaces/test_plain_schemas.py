"""The fast check accepts no call that `jsonschema` refuses, and passes all others on to it."""

import itertools

import pytest
from jsonschema import Draft202012Validator

from agentgym.surfaces.plain_schemas import plain_schema
from agentgym.surfaces.shell import TOOLS

VALUES = [
    *("", "a", "ab", "abc", "😀😀", "1", True, False, 0, 1, 2, 3, -1, 2**70, -(2**70)),
    *(0.0, 1.0, 1.5, 2.0, -0.0, 1e300, None, [], ["a"], {}, {"a": 1}),
]
BOUNDS = [
    *({}, {"minLength": 2}, {"maxLength": 2}, {"minimum": 1}, {"maximum": 1.5}),
    *({"exclusiveMinimum": 1}, {"exclusiveMaximum": 2}, {"minLength": 1, "maxLength": 2}),
    *({"minimum": 0, "exclusiveMaximum": 2}, {"enum": ["a", 1]}, {"const": 1}, {"pattern": "^a"}),
    *({"multipleOf": 2}, {"format": "date"}, {"not": {"const": 1}}, {"default": 5, "title": "t"}),
]
KINDS = ["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"]]
WHOLE = [
    *({}, {"additionalProperties": False}, {"additionalProperties": {"type": "string"}}),
    *({"required": ["x"]}, {"required": ["y"]}, {"maxProperties": 0}, {"minProperties": 3}),
    *({"patternProperties": {"x": {"type": "null"}}}, {"propertyNames": {"maxLength": 0}}),
    *({"dependentRequired": {"x": ["y"]}}, {"not": {}}, {"allOf": [{"required": ["z"]}]}),
    *({"if": {}, "then": False}, {"$ref": "#/$defs/none", "$defs": {"none": False}}),
]
CALLS = [{}, {"x": "a"}, {"x": 1}, {"x": "a", "y": "b"}, {"y": 1}, {"": "a"}, {"properties": 1}]


def is_accepted(schema, arguments):
    plain = plain_schema(schema)
    accepted = plain is not None and plain.allows(arguments)
    if accepted:
        assert Draft202012Validator(schema).is_valid(arguments), (schema, arguments)
    return accepted


def test_a_value_is_accepted_only_if_the_validator_accepts_it():
    accepted = 0
    for kind, bounds, value in itertools.product(KINDS, BOUNDS, VALUES):
        part = {"type": kind, **bounds}
        accepted += is_accepted({"type": "object", "properties": {"x": part}}, {"x": value})
    for part, value in itertools.product(({}, True, False), VALUES):
        assert not is_accepted({"type": "object", "properties": {"x": part}}, {"x": value})
    assert accepted > 100


def test_arguments_as_a_whole_are_accepted_only_if_the_validator_accepts_them():
    own = {"x": {"type": "string"}, "y": {"type": "string"}}
    accepted = [
        is_accepted({"type": "object", "properties": own, **whole}, arguments)
        for whole, arguments in itertools.product(WHOLE, CALLS)
    ]
    assert sum(accepted) > 10
    assert not is_accepted({"type": "string", "properties": own}, {"x": "a"})
    assert not is_accepted({"properties": own}, {"x": "a"})


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("bash", {"command": "ls"}),
        ("bash", {"command": "ls", "timeout_s": 1.5}),
        ("read_file", {"path": "a", "offset": 1, "limit": 5}),
        ("edit_file", {"path": "a", "old": "b", "new": "", "replace_all": True}),
    ],
)
def test_usual_calls_do_not_need_the_validator(name, arguments):
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    assert is_accepted(tool.parameters, arguments)
    assert not is_accepted(tool.parameters, {**arguments, "more": 1})
