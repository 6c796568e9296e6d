"""Fields of instances, read with bounds. A bad value is a FieldError that names the field.

Data sets state lists of tests as lists, as JSON in a string, or as Python's text of a list.
"""

from __future__ import annotations

import ast
import json
import re
import reprlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from agentgym.records.bounds import is_too_rich

MAX_TEXT: Final = 50_000_000
"""Characters of one patch or issue."""
MAX_TESTS: Final = 200_000
MAX_TEST_ID: Final = 20_000
"""Characters of one test id; parametrised ids can be long."""
_MAX_MARKS: Final = 4_000_000
"""Commas and opening brackets of one JSON text; an empty object takes 24 times its characters."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_REPO: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}")
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_STRING: Final = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
# Possessive: blanks that could belong to two parts take exponential time.
_PYTHON_LIST: Final = re.compile(rf"\s*+\[\s*+(?:(?:{_STRING})\s*+(?:,\s*+)?+)*+\]\s*+")
_PYTHON_STRING: Final = re.compile(_STRING)


class FieldError(ValueError):
    """A field of an instance is absent or of the wrong kind."""

    def __init__(self, field: str, expected: str, got: object = None) -> None:
        seen = "" if got is None else f", got {_shown(got)}"
        super().__init__(f"{field}: {expected}{seen}")


def _shown(value: object) -> str:
    text = repr(value[:80]) if isinstance(value, str) else reprlib.repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def parse_json(text: str, *, constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        constant: Called with ``NaN``, ``Infinity`` and ``-Infinity``, as by `json.loads`.

    Raises:
        ValueError: It is not JSON, or holds millions of values.
        RecursionError: It is nested too deep.
    """
    if is_too_rich(text, _MAX_MARKS):
        raise ValueError(f"more than {_MAX_MARKS} commas and opening brackets")
    return json.loads(text, parse_constant=constant)


def text(
    fields: Mapping[str, Any], name: str, *, default: str | None = None, most: int = MAX_TEXT
) -> str:
    """Return a text of at most so many characters; a missing or null field is the default.

    Raises:
        FieldError: It is missing and has no default, is no text, too long, or holds a NUL or half
            of a surrogate pair.
    """
    value = fields.get(name)
    if value is None:
        if default is None:
            raise FieldError(name, "expected a text; the field is missing")
        return default
    if not isinstance(value, str):
        raise FieldError(name, "expected a text", value)
    return checked_text(name, value, most)


def checked_text(name: str, value: str, most: int = MAX_TEXT) -> str:
    """Return a text if it is of bounded length and can be written to a file."""
    if len(value) > most:
        raise FieldError(name, f"expected at most {most} characters, got {len(value)}")
    if "\0" in value:
        raise FieldError(name, "holds a NUL character; expected a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(name, f"is not Unicode: {error.reason}") from None
    return value


def identifier(fields: Mapping[str, Any], name: str) -> str:
    """Return an id that can name a folder."""
    value = text(fields, name)
    if not _ID.fullmatch(value):
        raise FieldError(
            name,
            "expected at most 200 letters, digits, '.', '_' and '-', a letter or digit first",
            value,
        )
    return value


def repository(name: str, value: str) -> str:
    """Return ``owner/name``; a URL or a path is an error."""
    if not _REPO.fullmatch(value) or value.endswith(("/.", "/..")):
        raise FieldError(name, "expected owner/name", value)
    return value


def commit(fields: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    """Return the hexadecimal id of a commit, in lower case."""
    value = text(fields, name, default=default).strip().lower()
    if value and not _COMMIT.fullmatch(value):
        raise FieldError(name, "expected the hexadecimal id of a commit", value)
    if not value and default is None:
        raise FieldError(name, "expected the hexadecimal id of a commit, got an empty text")
    return value


def names(fields: Mapping[str, Any], name: str, *, required: bool = False) -> tuple[str, ...]:
    """Return a list of texts in its order, without repeated ones.

    Raises:
        FieldError: It is no list of texts, or it is empty and required.
    """
    value = fields.get(name)
    if isinstance(value, str):
        value = _list_in(name, checked_text(name, value))
    if value is None:
        value = []
    if not isinstance(value, list):
        raise FieldError(name, "expected a list of texts, or a text that holds one", value)
    if len(value) > MAX_TESTS:
        raise FieldError(name, f"expected at most {MAX_TESTS} entries, got {len(value)}")
    for entry in value:
        if not isinstance(entry, str) or not entry or len(entry) > MAX_TEST_ID:
            raise FieldError(name, f"expected texts of 1 to {MAX_TEST_ID} characters", entry)
        checked_text(name, entry)
    if required and not value:
        raise FieldError(name, "names no test; such an instance cannot be graded")
    return tuple(dict.fromkeys(value))


def _list_in(name: str, value: str) -> Any:
    if not value.strip():
        return []
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        pass
    if not _PYTHON_LIST.fullmatch(value):
        raise FieldError(name, "expected a list of texts as JSON", value)
    # Each literal is decoded alone: a hostile text must not reach Python's parser as a whole.
    try:
        return [ast.literal_eval(found[0]) for found in _PYTHON_STRING.finditer(value)]
    except (ValueError, SyntaxError) as error:
        raise FieldError(name, f"holds a broken text: {error}") from None


def moment(fields: Mapping[str, Any], name: str) -> datetime | None:
    """Return a time in UTC; None if it is missing. Numbers are seconds or milliseconds."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip())
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise FieldError(name, "expected a time like 2024-05-01T12:00:00Z", value)


def table(name: str, value: object) -> Mapping[str, Any]:
    """Return a JSON object, which may be stated as JSON in a text."""
    if isinstance(value, str):
        try:
            value = parse_json(checked_text(name, value))
        except (ValueError, RecursionError) as error:
            if isinstance(error, FieldError):
                raise
            raise FieldError(name, "expected a JSON object", value) from None
    if not isinstance(value, dict):
        raise FieldError(name, "expected a JSON object", value)
    return value
