"""Forms of a site: their fields, the values that a request brings, and errors beside the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Literal, TypeAlias, TypeVar

from agentgym.errors import ServiceError
from agentgym.sites.body import Fields

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "text",
    "area",
    "email",
    "password",
    "search",
    "integer",
    "decimal",
    "date",
    "time",
    "color",
    "range",
    "choice",
    "radio",
    "choices",
    "check",
    "words",
    "integers",
    "hidden",
]
"""The kind of value in a field, and its appearance.

``choice`` is a drop-down list, ``choices`` several boxes to tick, ``words`` texts between commas,
``integers`` numbers between commas.
"""

Option: TypeAlias = tuple[str, str]
"""Value and label of something to choose."""

_PATTERNS: Final = {
    "integer": (r"[+-]?\d{1,15}", "Enter a whole number."),
    "range": (r"[+-]?\d{1,15}", "Enter a whole number."),
    "decimal": (r"[+-]?\d{1,12}([.,]\d{1,6})?", "Enter a number, such as 12.50."),
    "time": (r"([01]\d|2[0-3]):[0-5]\d", "Enter a time, such as 14:30."),
    "email": (r"[^@\s]{1,64}@[^@\s]{1,190}", "Enter an e-mail address."),
    "color": (r"#[0-9a-fA-F]{6}", "Enter a colour, such as #1f7a37."),
}
_MULTIPLE: Final = ("choices", "words", "integers")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: Its name in the request, and in the values.
        label: What it is called on the page.
        kind: What it holds and how it is shown.
        required: Whether it must be filled in.
        most: Largest number of characters or, for numbers, largest value.
        least: Smallest value of a number.
        options: What can be chosen.
        hint: A sentence below the field.
        arguments: Names of a service's arguments whose errors stand beside this field; its own
            name always does.
    """

    name: str
    label: str
    kind: Kind = "text"
    required: bool = False
    most: int | None = None
    least: int | None = None
    options: Sequence[Option] = ()
    hint: str = ""
    arguments: Sequence[str] = ()

    def read(self, texts: Sequence[str]) -> tuple[Any, str]:
        """Return the value of what was entered, and the error; one of them is empty."""
        if self.kind == "check":
            return bool(texts), ""
        if self.kind in _MULTIPLE:
            return self._several(texts)
        text = texts[-1] if texts else ""
        text = text.replace("\r\n", "\n") if self.kind == "area" else text.strip()
        if not text:
            return None, "Fill in this field." if self.required else ""
        if self.kind in ("choice", "radio"):
            known = text in [value for value, _ in self.options]
            return (text, "") if known else (None, "Choose one of the options.")
        if self.kind in ("integer", "range", "decimal"):
            return self._number(text)
        if self.most is not None and len(text) > self.most:
            return None, f"Enter at most {self.most:,} characters; there are {len(text):,}."
        if self.kind == "date":
            return _day(text)
        return self._fitting(text)

    def _several(self, texts: Sequence[str]) -> tuple[Any, str]:
        if self.kind == "choices":
            known = [value for value, _ in self.options]
            if any(text not in known for text in texts):
                return None, "Choose some of the options."
            chosen = list(texts)
        else:
            chosen = [t for text in texts for t in re.split(r"[,;\n]", text)]
        chosen = list(dict.fromkeys(text.strip() for text in chosen if text.strip()))
        if self.required and not chosen:
            return None, "Choose at least one." if self.kind == "choices" else "Fill in this field."
        if self.kind != "integers":
            return chosen, ""
        if wrong := [text for text in chosen if not re.fullmatch(r"\d{1,15}", text)]:
            return None, f"Enter numbers between commas; this is none: {wrong[0][:40]}"
        return [int(text) for text in chosen], ""

    def _number(self, text: str) -> tuple[Any, str]:
        _, error = self._fitting(text)
        if error:
            return None, error
        number: float = float(text.replace(",", ".")) if self.kind == "decimal" else int(text)
        if self.least is not None and number < self.least:
            return None, f"Enter {self.least:,} or more."
        if self.most is not None and number > self.most:
            return None, f"Enter {self.most:,} or less."
        return number, ""

    def _fitting(self, text: str) -> tuple[Any, str]:
        pattern, error = _PATTERNS.get(self.kind, (r"(?s).*", ""))
        return (text, "") if re.fullmatch(pattern, text) else (None, error)


def _day(text: str) -> tuple[str | None, str]:
    try:
        return date.fromisoformat(text).isoformat(), ""
    except ValueError:
        return None, "Enter a day, such as 2026-03-02."


class Form:
    """The fields of a form, in their order on the page.

    Example:
        >>> form = Form(Field("to", "To", required=True), Field("seats", "Seats", "integer"))
        >>> filled = form.bind(Fields([("seats", "many")]))
        >>> filled.errors
        {'to': 'Fill in this field.', 'seats': 'Enter a whole number.'}
    """

    def __init__(self, *fields: Field) -> None:
        self.fields = {field.name: field for field in fields}

    def blank(self, **initial: Any) -> BoundForm:
        """Return the form as it is shown first.

        Args:
            initial: What fields show, by name.
        """
        return BoundForm(self, {name: _texts(value) for name, value in initial.items()}, {}, {})

    def bind(
        self, fields: Fields, options: Mapping[str, Sequence[Option]] | None = None
    ) -> BoundForm:
        """Return the form with what was entered.

        Args:
            fields: The fields of a request.
            options: What can be chosen in fields whose options depend on the state.
        """
        form = self.choosing(options or {})
        texts = {name: fields.all(name) for name in form.fields}
        read = {name: field.read(texts[name]) for name, field in form.fields.items()}
        values = {name: value for name, (value, _) in read.items()}
        errors = {name: error for name, (_, error) in read.items() if error}
        return BoundForm(form, texts, values, errors)

    def choosing(self, options: Mapping[str, Sequence[Option]]) -> Form:
        """Return the form with options in some of its fields."""
        return Form(
            *(
                replace(field, options=tuple(options[name])) if name in options else field
                for name, field in self.fields.items()
            )
        )


class BoundForm:
    """A form with what was entered.

    Attributes:
        form: The form.
        texts: What was entered, by field.
        values: The values, by field; None for an empty field.
        errors: Errors by field.
        problem: An error that belongs to no field.
    """

    def __init__(
        self,
        form: Form,
        texts: Mapping[str, Sequence[str]],
        values: Mapping[str, Any],
        errors: Mapping[str, str],
    ) -> None:
        self.form, self.texts = form, texts
        self.values = dict(values)
        self.errors = dict(errors)
        self.problem = ""

    @property
    def is_valid(self) -> bool:
        """Whether no error was found so far."""
        return not self.errors and not self.problem

    @property
    def filled(self) -> dict[str, Any]:
        """The values of the fields that are not empty."""
        return {name: value for name, value in self.values.items() if value is not None}

    def field(self, name: str) -> Field:
        """Return a field."""
        return self.form.fields[name]

    def text(self, name: str) -> str:
        """Return what a field shows."""
        return next(iter(reversed(self.texts.get(name, ()))), "")

    def holds(self, name: str, value: str) -> bool:
        """Return whether an option of a field is chosen."""
        return value in self.texts.get(name, ())

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Call a service if the form is valid; put a refusal beside the field it is about.

        Returns:
            What the service returned; None if it was not called or has refused.
        """
        if not self.is_valid:
            return None
        try:
            return call()
        except ServiceError as error:
            self.refuse(error)
            return None

    def refuse(self, error: ServiceError) -> None:
        """Show the refusal of a service."""
        about = re.split(r"[.\[]", error.field or "", maxsplit=1)[0]
        for name, field in self.form.fields.items():
            if about and field.kind != "hidden" and about in (name, *field.arguments):
                self.errors[name] = _sentence(error.message)
                return
        self.problem = _sentence(error.message)


def _sentence(message: str) -> str:
    text = message.strip() or "This was refused."
    if "should match pattern" in text:
        # A regular expression tells a visitor nothing.
        text = f"this is not valid: {text.rpartition(', got ')[2]}"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _texts(value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return ["on"]
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
