"""Comparisons of metrics: rules about a value, likeness of texts, texts of unknown encoding."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Rule = Mapping[str, Any]


def fits(value: Any, rule: Rule) -> bool:
    """Return whether a value meets a rule of a `method` and a `ref`.

    Raises:
        ValueError: The method is unknown.
    """
    method, wanted = str(rule["method"]), rule["ref"]
    name, _, rest = method.partition(":" if method.startswith("approx") else ".")
    if name == "re":
        flags = re.RegexFlag(0)
        for flag in filter(None, rest.split(".")):
            flags |= re.RegexFlag[flag]
        return isinstance(value, str) and re.search(wanted, value, flags) is not None
    if name in ("eq", "ne"):
        return bool(getattr(operator, name)(value, wanted))
    if name in ("lt", "le", "gt", "ge"):
        return _ordered(value, name, wanted)
    if name == "approx":
        number = _number(value)
        return number is not None and abs(number - float(wanted)) <= float(rest)
    if name == "range" and len(rest) == 2:
        low = _ordered(wanted[0], f"l{rest[0]}", value)
        return low and _ordered(value, f"l{rest[1]}", wanted[1])
    if name in ("str_list_eq", "str_set_eq"):
        parts = str(value).strip("\"'").split(",")
        return set(parts) == set(wanted) if name == "str_set_eq" else parts == list(wanted)
    if name == "spreadsheet_range":
        return within(wanted[0], value) and within(value, wanted[1])
    raise ValueError(f"a rule has the unknown method {method!r}")


def within(part: Any, whole: Any) -> bool:
    """Return whether each range of one list of ranges lies in some range of another."""
    from openpyxl.worksheet.cell_range import MultiCellRange

    one, other = (
        each if isinstance(each, MultiCellRange) else MultiCellRange(str(each))
        for each in (part, whole)
    )
    return all(any(inner.issubset(outer) for outer in other.ranges) for inner in one.ranges)


def _ordered(one: Any, name: str, other: Any) -> bool:
    try:
        return bool(getattr(operator, name)(one, other))
    except TypeError:
        return False


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def has_items(wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> bool:
    """Return whether a record has all items of another."""
    return all(key in seen and seen[key] == value for key, value in wanted.items())


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, in 0..1: twice their common subsequence by their lengths.

    The length of the longest common subsequence is computed with one bit per character (Hyyrö,
    "Bit-parallel LCS-length computation revisited", 2004).
    """
    if not one and not other:
        return 1.0
    places: dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    every = (1 << len(one)) - 1
    row = every
    for letter in other:
        found = row & places.get(letter, 0)
        row = ((row + found) | (row - found)) & every
    common = len(one) - row.bit_count()
    return 2 * common / (len(one) + len(other))


def read_text(path: Path) -> str:
    """Return the text of a file, as UTF-8 if it is, else as Latin-1."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file."""
    return read_text(path).splitlines()


def read_json(path: Path) -> Any:
    """Return the JSON of a file.

    Raises:
        ValueError: It is not JSON.
    """
    return json.loads(read_text(path))


def one_space(text: str) -> str:
    """Return a text with each run of white space as one space, and none at its ends."""
    return " ".join(text.split())
