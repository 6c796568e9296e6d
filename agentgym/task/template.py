"""Slots: their possible values, drawing from the seed, and filling ``{{slot}}``.

A draw is the SHA-256 of (seed, slot name) modulo the number of values, so it depends neither on
the order of the slots in the file nor on any random number generator.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, PlainValidator, model_validator

from agentgym.errors import TaskError, close_matches
from agentgym.manifest import Manifest
from agentgym.records import Json

_SLOT = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)[ \t]*\}\}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DRAW = "agentgym.draw/1"
"""Part of every draw: a change of the method changes this name, so that values do not repeat."""


def _scalar(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float):
        raise ValueError("expected text, a number, true or false in a choice, or a table of such")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    if isinstance(value, str) and "\0" in value:
        raise ValueError("expected text without NUL: it has to fit into an environment variable")
    return value


def _value_of_choice(value: object) -> object:
    if not isinstance(value, dict):
        return _scalar(value)
    for field, inner in value.items():
        if not _FIELD.fullmatch(str(field)):
            raise ValueError(f"expected names of letters, digits and _ in a table, got {field!r}")
        _scalar(inner)
    if not value:
        raise ValueError("expected a table with at least one value")
    return value


Scalar: TypeAlias = str | int | float | bool
Drawn: TypeAlias = Annotated[Scalar | Mapping[str, Scalar], PlainValidator(_value_of_choice)]
"""The value of a slot: a plain value, or a table of values that belong together."""

Bound: TypeAlias = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""Integers that every JSON reader keeps exact."""


class Slot(Manifest):
    """One value drawn from the seed: ``{choice = [...]}`` or ``{range = [first, last]}``.

    If the choices are tables, ``{{slot.name}}`` is a value of the drawn table.
    """

    choice: tuple[Drawn, ...] | None = None
    range: tuple[Bound, ...] | None = None

    @model_validator(mode="after")
    def _is_drawable(self) -> Slot:
        if (self.choice is None) == (self.range is None):
            raise ValueError("expected either choice = [...] or range = [first, last]")
        if self.range is not None and not (len(self.range) == 2 and self.range[0] <= self.range[1]):
            raise ValueError(f"expected range = [first, last], got {list(self.range)}")
        if self.choice == ():
            raise ValueError("expected at least one choice, got none")
        if len({json.dumps(value) for value in self.choice or ()}) < len(self.choice or ()):
            raise ValueError("expected distinct choices, got one of them twice")
        if len({_names(value) for value in self.choice or ()}) > 1:
            raise ValueError("expected choices of one form: all plain, or tables of equal names")
        return self

    @property
    def values(self) -> Sequence[Scalar | Mapping[str, Scalar]]:
        """All values that can be drawn."""
        if self.choice is not None:
            return self.choice
        assert self.range is not None
        return range(self.range[0], self.range[1] + 1)


def _names(value: object) -> tuple[str, ...] | None:
    return tuple(sorted(value)) if isinstance(value, Mapping) else None


def draw(slots: Mapping[str, Slot], seed: int) -> dict[str, Json]:
    """Draw every slot from an episode's seed."""
    return {name: slot.values[_draw(seed, name) % len(slot.values)] for name, slot in slots.items()}


def _draw(seed: int, name: str) -> int:
    digest = hashlib.sha256(f"{_DRAW}\0{seed}\0{name}".encode()).digest()
    return int.from_bytes(digest, "big")


def cardinality(slots: Mapping[str, Slot]) -> int:
    """Return how many different instances a template has; 1 without slots."""
    return math.prod(len(slot.values) for slot in slots.values())


def fill(text: str, params: Mapping[str, Json], where: Path | str) -> str:
    """Replace each ``{{slot}}`` of a text. Slots in the inserted values are not replaced.

    Args:
        text: The template.
        params: Values of the slots.
        where: The file the text comes from, for messages.

    Raises:
        TaskError: A slot has no value; names file and line.
    """

    def replace(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start()) + 1
        return _filled(match, params, f"{where}:{line}")

    return _SLOT.sub(replace, text)


def fill_json(value: Json, params: Mapping[str, Json], where: str) -> Json:
    """Fill the slots in every text of a JSON value, object keys included.

    A text that consists of one slot becomes the slot's value with its type:
    ``"{{count}}"`` becomes ``20``.

    Args:
        value: The template.
        params: Values of the slots.
        where: Prefix of error messages, such as ``file:line``.

    Raises:
        TaskError: A slot has no value, or filling makes two keys of an object equal.
    """
    if isinstance(value, str):
        whole = _SLOT.fullmatch(value)
        if whole and _is_slot(whole[1], params):
            return _value(whole[1], params, where)
        return _SLOT.sub(lambda match: _filled(match, params, where), value)
    if isinstance(value, Mapping):
        filled = {
            _SLOT.sub(lambda match: _filled(match, params, where), key): fill_json(
                inner, params, where
            )
            for key, inner in value.items()
        }
        if len(filled) < len(value):
            raise TaskError(f"{where}: two keys of {sorted(value)} are equal once filled")
        return filled
    if isinstance(value, Sequence):
        return [fill_json(inner, params, where) for inner in value]
    return value


def environment(params: Mapping[str, Json]) -> dict[str, str]:
    """Return the parameters as environment variables for setups and solutions."""
    variables = {f"PARAM_{name.upper()}": _text(value) for name, value in params.items()}
    return variables | {"AGENTGYM_PARAMS": canonical(params)}


def canonical(value: Json) -> str:
    """Return the canonical JSON text of a value: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _filled(match: re.Match[str], params: Mapping[str, Json], where: str) -> str:
    name = match[1]
    return _text(_value(name, params, where)) if _is_slot(name, params) else match[0]


def _is_slot(name: str, params: Mapping[str, Json]) -> bool:
    """Return whether a name is to be filled: ``{{a.b}}`` is foreign text unless a is a table."""
    table, dot, _ = name.partition(".")
    return not dot or isinstance(params.get(table), Mapping)


def _value(name: str, params: Mapping[str, Json], where: str) -> Json:
    known = dict(params)
    for slot, value in params.items():
        if isinstance(value, Mapping):
            known |= {f"{slot}.{field}": inner for field, inner in value.items()}
    if name not in known:
        matches = close_matches(name, known, limit=1)
        hint = (
            f"did you mean {{{{{matches[0]}}}}}?"
            if matches
            else f"known: {', '.join(known) or 'none'}"
        )
        raise TaskError(f"{where}: unknown slot {{{{{name}}}}}; {hint}")
    return known[name]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
