"""Slots: their possible values, drawing from the seed, and filling ``{{slot}}``.

A draw is the SHA-256 of (seed, slot name) modulo the number of values, so it depends neither on
the order of the slots in the file nor on any random number generator.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import Field, PlainValidator, model_validator

from agentgym.errors import TaskError, close_matches
from agentgym.manifest import Manifest
from agentgym.records import Json

_SLOT = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)[ \t]*\}\}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DRAW = "agentgym.draw/1"
"""Part of every draw: a change of the method changes this name, so that values do not repeat."""

_MOST_CHOICE: Final = 1_024
"""Largest number of characters of a value: 5 characters of a template stand for it."""

_MOST_FILLED: Final = 8 << 20
"""Largest number of characters of the texts of one file with their slots filled."""


def _scalar(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float):
        raise ValueError("expected text, a number, true or false in a choice, or a table of such")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    if isinstance(value, str) and len(value) > _MOST_CHOICE:
        raise ValueError(f"expected at most {_MOST_CHOICE:,} characters, got {len(value):,}")
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


class Filling:
    """Replaces ``{{slot}}`` in the texts of a file. Slots in the inserted values are not replaced.

    Args:
        params: Values of the slots.
    """

    def __init__(self, params: Mapping[str, Json]) -> None:
        self._tables = {name for name, value in params.items() if isinstance(value, Mapping)}
        self._known = dict(params)
        for slot in self._tables:
            table = params[slot]
            assert isinstance(table, Mapping)
            self._known |= {f"{slot}.{field}": inner for field, inner in table.items()}
        self._left = _MOST_FILLED

    def text(self, text: str, where: Callable[[int], str]) -> str:
        """Fill a text.

        Args:
            text: The template.
            where: Returns the place of a character for messages, by its index.

        Raises:
            TaskError: A slot has no value, or the texts become too long.
        """
        pieces, end = [], 0
        for match in _SLOT.finditer(text):
            if not self._is_slot(match[1]):
                continue
            value = _text(self._value(match[1], partial(where, match.start())))
            self._left -= len(value)
            if self._left < 0:
                raise TaskError(
                    f"{where(match.start())}: the values of the slots have more than "
                    f"{_MOST_FILLED:,} characters"
                )
            pieces += [text[end : match.start()], value]
            end = match.end()
        return "".join([*pieces, text[end:]])

    def json(self, value: Json, where: str) -> Json:
        """Fill every text of a JSON value, object keys included.

        Raises:
            TaskError: As `text`, or filling makes two keys of an object equal.
        """
        if isinstance(value, str):
            whole = _SLOT.fullmatch(value)
            if whole and self._is_slot(whole[1]):
                return self._value(whole[1], lambda: where)
            return self.text(value, lambda at: where)
        if isinstance(value, Mapping):
            filled = {
                self.text(key, lambda at: where): self.json(inner, where)
                for key, inner in value.items()
            }
            if len(filled) < len(value):
                raise TaskError(f"{where}: two keys of {sorted(value)} are equal once filled")
            return filled
        if isinstance(value, Sequence):
            return [self.json(inner, where) for inner in value]
        return value

    def _is_slot(self, name: str) -> bool:
        """Return whether a name is to be filled; ``{{a.b}}`` is only if ``a`` is a table."""
        table, dot, _ = name.partition(".")
        return not dot or table in self._tables

    def _value(self, name: str, where: Callable[[], str]) -> Json:
        if name not in self._known:
            matches = close_matches(name, self._known, limit=1)
            hint = (
                f"did you mean {{{{{matches[0]}}}}}?"
                if matches
                else f"known: {', '.join(self._known) or 'none'}"
            )
            raise TaskError(f"{where()}: unknown slot {{{{{name}}}}}; {hint}")
        return self._known[name]


def fill(text: str, params: Mapping[str, Json], where: Path | str) -> str:
    """Replace each ``{{slot}}`` of a text. Slots in the inserted values are not replaced.

    Args:
        text: The template.
        params: Values of the slots.
        where: The file the text comes from, for messages.

    Raises:
        TaskError: A slot has no value, or the text becomes too long; names file and line.
    """
    return Filling(params).text(text, lambda at: f"{where}:{text.count(chr(10), 0, at) + 1}")


def fill_json(value: Json, params: Mapping[str, Json], where: str) -> Json:
    """Fill the slots in every text of a JSON value, object keys included.

    A text that consists of one slot becomes the slot's value with its type:
    ``"{{count}}"`` becomes ``20``.

    Args:
        value: The template.
        params: Values of the slots.
        where: Prefix of error messages, such as ``file:line``.

    Raises:
        TaskError: A slot has no value, the texts become too long, or filling makes two keys of an
            object equal.
    """
    return Filling(params).json(value, where)


def environment(params: Mapping[str, Json]) -> dict[str, str]:
    """Return the parameters as environment variables for setups and solutions."""
    variables = {f"PARAM_{name.upper()}": _text(value) for name, value in params.items()}
    return variables | {"AGENTGYM_PARAMS": canonical(params)}


def canonical(value: Json) -> str:
    """Return the canonical JSON text of a value: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
