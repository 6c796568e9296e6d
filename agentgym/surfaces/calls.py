"""Legal tool calls: checks a call against the tools' JSON Schemas, and draws one at random.

`jsonschema` reads the schemas as JSON Schema 2020-12. Drawing is rejection sampling: a draw is
built from the common keywords and returned only if the check accepts it.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, cast

import numpy as np
from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.exceptions import best_match
from rstr import Rstr

from agentgym.errors import ActionError, SurfaceError, close_matches
from agentgym.records import Action, Json, ToolSpec
from agentgym.surfaces.plain_schemas import PlainSchema, plain_schema

MAX_BYTES: Final = 2**20


def check_call(action: Action, tools: Sequence[ToolSpec]) -> None:
    """Accept a legal call of one of the tools, and explain the fault of any other call.

    Args:
        action: The call as the agent made it.
        tools: Tools that the environment offers.

    Raises:
        ActionError: No such tool, arguments that are not JSON or exceed 1 MiB, text that
            cannot be encoded (NUL, lone surrogate), or a schema violation; names the field.
        SurfaceError: The tool's own schema is broken.
    """
    tool = next((tool for tool in tools if tool.name == action.tool), None)
    if tool is None:
        raise ActionError(_unknown("tool", action.tool, [tool.name for tool in tools]))
    arguments = _plain(tool.name, action.arguments)
    schema = _compiled(tool)
    if schema.plain is not None and schema.plain.allows(arguments):
        return
    violation = best_match(schema.validator.iter_errors(arguments))
    if violation is not None:
        raise ActionError(f"tool {tool.name!r}: {_explain(violation)}")


def sample_call(tools: Sequence[ToolSpec], rng: np.random.Generator) -> Action:
    """Draw a legal call; the same generator state gives the same call.

    Strings mix printable ASCII, whitespace and characters of every Unicode plane. A string that
    has a pattern is generated from the pattern.

    Example:
        >>> tool = ToolSpec("wait", "", {"type": "object", "properties": {}})
        >>> sample_call([tool], np.random.default_rng(0))
        Action(tool='wait', arguments={})

    Raises:
        SurfaceError: No draw met the schema of a tool.
    """
    tool = tools[int(rng.integers(len(tools)))]
    refusal: ActionError | None = None
    for _ in range(_DRAWS):
        action = Action(tool.name, draw_value({"type": "object", **tool.parameters}, rng))
        try:
            check_call(action, tools)
        except ActionError as error:
            refusal = error
        else:
            return action
    raise SurfaceError(
        f"tool {tool.name!r}: no legal call in {_DRAWS} draws from its schema; "
        f"the last was refused: {refusal}"
    )


# --- checking ------------------------------------------------------------------------------

_CACHED: Final = 512
_schemas: dict[int, _Schema] = {}


@dataclass(frozen=True, slots=True)
class _Schema:
    tool: ToolSpec
    validator: Draft202012Validator
    plain: PlainSchema | None


def _compiled(tool: ToolSpec) -> _Schema:
    """Compile a tool's schema once. The entry holds the tool, so its id is not reused."""
    entry = _schemas.get(id(tool))
    if entry is None:
        try:
            Draft202012Validator.check_schema(tool.parameters)
        except SchemaError as error:
            raise SurfaceError(
                f"tool {tool.name!r}: its parameters are not a JSON Schema: {error.message}"
            ) from error
        if len(_schemas) >= _CACHED:
            _schemas.clear()
        schema = tool.parameters
        entry = _Schema(tool, Draft202012Validator(schema), plain_schema(schema))
        _schemas[id(tool)] = entry
    return entry


def _plain(tool: str, arguments: Mapping[str, Json]) -> Any:
    """Return the arguments as dicts and lists, the only containers that `jsonschema` knows."""
    try:
        text, problem = _encode(arguments)
    except RecursionError:
        text, problem = "", "the arguments are nested too deeply"
    if problem is not None:
        raise ActionError(f"tool {tool!r}: {problem}")
    return json.loads(text)


def _encode(arguments: Mapping[str, Json]) -> tuple[str, str | None]:
    """Return the arguments as JSON text and, if they cannot be encoded, the reason."""
    try:
        text = _ENCODER.encode(arguments)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        return "", _bad_value("arguments", arguments) or str(error)
    if size > MAX_BYTES:
        return "", f"the arguments are {size} bytes of JSON; expected at most {MAX_BYTES}"
    # A text may contain the escape literally, so the check of the values decides.
    return text, _bad_value("arguments", arguments) if "\\u0000" in text else None


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_as_dict)


def _bad_value(where: str, value: object) -> str | None:
    """Name the part of the arguments that is not JSON or cannot be encoded, if any."""
    if isinstance(value, str):
        if "\0" in value:
            return f"{where}: NUL characters are not allowed, got {_short(value)}"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return f"{where}: lone surrogates cannot be encoded, got {_short(value)}"
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where}: expected a finite number, got {value}"
    if value is None or isinstance(value, (bool, int, float)):
        return None
    if isinstance(value, Mapping):
        keys = (_bad_key(where, key) for key in value)
        items = (_bad_value(f"{where}.{str(key)[:40]}", item) for key, item in value.items())
        return next(filter(None, (*keys, *items)), None)
    if isinstance(value, (list, tuple)):
        parts = (_bad_value(f"{where}[{index}]", item) for index, item in enumerate(value))
        return next(filter(None, parts), None)
    return f"{where}: expected a JSON value, got {_short(value)} ({type(value).__name__})"


def _bad_key(where: str, key: object) -> str | None:
    if isinstance(key, str):
        return _bad_value(f"{where}: a key", key)
    return f"{where}: expected text as a key, got {_short(key)}"


def _explain(violation: ValidationError) -> str:
    """Turn a schema violation into the field, the expectation and the value seen."""
    field = "arguments" + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part[:40]}"
        for part in violation.absolute_path
    )
    seen: Any = violation.instance
    keyword, limit = violation.validator, cast("Any", violation.validator_value)
    known = list(_mapping(violation.schema).get("properties", ()))
    if keyword == "required":
        missing = [name for name in limit if name not in seen]
        return f"{field}: missing {missing[0]!r}; expected {', '.join(limit)}, got {_short(seen)}"
    if keyword == "additionalProperties" and limit is False:
        extra = next(name for name in seen if name not in known)
        return f"{field}: {_unknown('argument', extra, known)}"
    if keyword == "type":
        wanted = limit if isinstance(limit, str) else " or ".join(limit)
        return f"{field}: expected {wanted}, got {_short(seen)} ({_kind(seen)})"
    if keyword == "enum":
        return f"{field}: expected one of {_short(limit)}, got {_short(seen)}"
    return f"{field}: expected {keyword} {_short(limit)}, got {_short(seen)}"


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    matches = close_matches(name, known)
    guess = f"; did you mean {matches[0]!r}?" if matches else ";"
    return f"no {kind} named {_short(name)}{guess} expected one of: {', '.join(known) or 'none'}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _kind(value: object) -> str:
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}
    return kinds.get(type(value), "null" if value is None else "array")


_shortener = reprlib.Repr()
_shortener.maxstring = _shortener.maxother = 80


def _short(value: object) -> str:
    text = _shortener.repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


# --- drawing -------------------------------------------------------------------------------

_DRAWS: Final = 64
_ANY: Final = ("null", "boolean", "integer", "number", "string")
_SPACES: Final = " \t\n\r\v\f\u0085\u00a0\u2003\u2028\u3000"
_SURROGATES: Final = 0xE000 - 0xD800
_SPAN: Final = 10**6
_MORE_REPEATS: Final = 8


class _FewRepeats(Random):
    """Draws how often a part of a pattern is repeated, close to the least.

    Repeats within repeats, as in addresses, would give texts of thousands of characters.
    """

    def randint(self, a: int, b: int) -> int:
        """Return a number from `a` to `b`, at most `_MORE_REPEATS` above `a`."""
        return super().randint(a, min(b, a + _MORE_REPEATS))


def draw_value(schema: Any, rng: np.random.Generator) -> Any:
    """Draw a JSON value that the schema is likely to accept."""
    if isinstance(schema, bool):
        return None
    if "const" in schema:
        return schema["const"]
    for choice in ("enum", "anyOf", "oneOf"):
        if options := schema.get(choice):
            picked = options[int(rng.integers(len(options)))]
            rest = {key: value for key, value in schema.items() if key != choice}
            return picked if choice == "enum" else draw_value({**rest, **_mapping(picked)}, rng)
    kinds = schema.get("type", _ANY)
    kind = kinds if isinstance(kinds, str) else kinds[int(rng.integers(len(kinds)))]
    return _KINDS[kind](schema, rng)


def _draw_object(schema: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: draw_value(inner, rng)
        for name, inner in schema.get("properties", {}).items()
        if name in required or rng.random() < 0.5
    }


def _draw_array(schema: Mapping[str, Any], rng: np.random.Generator) -> list[Any]:
    low = schema.get("minItems", 0)
    high = min(schema.get("maxItems", low + 3), low + 3)
    return [draw_value(schema.get("items", {}), rng) for _ in range(_between(low, high, rng))]


def _draw_string(schema: Mapping[str, Any], rng: np.random.Generator) -> str:
    if "pattern" in schema:
        # No draw can meet a pattern that Python cannot read.
        with contextlib.suppress(re.error):
            return str(Rstr(_FewRepeats(int(rng.integers(2**32)))).xeger(schema["pattern"]))
    low = schema.get("minLength", 0)
    high = min(schema.get("maxLength", low + 24), low + 24)
    characters = []
    for luck in rng.random(_between(low, high, rng)):
        if luck < 0.7:
            characters.append(chr(int(rng.integers(0x20, 0x7F))))
        elif luck < 0.8:
            characters.append(_SPACES[int(rng.integers(len(_SPACES)))])
        else:
            point = int(rng.integers(1, 0x110000 - _SURROGATES))
            characters.append(chr(point + _SURROGATES if point >= 0xD800 else point))
    return "".join(characters)


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    low = max(lows, default=min([0, *highs]) - 1000)
    return low, min(min(highs, default=low + 2000), low + _SPAN)


def _draw_integer(schema: Mapping[str, Any], rng: np.random.Generator) -> int:
    low, high = _bounds(schema)
    return _between(math.ceil(low), math.floor(high), rng)


def _draw_number(schema: Mapping[str, Any], rng: np.random.Generator) -> float:
    low, high = _bounds(schema)
    return float(rng.uniform(low, high))


def _between(low: int, high: int, rng: np.random.Generator) -> int:
    return low + int(rng.integers(max(high - low, 0) + 1))


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any], np.random.Generator], Any]]] = {
    "object": _draw_object,
    "array": _draw_array,
    "string": _draw_string,
    "integer": _draw_integer,
    "number": _draw_number,
    "boolean": lambda schema, rng: bool(rng.random() < 0.5),
    "null": lambda schema, rng: None,
}
