"""Figures: every date, time, amount, number, id and address in a plain text, and its position.

A figure has one or more readings, because people write "at four" and "3/4/2026". A figure states
an expected value if one of its readings is that value.
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
``("url", text)``, ``("phone", digits)``. An expected value may also be ``("bare", Decimal)``, a
number with or without a currency, or ``("plain", Decimal)``, a number without one."""

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
_AROUND: Final = re.compile(r"^[\s,-]+|[\s,-]+$")
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
"""A prefix that belongs to an id, such as "no."; the "no" in "we have no R64820" is a denial."""
_COUNTED: Final = re.compile(
    r" ?(?:[kmgt]i?b|kg|km|min)\b| (?!(?:is|was|has|does|as|this|its|his|hers|yours)\b)[a-z]{2,}s\b"
)
"""A counted noun behind a number: "no 13 tickets" is a denial, "no 13 is closed" is not."""
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
        start: Index of its first character in the plain text.
        end: Index behind its last character.
        text: The figure as the plain text writes it.
        readings: Its possible meanings.
    """

    start: int
    end: int
    text: str
    readings: frozenset[Reading]

    def kinds(self) -> set[str]:
        """Return the kinds of its readings."""
        return {kind for kind, _ in self.readings}

    @property
    def is_count(self) -> bool:
        """Return whether it is a bare number of at most three, as in "two questions"."""
        return self.kinds() <= {"number"} and all(
            0 <= value <= 3 for kind, value in self.readings if kind == "number"
        )

    def means(self, wanted: Iterable[Reading]) -> bool:
        """Return whether one of its readings is wanted."""
        return any(same(one, other) for other in wanted for one in self.readings)


def same(one: Reading, other: Reading) -> bool:
    """Return whether the stated parts of two readings agree.

    A date without a year matches that day of any year; an amount without a currency matches any.
    """
    (kind, left), (other_kind, right) = one, other
    if kind != other_kind:
        return _bare(one, other) or _bare(other, one)
    if kind == "date":
        return same_day(left, right)
    return bool(left == right)


def _bare(one: Reading, other: Reading) -> bool:
    """Return whether one reading asks for a bare or plain number and the other is that number."""
    (kind, left), (other_kind, right) = one, other
    if kind == "plain":
        return other_kind == "number" and bool(left == right)
    if kind == "amount":
        return other_kind in ("number", "bare") and bool(left[0] == right)
    return kind == "bare" and other_kind == "number" and bool(left == right)


def find_figures(text: str) -> list[Figure]:
    """Return the figures of a plain text, in order and without overlap."""
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
    """Takes figures out of a text, kind by kind, and blanks their characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Figure] = []
        self._left = list(text)
        self._joined: str | None = text

    @property
    def left(self) -> str:
        """The text, with the characters of all found figures blanked."""
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
        """Return the start of a number with its sign, and 1 or -1: "-5", "minus 5", "-€5"."""
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
            shown = _AROUND.sub("", (sign or unit)[0])  # type: ignore[index]
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
        """Return whether a number behind "no" counts things and does not identify one."""
        whole = all(value == value.to_integral_value() for value in values)
        return not whole or _COUNTED.match("".join(self._left[end : end + 40])) is not None


def _decimals(text: str) -> set[Decimal]:
    """Return the values a number can have: its comma separates decimals or thousands."""
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
        except InvalidOperation:  # "1.234,5" with a repeated separator of thousands
            continue
    return values


def _phone(match: re.Match[str]) -> set[Reading]:
    digits = re.sub(r"\D", "", match[0])
    return {("phone", digits)} if len(digits) >= 7 else set()


def _even(text: str) -> str:
    """Put ' for blanks between thousands of money, and a blank for the T of an ISO instant.

    The length stays the same.
    """
    text = _INSTANT.sub(lambda m: f" {m[1]}".ljust(len(m[0])), text)
    return _THOUSANDS.sub(lambda m: (m[1] or m[3]) + (m[2] or m[4]).replace(" ", "'"), text)
