"""Schemas of other people's tools as `agentgym.surfaces.calls` wants them: whole, of draft 2020-12.

Owns what becomes of ``$ref``, of older drafts (4 to 2019-09) and of what cannot be used here. A
part that cannot be used accepts everything: who wrote the schema checks the call once more.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError

from agentgym.records import Json

_MOST_PARTS: Final = 2_000
"""References are written out, which can make much of little."""

_MOST_DEPTH: Final = 40
_ONE: Final = ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
               "items", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_SEVERAL: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
_TOLD: Final = {"title", "description", "default", "examples", "deprecated", "$comment"}
"""Keywords that constrain nothing: those beside a reference win over those behind it."""

_UNUSABLE: Final = object()
_BELONGS_TO_REFERENCES: Final = (
    *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
    *("$defs", "definitions", "$ref", "$dynamicRef", "$recursiveRef"),
)


def adapt(schema: object) -> dict[str, Json]:
    """Return the schema of a tool's arguments as an object that says which names it knows.

    Names beyond ``properties`` are refused unless the schema lets them in: tools that get one
    mostly ignore it, and an agent should learn that it mistyped. Nested objects stay as they are.

    Example:
        >>> adapt({"properties": {"at": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "string"}}})
        {'properties': {'at': {'type': 'string'}}, 'type': 'object', 'additionalProperties': False}

    Args:
        schema: As the tool's author wrote it; what is no usable schema admits any object.
    """
    adapted: Any = _Adapter(schema).part(schema, (), 0) if isinstance(schema, Mapping) else {}
    adapted = adapted if isinstance(adapted, dict) else {}
    adapted["type"] = "object"
    try:
        Draft202012Validator.check_schema(adapted)
    except (SchemaError, RecursionError):
        return {"type": "object", "additionalProperties": True}
    if "additionalProperties" not in adapted:
        named_elsewhere = {"patternProperties", *_SEVERAL[:3], "if", "unevaluatedProperties"}
        adapted["additionalProperties"] = (
            "properties" not in adapted or not named_elsewhere.isdisjoint(adapted)
        )
    return cast("dict[str, Json]", adapted)


class _Adapter:
    """One schema on its way into the present draft."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._parts = 0

    def part(self, schema: object, within: tuple[str, ...], depth: int) -> Any:
        """Return a subschema rewritten.

        Args:
            schema: The subschema.
            within: References that led here, so that one which leads back to itself is cut.
            depth: How deep it stands.
        """
        self._parts += 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping) or self._parts > _MOST_PARTS or depth > _MOST_DEPTH:
            return {}
        referred = self._referred(schema, within, depth)
        own = {key: v for key, v in schema.items() if key not in _BELONGS_TO_REFERENCES}
        _from_older_drafts(own)

        def inner(value: object) -> Any:
            return self.part(value, within, depth + 1)

        written = {key: _rewritten(key, value, inner) for key, value in own.items()}
        written = {key: value for key, value in written.items() if value is not _UNUSABLE}
        return _both(referred, written)

    def _referred(self, schema: Mapping[str, Any], within: tuple[str, ...], depth: int) -> Any:
        """Return what a ``$ref`` refers to, rewritten; everything where that cannot be known."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or reference in within:
            return {}
        return self.part(self._find(reference), (*within, reference), depth + 1)

    def _find(self, reference: str) -> object:
        if not reference.startswith("#"):
            return True
        found: Any = self._root
        for step in filter(None, unquote(reference[1:]).split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                return True
        return found


def _rewritten(key: str, value: Any, inner: Callable[[object], Any]) -> Any:
    """Return the value of a keyword, `_UNUSABLE` where it has none that can be used."""
    if key in _ONE:
        return inner(value)
    if key in _SEVERAL:
        return [inner(one) for one in value] if isinstance(value, list) and value else _UNUSABLE
    if key in _NAMED:
        if not isinstance(value, Mapping):
            return _UNUSABLE
        usable = {n for n in value if key != "patternProperties" or _is_pattern(n)}
        return {name: inner(one) for name, one in value.items() if name in usable}
    if key == "pattern" and not _is_pattern(value):
        return _UNUSABLE
    return copy.deepcopy(value)


def _is_pattern(value: object) -> bool:
    """Whether Python can use a regular expression that was written for JavaScript."""
    try:
        re.compile(cast("str", value))
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return True


def _from_older_drafts(schema: dict[str, Any]) -> None:
    """Write keywords of drafts 4 to 2019-09 as 2020-12 has them."""
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        schema["items"] = schema.pop("additionalItems", True)
    schema.pop("additionalItems", None)
    for limit in ("minimum", "maximum"):
        exclusive = f"exclusive{limit.capitalize()}"
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and limit in schema:
            schema[exclusive] = schema.pop(limit)
    for name, needed in dict(schema.pop("dependencies", None) or {}).items():
        key = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
        schema.setdefault(key, {})[name] = needed
    if schema.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if isinstance(schema.get("required"), bool):
        del schema["required"]


def _both(referred: Any, own: dict[str, Any]) -> Any:
    """Return a schema that asks for both; flat where no keyword stands in both."""
    if referred in (True, {}):
        return own
    if not own:
        return referred
    shared = isinstance(referred, dict) and set(referred) & set(own)
    if referred is False or {key for key in shared or () if referred[key] != own[key]} - _TOLD:
        return {"allOf": [referred, own]}
    return {**referred, **own}
