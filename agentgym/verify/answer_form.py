"""Answer forms: the JSON Schema of typed fields and of `submit`, and the reading of filled-in ones.

A form is kept as JSON text, its values in one form each. So it travels as an answer does: to the
checks, the judge, the record and kept final states.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentgym.errors import ActionError, close_matches
from agentgym.records import Json
from agentgym.task.answer import RESERVED, AnswerField, AnswerForm
from agentgym.verify.answer_values import describe, read_value
from agentgym.verify.values import brief

_MOST_FAULTS: Final = 6
_DATE: Final = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME: Final = r"([01]\d|2[0-3]):[0-5]\d"
_PLAIN: Final[Mapping[str, Mapping[str, Json]]] = {
    "number": {"type": "number"},
    "amount": {"type": "number"},
    "date": {"type": "string", "pattern": f"^{_DATE}$"},
    "time": {"type": "string", "pattern": f"^{_TIME}$"},
    "datetime": {"type": "string", "pattern": f"^{_DATE}T{_TIME}$"},
    "name": {"type": "string"},
    "person": {"type": "string"},
    "yes_no": {"type": "boolean"},
}


def form_schema(form: AnswerForm) -> dict[str, Json]:
    """Return the JSON Schema of a form.

    It is one that strict modes of model APIs accept: every field is required, an optional one may
    be null, and nothing else is allowed.
    """
    return {
        "type": "object",
        "properties": {field.name: field_schema(field) for field in form.field},
        "required": [field.name for field in form.field],
        "additionalProperties": False,
    }


def field_schema(field: AnswerField) -> Json:
    """Return the JSON Schema of a field's value."""
    schema: dict[str, Any] = _item(field)
    if field.list:
        schema = {"type": "array", "items": schema}
    if field.optional:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return {**schema, "description": f"{field.about} ({describe(field)})"}


def _item(field: AnswerField) -> dict[str, Any]:
    if field.type == "choice":
        return {"type": "string", "enum": list(field.choices)}
    if field.type == "id":
        pattern = {"pattern": f"^(?:{field.pattern})$"} if field.pattern else {}
        return {"type": "string", **pattern}
    return {"type": "integer"} if field.whole else dict(_PLAIN[field.type])


def read_form(form: AnswerForm, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values of a filled-in form, in the order of its fields.

    A text under `answer` alone, from callers that can only send text, is read as a JSON object with
    the fields; if the form has one field, also as its value.

    Raises:
        ActionError: A field is missing, unknown, or has a value that its type does not accept; the
            message names the first six.
    """
    return read_fields(form.field, _spread(form, arguments), "the answer")


def read_fields(
    fields: Sequence[AnswerField], given: Mapping[str, Json], what: str
) -> dict[str, Json]:
    """Return the values of filled-in fields, in the order of the fields.

    Args:
        fields: The fields.
        given: Values as the agent wrote them, by name of the field.
        what: What they belong to, for messages.

    Raises:
        ActionError: A field is missing, unknown, or has a value that its type does not accept; the
            message names the first six.
    """
    known = {field.name: field for field in fields}
    unknown = (name for name in given if name not in known)
    faults = [_unknown(name, list(known)) for name in itertools.islice(unknown, _MOST_FAULTS)]
    values: dict[str, Json] = {}
    for name, field in known.items():
        if name not in given and not field.optional:
            faults.append(f"{name}: missing; expected {describe(field)}")
            continue
        try:
            values[name] = read_value(field, given.get(name))
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise ActionError(f"{what} is not accepted: {'; '.join(faults[:_MOST_FAULTS])}")
    return values


def _spread(form: AnswerForm, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    text = arguments.get(RESERVED)
    if arguments.keys() != {RESERVED} or not isinstance(text, str):
        return arguments
    try:
        read = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        return read
    if len(form.field) == 1 and text.strip():
        return {form.field[0].name: text}
    names = ", ".join(field.name for field in form.field)
    raise ActionError(f"the answer is not accepted: expected the fields {names}, got a text")


def _unknown(name: str, known: list[str]) -> str:
    matches = close_matches(name, known, limit=1)
    hint = (
        f"did you mean {matches[0]!r}?"
        if matches
        else f"expected {', '.join(known) or 'no fields'}"
    )
    return f"no field {brief(name)}; {hint}"


def form_text(values: Mapping[str, Json]) -> str:
    """Return the values of a form as the text that stands for the answer."""
    return json.dumps(values, ensure_ascii=False)


def form_values(answer: str | None) -> dict[str, Json] | None:
    """Return the values of an answer that is a form; None for any other text."""
    try:
        values = json.loads(answer or "", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")
