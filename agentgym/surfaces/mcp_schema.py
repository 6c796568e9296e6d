"""Schemas of other people's tools as `agentgym.surfaces.calls` wants them: whole, of draft 2020-12.

Owns what becomes of ``$ref``, of older drafts (4 to 2019-09) and of what cannot be used here. A
part that cannot be used accepts everything: who wrote the schema checks the call once more.
A schema is hostile input: its size, its depth and what checking against it costs are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError

from agentgym.records import Json
from agentgym.records.pattern import is_linear

_MOST_PARTS: Final = 1_000
"""Subschemas and values in all. References are written out, which can make much of little."""

_MOST_TEXT: Final = 64_000
"""Characters in all of a schema's texts."""

_MOST_LENGTH: Final = 10_000
"""Of what a schema may demand: drawing a call at random makes as much."""

_MOST_DEPTH: Final = 40
_ONE: Final = ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
               "items", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_SEVERAL: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
_TOLD: Final = {"title", "description", "default", "examples", "deprecated", "$comment"}
"""Keywords that constrain nothing: those beside a reference win over those behind it."""

_MOST_ITEMS: Final = 100
_MOST_ARRAYS: Final = 6
"""Of arrays in arrays, whose lengths multiply."""

_DEMANDS: Final = ("minLength", "minItems", "minProperties", "minContains")
_COSTLY: Final = ("uniqueItems",)
"""Keywords that take quadratic time."""

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
    adapted = adapt_result(schema)
    if adapted is None:
        return {"type": "object", "additionalProperties": True}
    adapted["type"] = "object"
    if "additionalProperties" not in adapted:
        named_elsewhere = {"patternProperties", *_SEVERAL[:3], "if", "unevaluatedProperties"}
        adapted["additionalProperties"] = (
            "properties" not in adapted or not named_elsewhere.isdisjoint(adapted)
        )
    return adapted


def adapt_result(schema: object) -> dict[str, Json] | None:
    """Return the schema of a tool's results; None if it is no usable schema."""
    adapter = _Adapter(schema)
    try:
        adapted = adapter.part(schema, (), 0) if isinstance(schema, Mapping) else {}
        adapted = adapted if isinstance(adapted, dict) and not adapter.exhausted else {}
        Draft202012Validator.check_schema({"type": "object", **adapted})
    except (SchemaError, RecursionError):
        return None
    return adapted


class _Adapter:
    """One schema on its way into the present draft.

    Attributes:
        exhausted: Whether there was too much of it.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._parts = self._text = 0
        self._demanded, self._arrays = 1, 0
        self.exhausted = False

    def part(self, schema: object, within: tuple[str, ...], depth: int) -> Any:
        """Return a subschema rewritten.

        Args:
            schema: The subschema.
            within: References that led here, so that one which leads back to itself is cut.
            depth: How deep it stands.
        """
        if not self._spend(parts=1) or depth > _MOST_DEPTH:
            return {}
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            return {}
        referred = self._referred(schema, within, depth)
        own = {key: v for key, v in schema.items() if key not in _BELONGS_TO_REFERENCES}
        _from_older_drafts(own)

        def inner(value: object) -> Any:
            return self.part(value, within, depth + 1)

        written = {key: self._rewritten(key, value, inner) for key, value in own.items()}
        written = {key: value for key, value in written.items() if value is not _UNUSABLE}
        return _both(referred, written)

    def _spend(self, parts: int = 0, text: int = 0) -> bool:
        self._parts += parts
        self._text += text
        self.exhausted |= self._parts > _MOST_PARTS or self._text > _MOST_TEXT
        return not self.exhausted

    def _rewritten(self, key: str, value: Any, inner: Callable[[object], Any]) -> Any:
        """Return the value of a keyword, `_UNUSABLE` where it has none that can be used."""
        if not self._spend(text=len(key)) or key in _COSTLY:
            return _UNUSABLE
        if key == "items":
            self._arrays += 1
            try:
                return inner(value) if self._arrays <= _MOST_ARRAYS else _UNUSABLE
            finally:
                self._arrays -= 1
        if key in _ONE:
            return inner(value)
        if key in _SEVERAL:
            return [inner(one) for one in value] if isinstance(value, list) and value else _UNUSABLE
        if key in _NAMED:
            if not isinstance(value, Mapping):
                return _UNUSABLE
            usable = [n for n in value if key != "patternProperties" or is_linear(n)]
            return {n: inner(value[n]) for n in usable if self._spend(text=len(n))}
        if key == "pattern" and not is_linear(value):
            return _UNUSABLE
        if key in _DEMANDS and not self._affords(key, value):
            return _UNUSABLE
        return self._copied(value, 0)

    def _affords(self, key: str, demand: object) -> bool:
        """Whether a value of at least that length can still be drawn."""
        if key != "minItems":
            return isinstance(demand, int) and demand <= _MOST_LENGTH
        if not isinstance(demand, int) or demand * self._demanded > _MOST_ITEMS:
            return False
        self._demanded *= max(1, demand)
        return True

    def _copied(self, value: Any, depth: int) -> Any:
        """Return a value that is no schema, such as a default; None in place of too much."""
        text = len(value) if isinstance(value, str) else 0
        if not self._spend(parts=1, text=text) or depth > _MOST_DEPTH:
            return None
        if isinstance(value, Mapping):
            return {
                str(name): self._copied(one, depth + 1)
                for name, one in value.items()
                if self._spend(text=len(name))
            }
        if isinstance(value, list):
            return [self._copied(one, depth + 1) for one in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

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
