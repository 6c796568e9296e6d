"""Days in plain text, in every usual spelling, with their possible meanings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from agentgym.verify.messages.spelled import ORDINALS

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
_MONTH: Final = "|".join([*MONTHS, r"sept\.?", *(rf"{m[:3]}\.?" for m in MONTHS)])
_WEEKDAY: Final = rf"(?:{'|'.join(WEEKDAYS)}|(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\.?)"
_NTH: Final = "|".join(sorted(ORDINALS, key=len, reverse=True))
_DAY: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.)?|(?:twenty|thirty)-(?:{_NTH})|{_NTH})"
_YEAR: Final = r"(?:,? (?:in |of )?(\d{4})(?!\d|[:.-]\d))?"
_JOIN: Final = r"(?: ?(?:,|/|&|\+|-) ?(?:and )?| (?:and|or|to|until) (?:the |on )?)"
_LEAD: Final = rf"(?:\b({_WEEKDAY}),?(?: the)? )?"
_DAYS_FIRST: Final = re.compile(
    rf"{_LEAD}(?<![\w.:/-])((?:{_DAY}{_JOIN}(?:{_WEEKDAY},? (?:the )?)?){{0,6}}{_DAY})"
    rf"(?: of)? ({_MONTH})(?![a-z]){_YEAR}"
)
_MONTH_FIRST: Final = re.compile(
    rf"{_LEAD}\b({_MONTH})(?![a-z])(?:,? the)? ({_DAY}(?:{_JOIN}{_DAY}){{0,6}})(?![\w%]|:\d){_YEAR}"
)
_ISO: Final = re.compile(rf"{_LEAD}(?<![\d-])(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}})(?![\d-])")
_SLASHED: Final = re.compile(
    rf"{_LEAD}(?<![\d./-])(\d{{1,2}})([./-])(\d{{1,2}})\3(\d{{4}}|\d\d)(?![\d/-])"
)
_SHORT: Final = re.compile(
    rf"{_LEAD}(?<![\d./:€$£-])(?<!eur )(?<!usd )(\d{{1,2}})\.(0?[1-9]|1[0-2])\.(?=[\s,:;)]|$)"
)
_SLASHED_SHORT: Final = re.compile(r"(?<![\d./:-])(\d{1,2})/(\d{1,2})(?![\d/.])")
_NAKED: Final = re.compile(rf"{_LEAD}\b(?:the )?(\d{{1,2}})(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class Day:
    """A day; year and month are 0 if the text does not state them.

    Attributes:
        weekday: 0 is Monday; None if the text states no weekday.
    """

    year: int
    month: int
    day: int
    weekday: int | None = None

    def __str__(self) -> str:
        return f"{self.year or '????'}-{self.month or '??':02}-{self.day:02}"

    @classmethod
    def parse(cls, value: str) -> Day:
        """Return the day of an ISO date.

        Raises:
            ValueError: The value is not an ISO date.
        """
        found = date.fromisoformat(value[:10])
        return cls(found.year, found.month, found.day)


def same_day(one: Day, other: Day) -> bool:
    """Return whether the stated parts of two days agree; a wrong weekday is another day."""
    if one.day != other.day:
        return False
    if one.month and other.month and one.month != other.month:
        return False
    if one.year and other.year and one.year != other.year:
        return False
    return _weekday_fits(one, other) and _weekday_fits(other, one)


def _weekday_fits(one: Day, other: Day) -> bool:
    if one.weekday is None:
        return True
    year, month = one.year or other.year, one.month or other.month
    if not year or not month:
        return other.weekday in (None, one.weekday)
    return date(year, month, one.day).weekday() == one.weekday


def weekdays_of(days: Iterable[Day]) -> Iterator[str]:
    """Yield the names of the weekdays of some days, if the days determine them."""
    for one in days:
        if one.weekday is not None:
            yield WEEKDAYS[one.weekday]
        elif one.year and one.month:
            yield WEEKDAYS[date(one.year, one.month, one.day).weekday()]


def find_days(text: str) -> Iterator[tuple[int, int, list[Day]]]:
    """Yield the days of a plain text: start, end, possible meanings.

    Several days may share a month ("10 and 24 March"); each of them is yielded.
    """
    taken = bytearray(len(text))
    for found in _all(text):
        start, end, days = found
        if days and not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            yield found


def _all(text: str) -> Iterator[tuple[int, int, list[Day]]]:
    for m in _ISO.finditer(text):
        yield m.start(), m.end(), _days([(m[2], m[3], m[4])], m[1])
    for m in _SLASHED.finditer(text):
        year = m[5] if len(m[5]) == 4 else f"20{m[5]}"
        both = [(year, m[4], m[2]), (year, m[2], m[4])]
        yield m.start(), m.end(), _days(both[:1] if m[3] == "." else both, m[1])
    for m in _DAYS_FIRST.finditer(text):
        yield from _several(m.start(), m.start(2), m.end(), m[2], m[3], m[4] or "0", m[1])
    for m in _MONTH_FIRST.finditer(text):
        yield from _several(m.start(), m.start(3), m.end(), m[3], m[2], m[4] or "0", m[1])
    for m in _SHORT.finditer(text):
        yield m.start(), m.end(), _days([("0", m[3], m[2])], m[1])
    for m in _SLASHED_SHORT.finditer(text):
        yield m.start(), m.end(), _days([("0", m[2], m[1]), ("0", m[1], m[2])], None)
    for m in _NAKED.finditer(text):
        yield m.start(), m.end(), _days([("0", "0", m[2])], m[1])


def _several(
    first: int, start: int, end: int, listed: str, month: str, year: str, weekday: str | None
) -> Iterator[tuple[int, int, list[Day]]]:
    found = list(re.finditer(_DAY, listed))
    number = str(next(i for i, m in enumerate(MONTHS, 1) if m.startswith(month[:3])))
    for place, match in enumerate(found):
        lead = re.search(rf"({_WEEKDAY}),? (?:the )?$", listed[: match.start()])
        days = _days([(year, number, match[0])], weekday if place == 0 else lead and lead[1])
        begin = first if place == 0 else start + (lead.start() if lead else match.start())
        last = place == len(found) - 1
        yield begin, end if last else start + match.end(), days


def _days(texts: Iterable[tuple[str, str, str]], weekday: str | None) -> list[Day]:
    named = None
    if weekday:
        named = next(i for i, name in enumerate(WEEKDAYS) if name.startswith(weekday[:3]))
    found = []
    for year, month, day in texts:
        one = Day(int(year), int(month), _number(day), named)
        try:
            date(one.year or 2024, one.month or 1, one.day)
        except ValueError:
            continue
        found.append(one)
    return list(dict.fromkeys(found))


def _number(day: str) -> int:
    if digits := re.match(r"\d+", day):
        return int(digits[0])
    tens, _, units = day.rpartition("-")
    return {"": 0, "twenty": 20, "thirty": 30}[tens] + ORDINALS[units]
