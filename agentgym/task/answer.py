"""The answer that a task asks for, as `task.toml` declares it.

``answer = "text"`` (the default) is free text, ``answer = "none"`` is no answer at all, and a table
`[answer]` is a form: typed fields, each with a description that the agent sees.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Discriminator, StringConstraints, Tag, model_validator

from agentgym.manifest import Manifest
from agentgym.records.pattern import is_cheap

FieldType: TypeAlias = Literal[
    "number", "amount", "date", "time", "datetime", "id", "name", "choice", "person", "yes_no"
]

RESERVED = "answer"
"""Name that no field may have: a text under this name stands for the whole form."""

_MOST_FIELDS = 20
_MOST_CHOICES = 50


def _fixed(text: str) -> str:
    if "{{" in text:
        raise ValueError(
            "expected text without slots: all instances of a task share its tools; "
            "put what differs into instruction.md"
        )
    return text


Told: TypeAlias = Annotated[str, StringConstraints(min_length=1), AfterValidator(_fixed)]
Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class AnswerField(Manifest):
    """One `[[answer.field]]`.

    Attributes:
        name: Name of the argument.
        type: What its value is.
        about: What the agent is told about it.
        unit: Unit of a number, such as ``days``; currency of an amount, such as ``EUR``.
        whole: Whether a number is whole.
        choices: Values of a choice.
        pattern: Regular expression that a whole id matches.
        list: Whether the value is a list of such values.
        optional: Whether it may be null or left out.
    """

    name: Name
    type: FieldType
    about: Told
    unit: Annotated[str, AfterValidator(_fixed)] = ""
    whole: bool = False
    choices: tuple[Told, ...] = ()
    pattern: str = ""
    list: bool = False
    optional: bool = False

    @model_validator(mode="after")
    def _fits_its_type(self) -> AnswerField:
        if self.name == RESERVED:
            raise ValueError(f"name: expected another name than {RESERVED!r}")
        for option, types in _OPTIONS.items():
            if getattr(self, option) and self.type not in types:
                raise ValueError(
                    f"{option}: only for type {' or '.join(types)}, got type {self.type!r}"
                )
        if self.type == "amount" and not self.unit:
            raise ValueError('type "amount": expected its currency, such as unit = "EUR"')
        if self.type == "choice" and not 2 <= len(set(self.choices)) <= _MOST_CHOICES:
            raise ValueError(f'type "choice": expected 2 to {_MOST_CHOICES} different choices')
        if self.pattern and not is_cheap(self.pattern):
            raise ValueError(
                f"pattern: expected a simple regular expression, got {self.pattern!r}: one part "
                "of any length at most, no repeated group, neither lookaround nor backreference"
            )
        return self


_OPTIONS = {
    "unit": ("number", "amount"),
    "whole": ("number",),
    "choices": ("choice",),
    "pattern": ("id",),
}
"""The types that each option is for."""


class AnswerForm(Manifest):
    """The `[answer]` table: a form that the agent fills in when it submits.

    Attributes:
        about: What the agent is told about the whole form; may be empty.
        field: Its fields.
    """

    about: Annotated[str, AfterValidator(_fixed)] = ""
    field: tuple[AnswerField, ...] = ()

    @model_validator(mode="after")
    def _has_names_once(self) -> AnswerForm:
        names = [field.name for field in self.field]
        if not 1 <= len(names) <= _MOST_FIELDS:
            raise ValueError(f"expected 1 to {_MOST_FIELDS} [[answer.field]], got {len(names)}")
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"expected another name, a field is named {twice!r} already")
        return self


def _tag(value: object) -> str:
    return "[answer]" if isinstance(value, dict | AnswerForm) else "[word]"


Answer: TypeAlias = Annotated[
    Annotated[Literal["text", "none"], Tag("[word]")] | Annotated[AnswerForm, Tag("[answer]")],
    Discriminator(_tag),
]
"""The value of `answer` in `task.toml`."""
