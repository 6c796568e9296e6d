"""Reads records from plain values (JSON, rows of SQLite) by their type annotations, strictly.

Pydantic builds a validator from a dataclass. Its default mode would accept ``"1"`` as a number and
1 as true. Here every value must have the type of its field, numbers must be finite, and reading
ends at the first mistake, so a hostile record costs no more than a sound one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, SchemaValidator, core_schema

NUMBER: Final = float
"""Type of a measurement; an integer is accepted, and returned as a float."""

_LARGEST: Final = 2**63
"""Larger numbers are not measurements, and their sums would overflow."""

_SHOWN: Final = 60

T = TypeVar("T")


def read(kind: type[T], value: object, where: str) -> T:
    """Return the record that a plain value describes; a field may be absent if it has a default.

    Args:
        kind: A dataclass, or any other type that pydantic can read.
        value: The plain value.
        where: Name of the value in messages.

    Raises:
        ValueError: The value has another form; the message names the field.

    Example:
        >>> from agentgym.records import TokenUsage
        >>> read(TokenUsage, {"prompt": 3, "completion": 1}, "usage")
        TokenUsage(prompt=3, completion=1, cached=0)
    """
    found: T = expect(value, where, kind)
    return found


def expect(value: object, where: str, kind: Any) -> Any:
    """Return a value if it has the type of its field; see `read`.

    Args:
        value: The plain value.
        where: Name of the value in the message.
        kind: A type or a union of types, `NUMBER` for one.

    Raises:
        ValueError: The value has another type.
    """
    try:
        return _validator(kind).validate_python(value)
    except ValidationError as error:
        # Copying the input into the list of errors would double a hostile record.
        first = error.errors(include_url=False)[0]
        field = ".".join([where, *(part for part in first["loc"] if isinstance(part, str))])
    raise ValueError(_complaint(field, first))


@functools.cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_strict(TypeAdapter(kind).core_schema))


def _strict(schema: Any) -> Any:
    """Return a pydantic schema that accepts only values of exactly the given types."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_strict, schema))
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind == "str":
        # Pydantic's own text reader refuses lone surrogates, which the output of commands may hold.
        return core_schema.is_instance_schema(str)
    if kind == "bool":
        return core_schema.bool_schema(strict=True)
    if kind == "int":
        return core_schema.int_schema(strict=True, gt=-_LARGEST, lt=_LARGEST)
    if kind == "float":
        return core_schema.float_schema(
            strict=True, allow_inf_nan=False, gt=-float(_LARGEST), lt=float(_LARGEST)
        )
    found = {key: value if key in _OPAQUE else _strict(value) for key, value in schema.items()}
    if kind in ("tuple", "list"):
        found["fail_fast"] = True
    if kind == "dataclass-args":
        # A misnamed field would otherwise silently get its default.
        found["extra_behavior"] = "forbid"
    if kind == "dataclass":
        return core_schema.no_info_before_validator_function(_bounded(found), found)
    return found


def _bounded(schema: Any) -> Callable[[object], object]:
    """Return a function that refuses an object with more fields than a dataclass has.

    Pydantic keeps every unknown field, and a million of them take a gigabyte.
    """
    arguments = schema["schema"]
    while arguments["type"] != "dataclass-args":
        arguments = arguments["schema"]
    known = frozenset(field["name"] for field in arguments["fields"])

    def check(value: object) -> object:
        if isinstance(value, dict) and len(value) > len(known):
            name = next(str(key) for key in value if key not in known)
            raise PydanticCustomError("unknown_field", "{name}", {"name": repr(name[:_SHOWN])})
        return value

    return check


_OPAQUE: Final = frozenset({"metadata", "cls", "members", "default", "default_factory", "config"})
"""Parts of a schema that are Python values, not schemas."""

_WORDS: Final = {
    "missing": "absent",
    "is_instance_of": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "dataclass_type": "an object",
    "dict_type": "an object",
    "mapping_type": "an object",
    "tuple_type": "an array",
    "list_type": "an array",
    "none_required": "null",
    "greater_than": f"a number between -{_LARGEST:.0e} and {_LARGEST:.0e}",
    "less_than": f"a number between -{_LARGEST:.0e} and {_LARGEST:.0e}",
}


def _complaint(field: str, error: Any) -> str:
    kind = error["type"]
    if kind == "missing":
        return f"{field}: absent"
    if kind == "unexpected_keyword_argument":
        return f"{field[:_SHOWN]}: no field of this record"
    if kind == "unknown_field":
        return f"{field}: expected the fields of this record, and no {error['msg']}"
    if kind in ("enum", "literal_error"):
        wanted = "one of " + str(error["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
    else:
        wanted = _WORDS.get(kind, error["msg"])
    return f"{field}: expected {wanted}, got {_excerpt(error['input'])}"


def _excerpt(value: object) -> str:
    try:
        seen = json.dumps(value, default=ascii)
    except (ValueError, RecursionError):
        seen = type(value).__name__
    return seen[:_SHOWN] + "…" * (len(seen) > _SHOWN)
