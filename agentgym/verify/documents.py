"""Parse structured text of an agent's into plain values: JSON, JSON Lines, YAML, CSV, TOML, XML.

Ambiguous or malicious input raises GuestFileError, which grading counts as a fail: duplicate keys,
NaN, a byte order mark, oversized numbers, entities, multiplying aliases, deep nesting. Formats: RFC
8259, YAML 1.1, RFC 4180, TOML 1.0, XML 1.0 without a document type.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from typing import Any
from xml.parsers import expat

from agentgym.errors import GuestFileError, VerifierError, close_matches
from agentgym.installation import missing_extra
from agentgym.manifest import parse_toml

FORMATS = ("json", "jsonl", "yaml", "csv", "tsv", "toml", "xml")
MOST_BYTES: Mapping[str, int] = {"yaml": 2**18, "toml": 2**18}
"""Size limit in bytes for formats whose Python parser takes seconds for a mebibyte."""
DEFAULT_BYTES = 2**20

_MOST_VALUES = 200_000
_MOST_DEPTH = 60
_MOST_BITS = 4096
_MOST_MERGED = 5_000
_MOST_DIGITS = 1_000
_SUFFIXES = {"yml": "yaml", "ndjson": "jsonl"}


def format_of(path: str, given: str | None) -> str:
    """Return the format of a document, taken from its file name if none is given.

    Raises:
        VerifierError: It is not one of `FORMATS`.
    """
    suffix = path.rpartition(".")[2].lower()
    name = given if given is not None else _SUFFIXES.get(suffix, suffix)
    if name not in FORMATS:
        close = close_matches(str(name), FORMATS, limit=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise VerifierError(f"format of {path}: expected one of {', '.join(FORMATS)}{hint}")
    return name


def parse(data: bytes, format_name: str, path: str) -> Any:
    """Turn a document into values of JSON.

    A table (csv, tsv) is a list of rows, each a list of strings. Dates become ISO 8601 text, and
    keys that are not strings become their JSON. An XML element without children and attributes is
    its text. Any other is an object of its children by local name (a list if a name is repeated),
    ``@attribute`` and ``#text``.

    Args:
        data: Content of the file.
        format_name: One of `FORMATS`.
        path: Path of the file, for messages.

    Raises:
        GuestFileError: The text does not have the format, or has one of the faults above.
        MissingExtraError: The format is YAML, and PyYAML is not installed.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise GuestFileError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise GuestFileError(f"{path}: begins with a byte order mark")
    readers: Mapping[str, Callable[[str], object]] = {
        "json": _json,
        "jsonl": lambda text: [_json(line) for line in text.split("\n") if line.strip()],
        "yaml": _yaml,
        "csv": lambda text: _table(text, ","),
        "tsv": lambda text: _table(text, "\t"),
        "toml": parse_toml,
        "xml": _xml,
    }
    try:
        return _plain(readers[format_name](text), _Budget())
    except (ValueError, RecursionError, OverflowError) as error:
        kind = format_name.upper()
        raise GuestFileError(f"{path}: is not usable {kind}: {_first_line(error)}") from None


def pointed(document: object, pointer: str) -> Iterator[Any]:
    """Yield the value at a JSON Pointer (RFC 6901), or nothing if there is no such value."""
    value = document
    for token in _tokens(pointer):
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", token):
            if int(token) >= len(value):
                return
            value = value[int(token)]
        else:
            return
    yield value


def check_pointer(pointer: str) -> None:
    """Refuse a text that is not a JSON Pointer.

    Raises:
        VerifierError: It is not empty and has no leading slash, or it has a bad escape.
    """
    if not isinstance(pointer, str) or not re.fullmatch(r"(/([^~/]|~[01])*)*", pointer):
        raise VerifierError(
            f"at: expected a JSON Pointer such as '/servers/0/host', or '' for all; got {pointer!r}"
        )


def _tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


class _Budget:
    """Counts values during a walk; an alias counts as often as it is named."""

    def __init__(self) -> None:
        self.left = _MOST_VALUES

    def spend(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"more than {_MOST_VALUES} values")
        if depth > _MOST_DEPTH:
            raise ValueError(f"nested deeper than {_MOST_DEPTH}")


def _plain(value: object, budget: _Budget, depth: int = 0) -> Any:
    """Return a copy that holds only values of JSON, within the limits."""
    budget.spend(depth)
    if isinstance(value, Mapping):
        pairs = [(_name(key), _plain(inner, budget, depth + 1)) for key, inner in value.items()]
        return _unique(pairs)
    if isinstance(value, (list, tuple)):
        return [_plain(inner, budget, depth + 1) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError("a number of more than a thousand digits")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"a value of type {type(value).__name__}")


def _name(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and key.bit_length() > _MOST_BITS:
        raise ValueError("a number of more than a thousand digits")
    return json.dumps(key, default=str)


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:60]!r} is there twice")
        found[key] = value
    return found


def _json(text: str) -> object:
    def constant(name: str) -> float:
        raise ValueError(f"{name} is not a JSON number")

    return json.loads(text, object_pairs_hook=_unique, parse_constant=constant)


def _table(text: str, delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return [row for row in rows if row]


def _yaml(text: str) -> object:
    try:
        import yaml
    except ImportError:
        raise missing_extra("PyYAML", "data") from None

    merged: set[yaml.MappingNode] = set()

    class Loader(yaml.SafeLoader):
        """A safe and strict loader: no duplicate keys, no merges that multiply."""

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            own = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            # An earlier merge also holds the keys that it replaces.
            if node not in merged and len(own) != len(set(own)):
                raise ValueError("a key is there twice")
            merged.add(node)
            super().flatten_mapping(node)
            if len(node.value) > _MOST_MERGED:
                raise ValueError(f"a mapping of more than {_MOST_MERGED} keys")

        def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
            if len(node.value) > _MOST_DIGITS:
                raise ValueError(f"a number of more than {_MOST_DIGITS} digits")
            return super().construct_yaml_int(node)

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)

    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, AttributeError, TypeError, KeyError, IndexError) as error:
        # PyYAML lets some malformed scalars (an empty !!int, an odd !!timestamp) escape as these.
        raise ValueError(_first_line(error)) from None


def _xml(text: str) -> object:
    """Parse with expat's events; a document type is refused as soon as it begins."""
    top: list[tuple[str, list[tuple[str, object]], list[str]]] = [("", [], [])]
    parser = expat.ParserCreate(namespace_separator="}")

    def refuse(*_: object) -> None:
        raise ValueError("it declares a document type")

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(top) > _MOST_DEPTH:
            raise ValueError(f"nested deeper than {_MOST_DEPTH}")
        own = [("@" + _local(key), value) for key, value in attributes.items()]
        top.append((_local(name), list(own), []))

    def end(_: str) -> None:
        name, parts, texts = top.pop()
        top[-1][1].append((name, _element(parts, "".join(texts).strip())))

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: top[-1][2].append(text)
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None
    return dict(top[0][1])


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _element(parts: Sequence[tuple[str, object]], text: str) -> object:
    if not parts:
        return text
    grouped: dict[str, list[object]] = {}
    for name, value in parts:
        grouped.setdefault(name, []).append(value)
    found: dict[str, object] = {k: v[0] if len(v) == 1 else v for k, v in grouped.items()}
    return {**found, "#text": text} if text else found


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
