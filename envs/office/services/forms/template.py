"""Forms as they are written down here, before they are entered into the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of a form.

    Attributes:
        name: Its name in calls, and as ``{name}`` in the text.
        label: What it is called on the form.
        kind: One of `kinds.KINDS`.
        choices: Its closed list; empty if it has none.
        required: Whether it has to be filled in.
    """

    name: str
    label: str
    kind: str = "choice"
    choices: Sequence[str] = ()
    required: bool = True


@dataclass(frozen=True, slots=True)
class Template:
    """A form.

    Attributes:
        id: Its id in calls.
        title: Its title.
        purpose: What it is for.
        place: ``mail``, ``note`` or ``reply`` (on a ticket), ``chat``.
        reader: Who reads it.
        body: The text, with ``{name}`` for fields, ``{to}`` for the readers of a mail and
            ``{lines}`` for the lines.
        slots: Its fields.
        subject: Subject of the mail, with ``{name}`` for fields.
        line: Text of a line.
        columns: The fields of a line; empty if it has no lines.
    """

    id: str
    title: str
    purpose: str
    place: str
    reader: str
    body: str
    slots: Sequence[Slot] = ()
    subject: str = ""
    line: str = ""
    columns: Sequence[Slot] = ()

    def enter(self, db: Any) -> None:
        """Write the form into the tables."""
        db.insert(
            "forms_form",
            id=self.id,
            title=self.title,
            purpose=self.purpose,
            place=self.place,
            reader=self.reader,
            subject=self.subject,
            body=self.body,
            line=self.line,
        )
        for position, slot in enumerate([*self.slots, *self.columns]):
            db.insert(
                "forms_field",
                form_id=self.id,
                position=position,
                name=slot.name,
                label=slot.label,
                kind=slot.kind,
                in_lines=slot in self.columns,
                required=slot.required,
            )
            for place, value in enumerate(slot.choices):
                db.insert(
                    "forms_choice", form_id=self.id, field=slot.name, position=place, value=value
                )
