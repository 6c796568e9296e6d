"""The kinds of fields: what may be entered, how it is stored, and how a text shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeAlias

from agentgym.services import Service, ServiceError

from .spellings import spelled

Stored: TypeAlias = int | float | str

_REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9./-]{0,39}")
_EMAIL: Final = re.compile(r"[^\s@]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_MOST: Final = 1_000_000_000
_AMOUNT: Final = spelled("amount", unit="EUR")
_COUNT: Final = spelled("number", whole=True)
_DAY: Final = spelled("date")
_HOUR: Final = spelled("time")
_CODE: Final = spelled("id")
_ROW: Final = spelled("id", pattern=r"\d{1,9}")
_NAME: Final = spelled("person")


class UnfitError(Exception):
    """A value that a field does not take; the text says what it expects."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field.

    Attributes:
        expects: What has to be entered, for the reader of the form.
        read: Returns what is stored, or raises `UnfitError`.
        show: Returns the text of what is stored.
    """

    expects: str
    read: Callable[[Service, Any], Stored]
    show: Callable[[Service, Stored], str]


def _plain(service: Service, value: Stored) -> str:
    return str(value)


def _text(service: Service, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UnfitError
    return " ".join(value.split())


def _reference(service: Service, value: Any) -> str:
    code = _CODE(value)
    if not isinstance(value, str) or not _REFERENCE.fullmatch(code):
        raise UnfitError
    return str(code)


def _number(service: Service, value: Any) -> int:
    value = _COUNT(value)
    if value != value // 1 or abs(value) > _MOST:
        raise UnfitError
    return int(value)


def _decimals(places: int, unit: str = "") -> Callable[[Service, Any], float]:
    number = spelled("number", unit=unit)

    def read(service: Service, value: Any) -> float:
        value = number(value)
        if abs(value) > _MOST or abs(round(value, places) - value) > 1e-9:
            raise UnfitError
        return float(round(value, places))

    return read


def _euros(service: Service, value: Any) -> float:
    value = _AMOUNT(value)
    if value < 0:
        raise UnfitError
    return _decimals(2)(service, value)


def _show_euros(service: Service, value: Stored) -> str:
    return f"EUR {value:,.2f}"


def _show_decimal(service: Service, value: Stored) -> str:
    return f"{value:g}" if abs(float(value)) < 1e6 else f"{value:.0f}"


def _date(service: Service, value: Any) -> str:
    if not isinstance(value, str):
        raise UnfitError
    return str(_DAY(value))


def _show_date(service: Service, value: Stored) -> str:
    day = date.fromisoformat(str(value))
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _time(service: Service, value: Any) -> str:
    if not isinstance(value, str):
        raise UnfitError
    return str(_HOUR(value))


def _email(service: Service, value: Any) -> str:
    if not _EMAIL.fullmatch(value):
        raise UnfitError
    return str(value).lower()


def _person(service: Service, value: Any) -> str:
    """Return the main address of somebody in the address book."""
    by = "person_id = ?" if isinstance(value, int) else "lower(email) = lower(?)"
    sql = "SELECT DISTINCT main FROM contacts_address WHERE"
    found = service.db.column(f"{sql} {by}", value)
    if not found and isinstance(value, str) and "@" not in value:
        found = service.db.column(
            f"{sql} lower(name) = lower(?) AND status = 'active' ORDER BY 1", _called(value)
        )
    if len(found) > 1:
        raise UnfitError(f"several people are called {value!r}: {', '.join(found[:5])}")
    if not found:
        raise UnfitError
    return str(found[0]).lower()


def _called(value: str) -> str:
    """Return a name as the address book has it: "Nguyen, Gita" is Gita Nguyen."""
    try:
        return str(_NAME(value))
    except ValueError:  # not that of a person, or of one word
        return value.strip()


def _show_person(service: Service, value: Stored) -> str:
    sql = "SELECT name FROM contacts_address WHERE lower(main) = ? ORDER BY status LIMIT 1"
    return str(service.db.value(sql, value) or value)


def _handle(service: Service, value: Any) -> str:
    """Return the handle of a colleague, who may be named by it, too."""
    sql = "SELECT handle FROM contacts_person WHERE status = 'active' AND handle"
    if isinstance(value, str) and (found := service.db.value(f"{sql} = ?", value.lstrip("@"))):
        return str(found)
    email = _person(service, value)
    found = service.db.value(f"{sql} IS NOT NULL AND lower(email) = ?", email)
    if found is None:
        raise UnfitError
    return str(found)


def _existing(table: str, column: str) -> Callable[[Service, Any], Stored]:
    def read(service: Service, value: Any) -> Stored:
        if column == "id":
            value = int(_ROW(str(value)))
        found: Stored | None = service.db.value(
            f"SELECT {column} FROM {table} WHERE lower({column}) = lower(?)", value
        )
        if found is None:
            raise UnfitError
        return found

    return read


def _firm(service: Service, value: Any) -> str:
    found = service.db.value(
        "SELECT name FROM contacts_firm WHERE lower(name) = lower(?)"
        " UNION SELECT company FROM tickets_customer WHERE lower(company) = lower(?)",
        value,
        value,
    )
    if found is None:
        raise UnfitError
    return str(found)


def _shown(table: str, column: str) -> Callable[[Service, Stored], str]:
    def show(service: Service, value: Stored) -> str:
        return str(service.db.value(f"SELECT {column} FROM {table} WHERE id = ?", value))

    return show


def _show_contact(service: Service, value: Stored) -> str:
    sql = "SELECT company FROM contacts_person WHERE lower(email) = ? AND status = 'active'"
    return f"{_show_person(service, value)}, {service.db.value(sql, value) or ''}"


def _show_article(service: Service, value: Stored) -> str:
    title = service.db.value("SELECT title FROM knowledge_article WHERE id = ?", value)
    return f"“{title}” (no. {value})"


KINDS: Final[Mapping[str, Kind]] = {
    "amount": Kind("euros as a number, such as 1871.1", _euros, _show_euros),
    "article": Kind(
        "the number of an article", _existing("knowledge_article", "id"), _show_article
    ),
    "choice": Kind("one of the choices", _text, _plain),
    "contact": Kind(
        "somebody in the address book, by address, number or full name", _person, _show_contact
    ),
    "date": Kind("a date such as 2026-03-02", _date, _show_date),
    "decimal": Kind("a number such as 3.5", _decimals(3), _show_decimal),
    "email": Kind("an e-mail address, its domain in lower case", _email, _plain),
    "event": Kind(
        "the number of a meeting",
        _existing("calendar_event", "id"),
        _shown("calendar_event", "title"),
    ),
    "file": Kind(
        "the number of a file", _existing("files_item", "id"), _shown("files_item", "name")
    ),
    "firm": Kind("the full name of a firm in the address book", _firm, _plain),
    "gigabytes": Kind("gigabytes as a number, such as 3.5", _decimals(3, "GB"), _show_decimal),
    "group": Kind("the name of a group", _existing("contacts_group", "name"), _plain),
    "handle": Kind("a colleague, by address, number, full name or handle", _handle, _plain),
    "number": Kind("a whole number", _number, _plain),
    "person": Kind(
        "somebody in the address book, by address, number or full name", _person, _show_person
    ),
    "reference": Kind("a number or code such as INV-1041", _reference, _plain),
    "room": Kind("the name of a room", _existing("calendar_room", "name"), _plain),
    "text": Kind("a line of text", _text, _plain),
    "ticket": Kind("the number of a ticket", _existing("tickets_ticket", "id"), _plain),
    "time": Kind("a time such as 14:00", _time, _plain),
}


def read(service: Service, field: Mapping[str, Any], value: Any, where: str) -> Stored:
    """Return what a field stores of a value.

    Args:
        service: Any service of the state.
        field: The row of the field; ``choices`` is its closed list.
        value: What was entered.
        where: The argument that an error names.

    Raises:
        ServiceError: The field does not take this value.
    """
    kind = KINDS[field["kind"]]
    try:
        stored = kind.read(service, value)
        if field["choices"]:
            stored = _chosen(str(stored), field["choices"])
    except (UnfitError, TypeError, ValueError, AttributeError) as error:
        told = str(error) if isinstance(error, UnfitError) else ""
        expected = ", ".join(field["choices"]) or kind.expects
        told = told or f"expected {'one of: ' if field['choices'] else ''}{expected}"
        raise ServiceError("invalid", f"{field['name']}: {told}; got {value!r}", where) from None
    return stored


def _chosen(value: str, choices: list[str]) -> str:
    for one in choices:
        if one.casefold() == value.casefold():
            return one
    raise UnfitError
