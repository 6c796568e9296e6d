"""Check pack `data`: contents of structured files.

Channel: state (the final files, read from outside). The format goes by the file's suffix unless
`format` says another. `at` is a JSON Pointer (RFC 6901) into the document: "/servers/0/host"; an
XML document is an object of its root element, see `agentgym.verify.documents`. What cannot be
trusted to mean one thing is a fail: a key that is there twice, NaN, a byte order mark, entities,
text that is not UTF-8, more than 1 MiB (256 KiB of YAML or TOML), 200,000 values or 60 levels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import jsonschema
from referencing import Registry

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.verify.documents import (
    DEFAULT_BYTES,
    MOST_BYTES,
    check_pointer,
    format_of,
    parse,
    pointed,
)
from agentgym.verify.values import Bounds, Comparison, brief, is_number, result

_TABLES = ("csv", "tsv")
_CELL_CHARS = 64
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,2})?", re.ASCII)


def equals(
    evidence: Evidence,
    path: str,
    value: Any,
    at: str = "",
    tolerance: float = 0.0,
    any_order: bool = False,
    format: str | None = None,
) -> CheckResult:
    """A document, or the value at a place in it, equals this one.

    Channel: state. 1 equals 1.0 and not true; the order of keys is free; dates are ISO 8601 text;
    cells of a table are text.

    Example:
        use = "data.equals"
        with = { path = "/srv/app.yaml", at = "/server/ports", value = [80, 443], any_order = true }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        value: The expected value.
        at: JSON Pointer to the value; "" is the whole document.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Compare lists as multisets, at every depth.
        format: json, jsonl, yaml, csv, tsv, toml or xml; absent: by the suffix.
    """
    kind, compare = _prepare(path, format, at), Comparison(tolerance, any_order)
    for seen in pointed(_read(evidence, path, kind), at):
        fault = compare.difference(seen, value)
        return result(not fault, f"{path}{at}: {fault or 'holds what is expected'}")
    return result(False, f"{path}: there is nothing at {at!r}")


def gold_equals(
    evidence: Evidence,
    path: str,
    gold: str,
    at: str = "",
    tolerance: float = 0.0,
    any_order: bool = False,
    format: str | None = None,
) -> CheckResult:
    """A document, or the value at a place in it, equals that of a gold file.

    Channel: state. The two files need not have the same format.

    Example:
        use = "data.gold_equals"
        with = { path = "/srv/out.json", gold = "out.json", tolerance = 0.01 }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        gold: Name of the gold file that the setup left; its suffix determines its format.
        at: JSON Pointer to the value in both; "" is the whole document.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Compare lists as multisets, at every depth.
        format: Format of the agent's file; absent: by the suffix.
    """
    kind, compare = _prepare(path, format, at), Comparison(tolerance, any_order)
    gold_kind = format_of(gold, None)
    wanted = list(pointed(_own(evidence.gold(gold), gold_kind, gold), at))
    if not wanted:
        raise VerifierError(f"gold file {gold!r} has nothing at {at!r}")
    for seen in pointed(_read(evidence, path, kind), at):
        fault = compare.difference(seen, wanted[0])
        return result(not fault, f"{path}{at}: {fault or f'equals gold file {gold!r}'}")
    return result(False, f"{path}: there is nothing at {at!r}")


def lacks(evidence: Evidence, path: str, at: str, format: str | None = None) -> CheckResult:
    """A document can be read, and a place in it does not exist.

    Channel: state.

    Example:
        use = "data.lacks"
        with = { path = "/srv/config.toml", at = "/database/password" }
    """
    kind = _prepare(path, format, at)
    for seen in pointed(_read(evidence, path, kind), at):
        return result(False, f"{path}: at {at!r} there is {brief(seen)}, expected nothing")
    return result(True, f"{path}: there is nothing at {at!r}")


def valid(
    evidence: Evidence,
    path: str,
    schema: Mapping[str, Any],
    at: str = "",
    format: str | None = None,
) -> CheckResult:
    """A document, or the value at a place in it, fits a JSON Schema (draft 2020-12).

    Channel: state. `format` keywords of the schema are not enforced; references stay within the
    schema.

    Example:
        use = "data.valid"
        with = { path = "/srv/users.json", schema = { type = "array", minItems = 3 } }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        schema: The JSON Schema.
        at: JSON Pointer to the value; "" is the whole document.
        format: Format of the file; absent: by the suffix.
    """
    kind = _prepare(path, format, at)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise VerifierError(f"schema: {error.message}") from None
    for seen in pointed(_read(evidence, path, kind), at):
        for error in _errors(schema, seen):
            where = "".join(f"/{part}" for part in error.absolute_path)
            told = (
                error.message if len(error.message) < 200 else f"not what {error.validator!r} asks"
            )
            return result(False, f"{path}{at}{where}: {told}")
        return result(True, f"{path}{at}: fits the schema")
    return result(False, f"{path}: there is nothing at {at!r}")


def rows(
    evidence: Evidence,
    path: str,
    rows: Sequence[Sequence[Any]],
    columns: Sequence[str] | None = None,
    tolerance: float = 0.0,
    any_order: bool = False,
    format: str | None = None,
) -> CheckResult:
    """The rows of a table below its header are these, each as often as given.

    Channel: state. A number in `rows` is compared with the number in the cell: 1.50 is 1.5. Text is
    compared exactly.

    Example:
        use = "data.rows"
        with = { path = "/srv/t.csv", columns = ["name", "n"], rows = [["ada", 3], ["bob", 1]] }

    Args:
        evidence: Evidence of the episode.
        path: A csv or tsv file whose first line is the header.
        rows: The expected cells, row by row.
        columns: Columns to compare, in this order; absent: all columns.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Accept the rows in any order.
        format: csv or tsv; absent: by the suffix.
    """
    kind, compare = _prepare_table(path, format), Comparison(tolerance, any_order)
    if not _is_list(rows) or not all(_is_list(row) for row in rows):
        raise VerifierError(f"rows: expected a list of lists of cells, got {rows!r}")
    if columns is not None and any(len(row) != len(columns) for row in rows):
        raise VerifierError(f"rows: expected {len(columns)} cells in each, as many as columns")
    numeric = {i for row in rows for i, cell in enumerate(row) if is_number(cell)}
    header, body = _table(evidence, path, kind)
    picked = _pick(header, columns or header, path)
    seen = [[_cell(row[at], i in numeric) for i, at in enumerate(picked)] for row in body]
    fault = compare.difference(seen, [list(row) for row in rows])
    return result(not fault, f"{path}: {fault or f'holds the {len(seen)} expected rows'}")


def same_rows(
    evidence: Evidence,
    path: str,
    gold: str,
    any_order: bool = False,
    tolerance: float = 0.0,
    format: str | None = None,
) -> CheckResult:
    """A table has the header and the rows of a gold table; columns may be in another order.

    Channel: state. Cells that are numbers in both are compared as numbers.

    Example:
        use = "data.same_rows"
        with = { path = "/srv/clean.csv", gold = "clean.csv", any_order = true }

    Args:
        evidence: Evidence of the episode.
        path: A csv or tsv file whose first line is the header.
        gold: Name of a gold csv or tsv file.
        any_order: Accept the rows in any order.
        tolerance: Largest absolute difference of two equal numbers.
        format: Format of the agent's file; absent: by the suffix.
    """
    kind, compare = _prepare_table(path, format), Comparison(tolerance, any_order)
    wanted = _own(evidence.gold(gold), _prepare_table(gold, None), gold)
    header, body = _table(evidence, path, kind)
    if not wanted or sorted(header) != sorted(wanted[0]):
        return result(False, f"{path}: has columns {header[:8]}, expected {wanted[:1]}")
    picked = _pick(header, wanted[0], path)
    cells = [[_cell(row[at], True) for at in picked] for row in body]
    fault = compare.difference(cells, [[_cell(cell, True) for cell in row] for row in wanted[1:]])
    return result(not fault, f"{path}: {fault or f'has the {len(cells)} rows of {gold!r}'}")


def column_types(
    evidence: Evidence, path: str, types: Mapping[str, str], format: str | None = None
) -> CheckResult:
    """Every cell of a column has a type; a table without rows passes.

    Channel: state. Types are integer, number, boolean (true or false), date and datetime (ISO
    8601), text (not empty); a question mark after one allows empty cells.

    Example:
        use = "data.column_types"
        with = { path = "/srv/t.csv", types = { id = "integer", joined = "date", note = "text?" } }

    Args:
        evidence: Evidence of the episode.
        path: A csv or tsv file whose first line is the header.
        types: Type by column.
        format: csv or tsv; absent: by the suffix.
    """
    kind = _prepare_table(path, format)
    for name, wanted in types.items():
        if str(wanted).removesuffix("?") not in _TYPES:
            raise VerifierError(
                f"types.{name}: expected one of {', '.join(_TYPES)}, got {wanted!r}"
            )
    header, body = _table(evidence, path, kind)
    for name, at in zip(types, _pick(header, list(types), path), strict=True):
        fits = _TYPES[types[name].removesuffix("?")]
        for number, row in enumerate(body, start=2):
            if not (fits(row[at]) if row[at] else types[name].endswith("?")):
                message = f"{path}: row {number}, column {name!r}: {brief(row[at])}"
                return result(False, f"{message} is no {types[name]}")
    return result(bool(body), f"{path}: {len(body)} rows of the expected types")


def row_count(
    evidence: Evidence,
    path: str,
    at_least: int,
    at_most: int | None = None,
    format: str | None = None,
) -> CheckResult:
    """A table has this number of rows below its header, all as wide as the header.

    Channel: state.

    Example:
        use = "data.row_count"
        with = { path = "/srv/clean.csv", at_least = 118, at_most = 118 }

    Args:
        evidence: Evidence of the episode.
        path: A csv or tsv file whose first line is the header.
        at_least: Minimum number of rows.
        at_most: Maximum number; absent: no limit.
        format: csv or tsv; absent: by the suffix.
    """
    kind, bounds = _prepare_table(path, format), Bounds(at_least, at_most)
    _, body = _table(evidence, path, kind)
    return result(bounds.hold(len(body)), f"{path}: {len(body)} rows, expected {bounds}")


def _prepare(path: str, format_name: str | None, at: str) -> str:
    check_pointer(at)
    return format_of(path, format_name)


def _prepare_table(path: str, format_name: str | None) -> str:
    kind = format_of(path, format_name)
    if kind not in _TABLES:
        raise VerifierError(f"format of {path}: expected {' or '.join(_TABLES)}, got {kind!r}")
    return kind


def _read(evidence: Evidence, path: str, kind: str) -> Any:
    limit = MOST_BYTES.get(kind, DEFAULT_BYTES)
    return parse(evidence.after.read(path, max_bytes=limit), kind, path)


def _own(data: bytes, kind: str, name: str) -> Any:
    """Parse a file of the author's; a fault in it is not the agent's."""
    try:
        return parse(data, kind, f"gold file {name!r}")
    except GuestFileError as error:
        raise VerifierError(str(error)) from None


def _table(evidence: Evidence, path: str, kind: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows. Raises GuestFileError if the file is not a table with a header."""
    found = _read(evidence, path, kind)
    if not found or len(set(found[0])) != len(found[0]):
        raise GuestFileError(f"{path}: has no header of distinct names")
    header, *body = found
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise GuestFileError(f"{path}: row {number} has {len(row)} cells, not {len(header)}")
    return header, body


def _pick(header: Sequence[str], columns: Sequence[str], path: str) -> list[int]:
    for name in columns:
        if name not in header:
            raise GuestFileError(f"{path}: has no column {name!r} but {list(header)[:8]}")
    return [header.index(name) for name in columns]


def _cell(text: str, numeric: bool) -> str | float:
    """Return the number in a cell, as an integer if possible, or its text."""
    if not numeric or len(text) > _CELL_CHARS or not _NUMBER.fullmatch(text):
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_time(parser: Callable[[str], object], text: str) -> bool:
    try:
        parser(text)
    except ValueError:
        return False
    return True


def _is_day(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text)) and _is_time(
        date.fromisoformat, text
    )


def _errors(schema: Mapping[str, Any], seen: object) -> Iterator[Any]:
    try:
        yield from _Validator(schema, registry=Registry()).iter_errors(seen)
    except (OverflowError, RecursionError) as error:  # a number beyond floats; a deep document
        yield jsonschema.ValidationError(f"it cannot be validated: {error}")


def _unique(_: object, wanted: bool, items: object, __: object) -> Iterator[Any]:
    """Find a duplicate in a list in linear time, because the agent controls its length."""
    if wanted and isinstance(items, list):
        keys = {json.dumps(item, sort_keys=True) for item in items}
        if len(keys) < len(items):
            yield jsonschema.ValidationError(f"{len(items) - len(keys)} elements are there twice")


_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"uniqueItems": _unique})

_TYPES: Mapping[str, Callable[[str], bool]] = {
    "integer": lambda text: bool(re.fullmatch(r"[+-]?[0-9]{1,40}", text)),
    "number": lambda text: bool(_NUMBER.fullmatch(text)),
    "boolean": lambda text: text in ("true", "false"),
    "date": _is_day,
    "datetime": lambda text: "T" in text and _is_time(datetime.fromisoformat, text),
    "text": bool,
}
