"""Reads what was entered into a form, and makes its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.errors import close_matches
from agentgym.services import Service, ServiceError

from .kinds import KINDS, Stored, read

_SLOT: Final = re.compile(r"\{(\w+)\}")

Values = Mapping[str, Stored]


@dataclass(frozen=True, slots=True)
class Filled:
    """The values of a form by field, those of its lines, and what is made of them."""

    values: Values
    lines: Sequence[Values]
    subject: str
    text: str


def fill_in(
    service: Service,
    form: Mapping[str, Any],
    fields: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    lines: Sequence[Sequence[Any]],
    readers: Sequence[str],
) -> Filled:
    """Return a form that is filled in.

    Args:
        service: Any service of the state.
        form: The row of the form.
        fields: The rows of its fields, each with its ``choices``.
        entries: What was entered, field by field.
        lines: What was entered, line by line, in the order of the columns.
        readers: Addresses of those who get it, for the greeting.

    Raises:
        ServiceError: A field is unknown, missing, named twice or has a value that does not fit.
    """
    service.spend(50 * (len(entries) + sum(map(len, lines))))
    above = [field for field in fields if not field["in_lines"]]
    columns = [field for field in fields if field["in_lines"]]
    values = _read_entries(service, above, entries)
    if bool(lines) != bool(columns):
        names = ", ".join(field["name"] for field in columns)
        expected = f"expected lines of: {names}" if columns else "this form has no lines"
        raise ServiceError("invalid", expected, "lines")
    read_lines = [_read_line(service, columns, number, line) for number, line in enumerate(lines)]
    texts = _texts(service, above, values)
    texts["to"] = " and ".join(KINDS["person"].show(service, email.lower()) for email in readers)
    texts["lines"] = "\n".join(
        _render(form["line"], _texts(service, columns, line)) for line in read_lines
    )
    subject = " ".join(_render(form["subject"], texts).split())
    return Filled(values, read_lines, subject, _render(form["body"], texts))


def _read_entries(
    service: Service, fields: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]
) -> dict[str, Stored]:
    known = {field["name"]: field for field in fields}
    values: dict[str, Stored] = {}
    for entry in entries:
        name = entry["field"]
        if name not in known:
            near = close_matches(name, known)
            guess = f"; did you mean {near[0]!r}?" if near else ";"
            expected = ", ".join(known) or "none"
            raise ServiceError(
                "invalid", f"no field {name!r}{guess} expected: {expected}", "fields"
            )
        if name in values:
            raise ServiceError("invalid", f"{name}: entered twice", "fields")
        values[name] = read(service, known[name], entry["value"], "fields")
    missing = [name for name, field in known.items() if field["required"] and name not in values]
    if missing:
        raise ServiceError("invalid", f"missing: {', '.join(missing)}", "fields")
    return values


def _read_line(
    service: Service, columns: Sequence[Mapping[str, Any]], number: int, line: Sequence[Any]
) -> dict[str, Stored]:
    needed = sum(1 for column in columns if column["required"])
    if not needed <= len(line) <= len(columns):
        names = ", ".join(column["name"] for column in columns)
        raise ServiceError(
            "invalid", f"line {number + 1}: expected {names}; got {len(line)} values", "lines"
        )
    return {
        column["name"]: read(service, column, value, "lines")
        for column, value in zip(columns, line, strict=False)
    }


def _texts(service: Service, fields: Sequence[Mapping[str, Any]], values: Values) -> dict[str, str]:
    return {
        field["name"]: KINDS[field["kind"]].show(service, values[field["name"]])
        for field in fields
        if field["name"] in values
    }


def _render(template: str, texts: Mapping[str, str]) -> str:
    """Fill the slots of a text; a line whose slots are all empty is left out."""
    lines = []
    for line in template.split("\n"):
        slots = _SLOT.findall(line)
        if not slots or any(texts.get(slot) for slot in slots):
            lines.append(_SLOT.sub(lambda slot: texts.get(slot[1], ""), line).rstrip())
    return "\n".join(lines)
