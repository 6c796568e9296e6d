"""Records."""

import datetime
import re
from dataclasses import dataclass

from fieldkit.errors import FieldError

_LINE = re.compile(r"([a-z][a-z-]*):\s*(.*)$")


@dataclass(frozen=True)
class Field:
    """A field; `raw` is the text of its value."""

    name: str
    value: object
    line: int
    raw: str


class Record:
    """Fields by name, in the order of the text."""

    def __init__(self, fields=()):
        self.fields = tuple(fields)

    @classmethod
    def from_text(cls, text, *, names=None, strict=True, first=1):
        """Read one record."""
        fields = []
        for line, content in enumerate(text.split("\n"), first):
            if not content.strip():
                continue
            found = _LINE.match(content)
            if found is None:
                raise FieldError(f"expected NAME: VALUE, got {content!r}", line)
            if strict and names is not None and found[1] not in names:
                raise FieldError(f"unknown field {found[1]}", line)
            fields.append(Field(found[1], _value(found[2]), line, found[2]))
        return cls(fields)

    def get(self, name, default=None):
        """Return the field with a name, or the default."""
        return next((field for field in self.fields if field.name == name), default)

    def __getitem__(self, name):
        field = self.get(name)
        if field is None:
            raise FieldError(f"no field {name}")
        return field

    def __contains__(self, name):
        return self.get(name) is not None


def read(text, *, names=None, strict=True):
    """Read records that empty lines keep apart."""
    records, first = [], 1
    for block in re.split(r"(\n\s*\n)", text):
        if block.strip():
            records.append(Record.from_text(block, names=names, strict=strict, first=first))
        first += block.count("\n")
    return records


def write(file, records):
    """Write records with empty lines between them."""
    blocks = ["".join(f"{f.name}: {f.raw}\n" for f in record.fields) for record in records]
    file.write("\n".join(blocks))


def sort(records, name):
    """Return the records sorted by a field."""
    return sorted(records, key=lambda record: record[name].value)


def merge(old, new):
    """Return a record with the fields of both; where both have one, that of `new`."""
    kept = [field for field in old.fields if field.name not in new]
    return Record([*kept, *new.fields])


def _value(text):
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            return text
    return int(text) if re.fullmatch(r"-?\d+", text) else text
