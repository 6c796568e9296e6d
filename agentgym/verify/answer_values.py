"""Values of answer fields: what each type accepts, and the one form in which a value is kept.

A value is accepted in every usual spelling that has one meaning ("3 pm", "1.250,00 €", "#13").
Anything else is refused with words that say what to write, so a refusal costs a step and no more.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from agentgym.records import Json
from agentgym.task.answer import AnswerField
from agentgym.verify.messages.figures import Figure, find_figures
from agentgym.verify.messages.hours import find_hours
from agentgym.verify.messages.plain import plain
from agentgym.verify.values import brief, is_number

_MOST_CHARS: Final = 200
_MOST_ITEMS: Final = 200
_LARGEST: Final = 10**15
_ID_CHARS: Final = 64
_NAME_CHARS: Final = 80
_ID_PREFIX: Final = re.compile(
    # In "order-7" the word is a part of the id.
    r"(?:(?:ticket|invoice|order|offer|event|article|message|mail|file|number|no|nr|id)"
    r"\b\.?\s*+(?![-/_.])|#\s*){1,3}",
    re.IGNORECASE,
)
_ONE: Final = re.compile(r"^one\b")
_NUMBERED: Final = re.compile(r"^\d{1,2}[.)] ")
_TITLE: Final = re.compile(r"(?:mr|mrs|ms|miss|dr|prof)\.?\s+", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\s*<[^<>\s]{1,100}>$")
_NAME: Final = re.compile(r"[^\W\d_]+(?:[.'’-][^\W\d_]+)*\.?")
_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00)?")
_YES: Final = {"yes": True, "true": True, "y": True, "no": False, "false": False, "n": False}
_BETWEEN: Final = re.compile(r"[\s,]*(?:\b(?:at|on|the)\b[\s,]*)*")


def read_value(field: AnswerField, value: Json) -> Json:
    """Return a value of a field in the form in which it is kept.

    Raises:
        ValueError: It is no value of this type, or may mean two; says what to write.
    """
    if value is None or (value == "" and field.optional):
        if field.optional:
            return None
        raise ValueError(f"expected {describe(field)}, got null")
    if not field.list:
        return _read_one(field, value)
    items = _split(field, value) if isinstance(value, str) else value
    if isinstance(items, str) or not isinstance(items, list | tuple):
        raise ValueError(f"expected a list, each item {_kind(field)}, got {brief(value)}")
    if len(items) > _MOST_ITEMS:
        raise ValueError(f"expected at most {_MOST_ITEMS} items, got {len(items)}")
    return [_read_one(field, item) for item in items]


def describe(field: AnswerField) -> str:
    """Return what a value of a field is, for the agent."""
    return f"a list, each item {_kind(field)}" if field.list else _kind(field)


def _kind(field: AnswerField) -> str:
    if field.type == "amount":
        return f"an amount in {field.unit}, such as 1250.5"
    if field.type == "number":
        kind = "a whole number" if field.whole else "a number"
        return f"{kind} of {field.unit}" if field.unit else kind
    if field.type == "choice":
        return f"one of {', '.join(map(repr, field.choices))}"
    return _KINDS[field.type]


_KINDS: Final[Mapping[str, str]] = {
    "date": "a date as YYYY-MM-DD",
    "time": "a time of day as HH:MM, 24 hours",
    "datetime": "a date and time as YYYY-MM-DDTHH:MM, without a time zone",
    "id": "an id, without other words",
    "name": "one name, without other words",
    "person": "the full name of one person",
    "yes_no": "true or false",
}


def _read_one(field: AnswerField, value: Json) -> Json:
    if isinstance(value, str) and len(value) > _MOST_CHARS:
        raise ValueError(f"expected {_kind(field)}, got a text of {len(value)} characters")
    return _READERS[field.type](field, value)


def _wrong(field: AnswerField, value: Json) -> ValueError:
    return ValueError(f"expected {_kind(field)}, got {brief(value)}")


def _unclear(field: AnswerField, value: Json) -> ValueError:
    return ValueError(f"expected {_kind(field)}; {brief(value)} can mean two things")


def _split(field: AnswerField, text: str) -> list[str]:
    """Return the items of a list that is written as text."""
    # A comma may belong to a number, a day or the name of a person, and "and" to that of a firm.
    signs = r"[;\n]"
    if field.type in ("id", "choice", "time"):
        signs = r"[,;\n]|\band\b"
    elif field.type == "name":
        signs = r"[,;\n]"
        if re.search(r"\band\b", text):
            raise ValueError(f"expected {describe(field)}; {brief(text)} can mean two things")
    return [item.strip(" \t-*•") for item in re.split(signs, text) if item.strip(" \t-*•")]


# --- numbers --------------------------------------------------------------------------------


def _number(field: AnswerField, value: Json) -> Json:
    if is_number(value):
        number = _decimal(field, value)
    elif isinstance(value, str):
        number = _spelled_number(field, value)
    else:
        raise _wrong(field, value)
    if abs(number) > _LARGEST:
        raise _wrong(field, value)
    whole = number == int(number)
    if field.whole and not whole:
        raise _wrong(field, value)
    return int(number) if whole else float(number)


def _decimal(field: AnswerField, value: int | float) -> Decimal:
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(field, value)
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _spelled_number(field: AnswerField, value: str) -> Decimal:
    figure, rest = _only_figure(field, value)
    found = set()
    for kind, read in figure.readings:
        if kind == "amount":
            amount, currency = read
            if field.type != "amount" or currency != field.unit.upper():
                raise _wrong(field, value)
            found.add(amount)
        elif kind == "number" or (kind == "percent" and field.unit in ("%", "percent")):
            found.add(read)
    units = {"", field.unit.casefold(), field.unit.casefold().removesuffix("s")}
    if not found or rest not in units:
        raise _wrong(field, value)
    if len(found) > 1:
        raise _unclear(field, value)
    return Decimal(found.pop())


def _only_figure(field: AnswerField, value: str) -> tuple[Figure, str]:
    """Return the only figure of a text, and the words around it."""
    text = plain(value).strip().removesuffix(".")
    if not (figures := find_figures(text)):  # "one" is a pronoun in a sentence, a number here
        text = _ONE.sub("1", text)
        figures = find_figures(text)
    if len(figures) != 1:
        raise _wrong(field, value)
    one = figures[0]
    return one, f"{text[: one.start]} {text[one.end :]}".strip(" .\n")


# --- days and hours ---------------------------------------------------------------------------


def _date(field: AnswerField, value: Json) -> Json:
    if not isinstance(value, str):
        raise _wrong(field, value)
    figure, rest = _only_figure(field, value)
    return _day(field, value, figure) if not rest else _refuse(field, value)


def _day(field: AnswerField, value: str, figure: Figure) -> str:
    days = [day for kind, day in figure.readings if kind == "date"]
    if not days or not all(day.year for day in days):
        raise _wrong(field, value)
    if len({(day.year, day.month, day.day) for day in days}) > 1:
        raise _unclear(field, value)
    found = date(days[0].year, days[0].month, days[0].day)
    if days[0].weekday not in (None, found.weekday()):
        raise ValueError(f"{brief(value)}: {found} is a {found:%A}")
    return found.isoformat()


def _time(field: AnswerField, value: Json) -> Json:
    if not isinstance(value, str):
        raise _wrong(field, value)
    text = plain(value).strip().removesuffix(".")
    hours = list(find_hours(text))
    if len(hours) != 1 or (text[: hours[0][0]] + text[hours[0][1] :]).strip(" ."):
        raise _wrong(field, value)
    return _clock(field, value, hours[0][2])


def _clock(field: AnswerField, value: str, minutes: set[int]) -> str:
    if len(minutes) != 1:
        raise _unclear(field, value)
    (one,) = minutes
    return f"{one // 60:02}:{one % 60:02}"


def _datetime(field: AnswerField, value: Json) -> Json:
    if not isinstance(value, str):
        raise _wrong(field, value)
    text = value.strip()
    if stamp := _STAMP.fullmatch(text):
        text = f"{stamp[1]} {stamp[2]}"
    elif re.search(r"\d(?:[Zz]|[+-]\d\d:?\d\d)$", text):
        raise _wrong(field, value)
    text = plain(text)
    figures = find_figures(text)
    by_kind = {kind: one for one in figures for kind in one.kinds()}
    if len(figures) != 2 or not {"date", "time"} <= by_kind.keys():
        raise _wrong(field, value)
    first, second = figures
    around = (text[: first.start], text[first.end : second.start], text[second.end :].strip("."))
    if not all(_BETWEEN.fullmatch(part) for part in around):
        raise _wrong(field, value)
    day = _day(field, value, by_kind["date"])
    minutes = {one for kind, one in by_kind["time"].readings if kind == "time"}
    return f"{day}T{_clock(field, value, minutes)}"


def _refuse(field: AnswerField, value: Json) -> Json:
    raise _wrong(field, value)


# --- names ----------------------------------------------------------------------------------------


def _id(field: AnswerField, value: Json) -> Json:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _wrong(field, value)
    text = unicodedata.normalize("NFKC", value).strip(" \t\n`'\"“”.")
    bare = text
    if prefix := _ID_PREFIX.match(text):
        bare = text[prefix.end() :]
    parts = bare.upper().split()
    tries = (text, bare, bare.upper(), bare.lower(), "-".join(parts), "".join(parts))
    for one in tries if field.pattern else (bare,):
        fits = re.fullmatch(field.pattern, one) if field.pattern else one and one.split() == [one]
        if fits and len(one) <= _ID_CHARS:
            return one
    raise _wrong(field, value)


def _choice(field: AnswerField, value: Json) -> Json:
    if isinstance(value, str):
        wanted = _folded(value)
        for choice in field.choices:
            if _folded(choice) == wanted:
                return choice
    raise _wrong(field, value)


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[\s_-]+", " ", fold(text)).strip(" .'\"`").split())


def _person(field: AnswerField, value: Json) -> Json:
    if not isinstance(value, str):
        raise _wrong(field, value)
    text = _ADDRESS.sub("", unicodedata.normalize("NFKC", value).strip(" \t\n.'\"`"))
    text = _TITLE.sub("", text, count=1)
    if text.count(",") == 1:
        last, first = text.split(",")
        text = f"{first} {last}"
    words = text.split()
    if not 2 <= len(words) <= 6 or not all(_NAME.fullmatch(word) for word in words):
        raise _wrong(field, value)
    return " ".join(words)


def _name(field: AnswerField, value: Json) -> Json:
    text = " ".join(unicodedata.normalize("NFKC", value).split()) if isinstance(value, str) else ""
    text = _NUMBERED.sub("", text).strip(" `'\"“”")
    if not 1 <= len(text) <= _NAME_CHARS or not any(c.isalnum() for c in text):
        raise _wrong(field, value)
    return text


def _yes_no(field: AnswerField, value: Json) -> Json:
    if isinstance(value, bool):
        return value
    found = _YES.get(value.strip(" \t\n.'\"`").casefold()) if isinstance(value, str) else None
    if found is None:
        raise _wrong(field, value)
    return found


_READERS: Final[Mapping[str, Callable[[AnswerField, Json], Json]]] = {
    "number": _number,
    "amount": _number,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "id": _id,
    "name": _name,
    "choice": _choice,
    "person": _person,
    "yes_no": _yes_no,
}


def fold(text: str) -> str:
    """Return text in the form in which texts of answers are compared: no case, no accents."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(c for c in apart if unicodedata.category(c) not in ("Mn", "Cf"))
    return " ".join(kept.replace("’", "'").split())
