"""Converts schemas of foreign tools to the form of `agentgym.surfaces.calls`: whole, draft 2020-12.

It resolves ``$ref``, rewrites older drafts (4 to 2019-09) and replaces unusable parts. An unusable
part accepts everything, because the author of the schema checks the call once more.
A schema is hostile input: its size, its depth and the cost of a check against it are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError

from agentgym.records import Json
from agentgym.records.pattern import is_linear

_MOST_PARTS: Final = 1_000
"""Largest number of subschemas and values, because expanded references can multiply them."""

_MOST_TEXT: Final = 64_000
"""Largest number of characters in all texts of a schema."""

_MOST_LENGTH: Final = 10_000
"""Largest length that a schema may demand: a random draw creates a value of that length."""

_MOST_DEPTH: Final = 40
_ONE: Final = ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
               "items", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_SEVERAL: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
_TOLD: Final = {"title", "description", "default", "examples", "deprecated", "$comment"}
"""Keywords without constraints; beside a reference they win over those of its target."""

_MOST_ITEMS: Final = 100
_MOST_ARRAYS: Final = 6
"""Largest depth of nested arrays, because their lengths multiply."""

_DEMANDS: Final = ("minLength", "minItems", "minProperties", "minContains")
_COSTLY: Final = ("uniqueItems",)
_INDEX: Final = re.compile(r"[0-9]{1,9}")
"""Keywords whose check takes quadratic time."""

_UNUSABLE: Final = object()
_BELONGS_TO_REFERENCES: Final = (
    *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
    *("$defs", "definitions", "$ref", "$dynamicRef", "$recursiveRef"),
)


def adapt(schema: object) -> dict[str, Json]:
    """Return the schema of a tool's arguments as a closed object.

    It refuses names beyond ``properties`` unless the original schema admits them: most tools ignore
    an unknown name, and an agent should learn of a typo. Nested objects stay as they are.

    Example:
        >>> adapt({"properties": {"at": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "string"}}})
        {'properties': {'at': {'type': 'string'}}, 'type': 'object', 'additionalProperties': False}

    Args:
        schema: Schema from the tool's author; an unusable one admits any object.
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
    """Return the schema of a tool's results; None if it is not usable."""
    adapter = _Adapter(schema)
    try:
        adapted = adapter.part(schema, (), 0) if isinstance(schema, Mapping) else {}
        adapted = adapted if isinstance(adapted, dict) and not adapter.exhausted else {}
        Draft202012Validator.check_schema({"type": "object", **adapted})
    except (SchemaError, RecursionError):
        return None
    return adapted


class _Adapter:
    """Rewrites one schema into the present draft.

    Attributes:
        exhausted: Whether the schema exceeded a bound.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._parts = self._text = 0
        self._demanded, self._arrays = 1, 0
        self.exhausted = False

    def part(self, schema: object, within: tuple[str, ...], depth: int) -> Any:
        """Return a subschema, rewritten.

        Args:
            schema: The subschema.
            within: References on the path to it, with which a cycle is cut.
            depth: Depth of the subschema.
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
        """Return the rewritten value of a keyword, `_UNUSABLE` if the value cannot be used."""
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
        """Return whether a value of at least this length can still be drawn."""
        if key != "minItems":
            return isinstance(demand, int) and demand <= _MOST_LENGTH
        if not isinstance(demand, int) or demand * self._demanded > _MOST_ITEMS:
            return False
        self._demanded *= max(1, demand)
        return True

    def _copied(self, value: Any, depth: int) -> Any:
        """Return a value that is not a schema, such as a default; None if it is too large."""
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
        """Return the rewritten target of a ``$ref``; an unknown target accepts everything."""
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
            if isinstance(found, list) and _INDEX.fullmatch(step) and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                return True
        return found


def _from_older_drafts(schema: dict[str, Any]) -> None:
    """Rewrite keywords of drafts 4 to 2019-09 as keywords of 2020-12."""
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
    """Return a schema that demands both; a flat one if no shared keyword differs."""
    if referred in (True, {}):
        return own
    if not own:
        return referred
    shared = isinstance(referred, dict) and set(referred) & set(own)
    if referred is False or {key for key in shared or () if referred[key] != own[key]} - _TOLD:
        return {"allOf": [referred, own]}
    return {**referred, **own}
