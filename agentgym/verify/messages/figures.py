"""Figures: every date, time, amount, number, id and address in a plain text, and where it stands.

A figure has one or more readings, because people write "at four" and "3/4/2026": what somebody
may say, or has to say, is said by a figure one of whose readings it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from agentgym.verify.messages.days import find_days, same_day
from agentgym.verify.messages.hours import find_hours
from agentgym.verify.messages.spelled import dictated, spelled_numbers

Reading: TypeAlias = tuple[str, Any]
"""Kind and value: ``("date", Day)``, ``("time", minutes)``, ``("amount", (Decimal, "EUR"))``,
``("number", Decimal)``, ``("percent", Decimal)``, ``("id", "inv72992")``, ``("email", text)``,
``("url", text)``, ``("phone", digits)``. What is wanted may be ``("bare", Decimal)``, a
number whether or not it has a currency, or ``("plain", Decimal)``, one that has none."""

KINDS: Final = ("date", "time", "amount", "number", "percent", "id", "email", "url", "phone")

_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_URL: Final = re.compile(
    r"\b(?:https?://|www\.)[^\s<>\"']{1,300}|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}"
    r"\.(?:example|com|org|net|io|eu|dev|info)\b(?:/[^\s<>\"']{0,200})?"
)
_PHONE: Final = re.compile(r"(?<![\w.,])(?:\+|\(?0)\d?[\d ()./-]{5,30}\d(?![\w])")
_ID: Final = re.compile(
    r"(?<![\w@.-])(?=[a-z-]{1,12}\d|[a-z0-9-]{0,12}[a-z]\d)[a-z][a-z0-9]{0,15}(?:[-_/][a-z0-9]{1,12}){0,4}(?![\w@])"
)
_NUMBER: Final = re.compile(
    r"(?:(?<=[\s#(\[\"'/=:,;~<>+€$£.-])|^)[+-]?"
    r"(\d{1,3}(?:[,.']\d{3})+(?:[.,]\d{1,2})?|\d{1,12}(?:[.,]\d{1,8})?)"
    r"(?:st|nd|rd|th)?( ?(?:k|m|thousand|million)\b)?(?=(?:[kmgt]i?b|kg|km|min)\b|[^\w@]|$)"
)
_CURRENCIES: Final = {
    "eur": "EUR", "euro": "EUR", "euros": "EUR", "€": "EUR",
    "usd": "USD", "dollar": "USD", "dollars": "USD", "$": "USD", "us$": "USD",
    "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "£": "GBP", "chf": "CHF",
    "cent": "CENT", "cents": "CENT",
}  # fmt: skip
_SIGN: Final = "|".join(map(re.escape, sorted(_CURRENCIES, key=len, reverse=True)))
_BEFORE: Final = re.compile(rf"(?:(?<![a-z])(?:{_SIGN}))\s?$")
_AFTER: Final = re.compile(rf"(?:,-)?[ -]?(?:{_SIGN})(?![a-z])")
_PERCENT: Final = re.compile(r" ?(?:%|per ?cent\b|percentage points?\b)")
_MINUS: Final = re.compile(r"\b(?:minus|negative) $")
_SIGNED: Final = re.compile(rf"(?:^|[\s(])-\s?(?:{_SIGN})\s?$")
"""A sign before the currency: "-EUR 5"."""
_NUMBERED: Final = re.compile(r"(?:#|\b(?:no|nr|num|number|nos)\.? ?#?)\s?$")
_ID_NUMBERED: Final = re.compile(
    r"(#|\b(?:no|nr|nos)\. ?#?)$|\b(?:invoice|ticket|offer|order|reference) ((?:no|nr|num) )$"
)
"""What stands before an id and belongs to it; "we have no R64820" denies."""
_COUNTED: Final = re.compile(
    r" ?(?:[kmgt]i?b|kg|km|min)\b| (?!(?:is|was|has|does|as|this|its|his|hers|yours)\b)[a-z]{2,}s\b"
)
"""What is counted behind a number: "no 13 tickets" denies, "no 13 is closed" does not."""
_THOUSANDS: Final = re.compile(
    rf"(?:(?<=€|\$|£)|(?<=€ |\$ |£ )|(?<=\beur )|(?<=\beuro )|(?<=\busd )|(?<=\bgbp ))"
    rf"(\d{{1,3}})((?: \d{{3}})+)(?!\d)"
    rf"|(?<![\d.,] )(?<![\d.,])(\d{{1,3}})((?: \d{{3}})+)(?=(?:[.,]\d\d)? ?(?:{_SIGN})(?![a-z]))"
)
_INSTANT: Final = re.compile(r"(?<=\d)t(\d\d:\d\d(?::\d\d)?)(?:z|\.0+z|[+]\d\d:\d\d)?")
_TAKEN: Final = "\x00"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a text.

    Attributes:
        start: Where it begins in the plain text.
        end: Where it ends.
        text: As it stands there.
        readings: What it can mean.
    """

    start: int
    end: int
    text: str
    readings: frozenset[Reading]

    def kinds(self) -> set[str]:
        """Return the kinds of its readings."""
        return {kind for kind, _ in self.readings}

    def means(self, wanted: Iterable[Reading]) -> bool:
        """Whether one of its readings is one of these."""
        return any(same(one, other) for other in wanted for one in self.readings)


def same(one: Reading, other: Reading) -> bool:
    """Whether two readings agree, as far as both say what they mean.

    A date without a year is that day of any year; an amount without a currency has any.
    """
    (kind, left), (other_kind, right) = one, other
    if kind != other_kind:
        return _bare(one, other) or _bare(other, one)
    if kind == "date":
        return same_day(left, right)
    return bool(left == right)


def _bare(one: Reading, other: Reading) -> bool:
    """Whether one is a number as such, which the other is too."""
    (kind, left), (other_kind, right) = one, other
    if kind == "plain":
        return other_kind == "number" and bool(left == right)
    if kind == "amount":
        return other_kind in ("number", "bare") and bool(left[0] == right)
    return kind == "bare" and other_kind == "number" and bool(left == right)


def find_figures(text: str) -> list[Figure]:
    """Return the figures of a plain text, in order; none overlaps another."""
    scan = _Scan(_even(text))
    scan.take(_EMAIL, lambda m: {("email", m[0].rstrip("."))})
    scan.take(_URL, lambda m: {("url", m[0].rstrip(".,;:!?)"))})
    for start, end, days in find_days(scan.left):
        readings: set[Reading] = {("date", day) for day in days}
        if re.fullmatch(r"\d{1,9}\.\d{1,9}\.", scan.left[start:end]):  # "5.10." may end a sentence
            readings.add(("number", Decimal(scan.left[start : end - 1])))
        scan.add(start, end, readings)
    scan.take(_PHONE, _phone)
    for start, end, minutes in find_hours(scan.left):
        scan.add(start, end, {("time", one) for one in minutes})
    for start, end, digits in list(dictated(scan.left)):
        scan.add(start, end, {("phone", digits), ("number", Decimal(digits))})
    left = scan.left
    for match in _ID.finditer(left):
        numbered = _ID_NUMBERED.search(left, max(0, match.start() - 20), match.start())
        begin = numbered.start(numbered.lastindex or 0) if numbered else match.start()
        scan.add(begin, match.end(), {("id", re.sub(r"[-_/]", "", match[0]))})
    scan.numbers()
    return _with_cents(sorted(scan.found, key=lambda figure: figure.start), scan.text)


def _with_cents(found: Sequence[Figure], text: str) -> list[Figure]:
    """Join an amount and its cents: "12 euros and 50 cents"."""
    joined: list[Figure] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and "cent" in one.text and text[last.end : one.start] in (" ", " and ", ", "):
            whole = [value for kind, value in last.readings if kind == "amount"]
            cents = [value for kind, value in one.readings if kind == "amount"]
            sums = {(a + b, c) for a, c in whole for b, d in cents if c == d and a == int(a)}
            if sums:
                readings = frozenset(("amount", value) for value in sums)
                joined[-1] = Figure(last.start, one.end, text[last.start : one.end], readings)
                continue
        joined.append(one)
    return joined


class _Scan:
    """Takes figures out of a text, kind by kind, and blanks what is taken."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Figure] = []
        self._left = list(text)
        self._joined: str | None = text

    @property
    def left(self) -> str:
        """The text, with what is taken blanked."""
        if self._joined is None:
            self._joined = "".join(self._left)
        return self._joined

    def take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], set[Reading]]) -> None:
        for match in list(pattern.finditer(self.left)):
            if readings := read(match):
                self.add(match.start(), match.end(), readings)

    def add(self, start: int, end: int, readings: set[Reading]) -> None:
        if _TAKEN in self._left[start:end]:
            return
        self.found.append(Figure(start, end, self.text[start:end], frozenset(readings)))
        self._left[start:end] = _TAKEN * (end - start)
        self._joined = None

    def numbers(self) -> None:
        for match in list(_NUMBER.finditer(self.left)):
            values = {one for text in (match[1],) for one in _decimals(text)}
            scale = {"k": 1000, "thousand": 1000, "m": 10**6, "million": 10**6}.get(
                (match[2] or "").strip(), 1
            )
            start, sign = self._signed(match.start())
            self._number(start, match.end(), {sign * scale * value for value in values})
        for start, end, value in list(spelled_numbers(self.left)):
            minus = _MINUS.search("".join(self._left[max(0, start - 20) : start]))
            begin = start - len(minus[0]) if minus else start
            self._number(begin, end, {-value if minus else value})

    def _signed(self, start: int) -> tuple[int, int]:
        """Return where a number begins with its sign, and 1 or -1: "-5", "minus 5", "-€5"."""
        before = "".join(self._left[max(0, start - 20) : start])
        if self._left[start] in "+-":
            return start, -1 if self._left[start] == "-" else 1
        if minus := _MINUS.search(before):
            return start - len(minus[0]), -1
        signed = _SIGNED.search(before)
        return start, -1 if signed else 1

    def _number(self, start: int, end: int, values: set[Decimal]) -> None:
        before = "".join(self._left[max(0, start - 12) : start])
        after = "".join(self._left[end : end + 20])
        if percent := _PERCENT.match(after):
            self.add(start, end + percent.end(), {("percent", value) for value in values})
            return
        sign, unit = _BEFORE.search(before), _AFTER.match(after)
        if sign or unit:
            shown = (sign or unit)[0].strip(" -,")  # type: ignore[index]
            currency = _CURRENCIES[shown]
            if currency == "CENT":
                currency, values = "EUR", {value / 100 for value in values}
            begin = start - len(sign[0]) if sign else start
            finish = end + unit.end() if unit and not sign else end
            self.add(begin, finish, {("amount", (value, currency)) for value in values})
            return
        numbered = _NUMBERED.search(before)
        if numbered and not (numbered[0].strip() == "no" and self._counts(end, values)):
            start -= len(numbered[0])
        self.add(start, end, {("number", value) for value in values})

    def _counts(self, end: int, values: set[Decimal]) -> bool:
        """Whether a number behind "no" is an amount of something and not a number of it."""
        whole = all(value == value.to_integral_value() for value in values)
        return not whole or _COUNTED.match("".join(self._left[end : end + 40])) is not None


def _decimals(text: str) -> set[Decimal]:
    """Return what a number can mean: a comma is a decimal one or one of thousands."""
    text = text.replace("'", "")
    found = set()
    grouped = re.fullmatch(r"\d{1,3}(?:([.,])\d{3})+(?:[.,]\d{1,2})?", text)
    if grouped:
        sign = grouped[1]
        found.add(text.replace(sign, "").replace(",", "."))
    if re.fullmatch(r"\d+(?:[.,]\d+)?", text):
        found.add(text.replace(",", "."))
    values = set()
    for one in found:
        try:
            values.add(Decimal(one))
        except InvalidOperation:  # "1.234,5" with the sign of thousands used twice
            continue
    return values


def _phone(match: re.Match[str]) -> set[Reading]:
    digits = re.sub(r"\D", "", match[0])
    return {("phone", digits)} if len(digits) >= 7 else set()


def _even(text: str) -> str:
    """Put commas where blanks separate thousands of money, a blank into an ISO instant.

    The length stays the same.
    """
    text = _INSTANT.sub(lambda m: f" {m[1]}".ljust(len(m[0])), text)
    return _THOUSANDS.sub(lambda m: (m[1] or m[3]) + (m[2] or m[4]).replace(" ", ","), text)
