"""Reads TOML files into frozen pydantic models; every complaint names file, line and field.

pydantic tells which field is wrong; `locate` finds its line by parsing the text again, one
statement at a time, so that tomllib's grammar (TOML 1.0) is the only one.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from agentgym.errors import AgentGymError, close_matches
from agentgym.records import Limits
from agentgym.regular_file import read_regular

Location: TypeAlias = tuple[int | str, ...]
"""Position of a value in a document: keys and array indices, outermost first."""

_MOST_PROBLEMS = 6

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "an integer",
    "list_type": "an array",
    "model_type": "a table",
    "string_type": "a string",
    "tuple_type": "an array",
}
"""TOML's names of the types that pydantic names otherwise."""


_BOUNDS = {
    "string_too_long": "max_length",
    "string_too_short": "min_length",
    "too_long": "max_length",
    "too_short": "min_length",
}

_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){60}""")
_TOML_CHARS = 1 << 20
# Characters that are parsed to find the line of an error; beyond them the table's line is told.
_LOCATED_CHARS = 4 << 20


class Manifest(BaseModel):
    """Base of every model read from TOML: frozen, no unknown fields, no silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class LimitsManifest(Manifest):
    """A `[limits]` table; an absent field keeps the value of the limits below it."""

    memory_mb: int | None = Field(default=None, gt=0)
    cpus: float | None = Field(default=None, gt=0)
    pids: int | None = Field(default=None, ge=16)
    disk_mb: int | None = Field(default=None, gt=0)
    wall_s: float | None = Field(default=None, gt=0)
    output_bytes: int | None = Field(default=None, ge=1024)

    def over(self, limits: Limits) -> Limits:
        """Return `limits` with the fields that are given here replaced."""
        return replace(limits, **self.model_dump(exclude_none=True))


M = TypeVar("M", bound=Manifest)


def load_toml(path: Path, model: type[M], error: type[AgentGymError]) -> M:
    """Read and validate a TOML file.

    Args:
        path: The file.
        model: Model that the file must match.
        error: Error class to raise, that of the caller's boundary.

    Raises:
        AgentGymError: Of class `error`; one line for each problem, in the order of the file, e.g.
            ``tasks/x/task.toml:12: limits.memory_mb: expected an integer, got 'much'``.
    """
    text = read_text(path, error)
    known: M | None = _validated(text, model)
    if known is not None:
        return known
    try:
        data = parse_toml(text)
    except (ValueError, RecursionError) as fault:
        raise error(f"{show_path(path)}{_syntax(str(fault), text)}") from fault
    dates = dict(_dates(data))
    problems = [(at, f"expected quoted text, got the date or time {v}") for at, v in dates.items()]
    try:
        # Strict validation accepts a TOML array for a tuple only in JSON mode.
        manifest = model.model_validate_json(json.dumps(data, default=str))
    except ValidationError as fault:
        found = [_problem(details, model) for details in _causes(fault)]
        problems += [(at, what) for at, what in found if at not in dates]
    else:
        if not problems:
            return manifest
    positions = _positions(text)
    lines = [(_line(positions, at), ".".join(map(str, at)), what) for at, what in problems]
    raise error(
        "\n".join(
            f"{show_path(path)}:{line}: {field}{': ' if field else ''}{what}"
            for line, field, what in sorted(lines)
        )
    )


@functools.lru_cache(maxsize=256)
def _validated(text: str, model: type[M]) -> M | None:
    """Return what a text says, None if anything is wrong with it; frozen, so it can be shared."""
    try:
        # A date, which no field takes, has no JSON.
        manifest: M = model.model_validate_json(json.dumps(parse_toml(text)))
    except (ValueError, TypeError, RecursionError):
        return None
    return manifest


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises:
        ValueError: The text is not TOML, is too large, has an integer of more than 64 bits, which
            Python may be unable to print, or a key of more than 60 parts: for n parts, tomllib
            keeps n tuples of up to n parts.
        RecursionError: It is nested too deep.
    """
    if len(text) > _TOML_CHARS:
        raise ValueError(f"more than {_TOML_CHARS} characters")
    if _LONG_KEY.search(text):
        raise ValueError("a key of more than 60 parts")
    data = tomllib.loads(text)
    todo: list[object] = [data]
    while todo:
        value = todo.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("an integer of more than 64 bits")
        todo += (inner for _, inner in _items(value))
    return data


def read_text(path: Path, error: type[AgentGymError]) -> str:
    """Return a UTF-8 text file, without a byte order mark.

    Raises:
        AgentGymError: Of class `error`; it names the file and, for bad bytes, the line.
    """
    try:
        return read_regular(path).decode("utf-8-sig")
    except OSError as fault:
        raise error(f"{show_path(path)}: cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        byte = fault.object[fault.start]
        raise error(f"{show_path(path)}:{line}: expected UTF-8, got byte {byte:#x}") from fault


def show_path(path: Path) -> str:
    """Return a path as messages show it: relative if it lies below the working directory."""
    try:
        absolute, here = path.absolute(), Path.cwd()
    except FileNotFoundError:  # the working directory was deleted
        return str(path)
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else path)


def locate(text: str, location: Location) -> int:
    """Return the line (from 1) of a value in a valid TOML text, or of the table that holds it."""
    return _line(_positions(text), location)


def _line(positions: dict[Location, int], location: Location) -> int:
    for length in range(len(location), 0, -1):
        if location[:length] in positions:
            return positions[location[:length]]
    return 1


def _positions(text: str) -> dict[Location, int]:
    """Return the line on which each key, table and array item begins."""
    lines = text.replace("\r\n", "\n").split("\n")
    positions: dict[Location, int] = {}
    last_index: dict[Location, int] = {}
    table: Location = ()
    start, left = 0, _LOCATED_CHARS
    while start < len(lines) and left > 0:
        end, statement, parsed = _statement(lines, start, left)
        left -= parsed
        if lines[start].lstrip().startswith("["):
            table = _enter(statement, last_index)
            for length in range(1, len(table) + 1):
                positions.setdefault(table[:length], start + 1)
        else:
            for at in _inside(statement, table):
                positions.setdefault(at, start + 1)
        start = end
    return positions


def _statement(lines: list[str], start: int, most: int) -> tuple[int, dict[str, Any], int]:
    """Return the end and the content of the statement that begins on a line.

    The third value is the number of characters that were parsed, about `most` at the most: a
    statement of many lines is parsed once for each of them.
    """
    parsed = 0
    for end in range(start + 1, len(lines) + 1):
        text = "\n".join(lines[start:end])
        parsed += len(text) + 1
        try:
            return end, tomllib.loads(text), parsed
        except tomllib.TOMLDecodeError:
            if parsed > most:
                break
    return len(lines), {}, parsed


def _enter(header: dict[str, Any], last_index: dict[Location, int]) -> Location:
    """Return the table that a parsed ``[header]`` opens, counting ``[[items]]``."""
    at: Location = ()
    while header:
        ((key, inner),) = header.items()
        at += (key,)
        if isinstance(inner, list):
            last_index[at] = last_index.get(at, -1) + 1
            return (*at, last_index[at])
        if at in last_index:
            at += (last_index[at],)
        header = inner
    return at


def _inside(value: object, at: Location) -> Iterator[Location]:
    for key, inner in _items(value):
        yield (*at, key)
        yield from _inside(inner, (*at, key))


def _dates(value: object, at: Location = ()) -> Iterator[tuple[Location, object]]:
    if isinstance(value, date | time):
        yield at, value
    for key, inner in _items(value):
        yield from _dates(inner, (*at, key))


def _items(value: object) -> Iterator[tuple[int | str, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _syntax(message: str, text: str) -> str:
    """Return ``:line: problem`` for a message of tomllib, with the text at that place."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if not found:
        return f": not TOML: {message}"
    what = message[: found.start()]
    lines = text.split("\n")
    if found[1] is None:
        return f":{len(text.rstrip().splitlines()) or 1}: not TOML: {what}, at the end of the file"
    return f":{found[1]}: not TOML: {what}, column {found[2]} of {_seen(lines[int(found[1]) - 1])}"


def _causes(fault: ValidationError) -> list[ErrorDetails]:
    """Return the errors of a validation, less those of lists that are short of wrong items alone.

    Pydantic counts only the valid items of a list.
    """
    found = fault.errors(include_url=False)
    above = {each["loc"][:depth] for each in found for depth in range(len(each["loc"]))}
    return [each for each in found if each["type"] != "too_short" or each["loc"] not in above]


def _problem(details: ErrorDetails, model: type[Manifest]) -> tuple[Location, str]:
    """Return the position and the problem, in agentgym's words."""
    # pydantic puts "[key]", and the tag of a choice of tables, into the location.
    at = tuple(part for part in details["loc"] if not _is_tag(part))
    kind, message, value = details["type"], details["msg"], details["input"]
    if kind == "json_invalid":
        return at, "expected fewer tables and arrays within each other"
    if kind == "missing":
        return at, "required, but absent"
    if kind == "extra_forbidden":
        known = _known(model, details["loc"])
        matches = close_matches(str(at[-1]), known, limit=1)
        hint = f"did you mean {matches[0]!r}?" if matches else f"known: {', '.join(known)}"
        return at, f"unknown field {at[-1]!r}; {hint}"
    if kind == "value_error":
        return at, str(details["ctx"]["error"])
    if kind in _BOUNDS:
        bound, unit = details["ctx"][_BOUNDS[kind]], "character" if "string" in kind else "item"
        most = "most" if kind.endswith("long") else "least"
        return at, f"expected at {most} {bound} {unit}{'s' * (bound != 1)}, got {_seen(value)}"
    if kind == "string_pattern_mismatch":
        return at, f"expected text that matches {details['ctx']['pattern']!r}, got {_seen(value)}"
    if kind in _EXPECTED:
        return at, f"expected {_EXPECTED[kind]}, got {_seen(value)}"
    if message.startswith("Input should be "):
        return at, f"expected {message.removeprefix('Input should be ')}, got {_seen(value)}"
    return at, f"{message}, got {_seen(value)}"


def read_json(text: str | bytes, model: type[M]) -> M:
    """Validate a JSON text that a program has written.

    Raises:
        ValueError: One line names the first problems, e.g. ``rollouts.jobs: expected an integer,
            got 'many'``.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as fault:
        told = []
        for details in _causes(fault)[:_MOST_PROBLEMS]:
            at, what = _problem(details, model)
            what = details["msg"] if details["type"] == "json_invalid" else what
            told.append(": ".join(filter(None, [".".join(map(str, at)), what])))
        raise ValueError("; ".join(told)) from fault


def _is_tag(part: int | str) -> bool:
    return isinstance(part, str) and part.startswith("[") and part.endswith("]")


def _known(kind: Any, location: Location) -> list[str]:
    """Return the names that are possible in the table that holds a location."""
    for part in location[:-1]:
        if part == "[key]":
            continue
        if _is_tag(part):
            kind = _plain(_tagged(kind, str(part)))
            continue
        fields = _fields(_plain(kind))
        kind = fields[str(part)].annotation if fields else _item_type(_plain(kind))
    return list(_fields(_plain(kind)))


def _tagged(kind: Any, tag: str) -> Any:
    """Return the table of a choice that has a tag."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return next(each for each in get_args(kind) if Tag(tag) in get_args(each))


def _fields(kind: Any) -> dict[str, FieldInfo]:
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _item_type(kind: Any) -> Any:
    return [argument for argument in get_args(kind) if argument is not Ellipsis][-1]


def _plain(kind: Any) -> Any:
    """Return ``X`` of ``X | None`` and of ``Annotated[X, ...]``."""
    while get_origin(kind) in (Union, UnionType, Annotated):
        kind = get_args(kind)[0]
    return kind


def _seen(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array" if value else "an empty array"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return json.dumps(value)
