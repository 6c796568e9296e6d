"""Facts in free text: whether a text states a date, a time, a number or a word.

Text is compared after Unicode NFKC and case folding. A denied fact counts as mentioned, so a check
should also list the facts that must not appear, or forbid all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.matching import normal
from agentgym.verify.values import brief, is_number

MOST_CHARS: Final = 4000

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH: Final = "|".join(
    f"{m}|{m[:3]}\\.?|sept\\.?" if m[0] == "s" else f"{m}|{m[:3]}\\.?" for m in MONTHS
)
_ORDINAL: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:,?\s+(\d{4}))?"
_ISO_DATE: Final = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?=\D|$)")
_DAY_FIRST: Final = re.compile(rf"(?<![\w.:]){_ORDINAL}(?:\s+of)?\s+({_MONTH})\b{_YEAR}(?!\d)")
_MONTH_FIRST: Final = re.compile(rf"\b({_MONTH})\s+(?:the\s+)?{_ORDINAL}(?![\w:]){_YEAR}(?!\d)")
_DOTTED: Final = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
_CLOCK: Final = re.compile(
    r"(?<![\d:.])(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])\.?m\b\.?)?(?![\d:])"
)
_HOUR: Final = re.compile(r"(?<![\d:.,])(\d{1,2})\s*([ap])\.?m\b\.?")
_NUMBER: Final = re.compile(
    r"(?<![\w.,])[-+]?(?:\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+|\d+)(?:\.\d+)?(?![\d])"
)
_WORDS: Final = {
    word: Decimal(number)
    for number, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"), 2
    )
}


@dataclass(frozen=True, slots=True)
class _Day:
    """A date; its year is 0 if the text gives no year."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.year or '????'}-{self.month:02}-{self.day:02}"

    def is_one_of(self, others: Sequence[_Day]) -> bool:
        """Return whether one of these dates is the same; years count if both have one."""
        return any(
            (self.month, self.day) == (one.month, one.day)
            and self.year in (0, one.year)
            or (self.month, self.day) == (one.month, one.day)
            and one.year == 0
            for one in others
        )


class Said:
    """The facts in a text.

    Args:
        text: Any length; only the first `MOST_CHARS` × 4 characters are searched.
    """

    def __init__(self, text: str) -> None:
        self.text = normal(text[: 4 * MOST_CHARS])
        rest, self.dates = _take_dates(self.text)
        rest, self.times = _take_times(rest)
        self.numbers = [_decimal(found) for found in _NUMBER.findall(rest)]
        self.counted = [_WORDS[word] for word in re.findall(r"[a-z]+", rest) if word in _WORDS]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a text may state.

    Attributes:
        shown: The fact in messages.
        kind: ``text``, ``date``, ``time`` or ``number``; ``any`` for alternatives.
        said: Returns whether a text states the fact.
        parts: The alternatives of an ``any``.
        value: The value of a date, time or number.
    """

    shown: str
    kind: str
    said: Callable[[Said], bool]
    parts: tuple[Fact, ...] = ()
    value: object = None

    def __str__(self) -> str:
        return self.shown


@dataclass(frozen=True, slots=True)
class Mentions:
    """The facts that a text has to state, may state and must not state.

    Attributes:
        facts: Facts that have to be stated.
        forbids: Facts that must not be stated.
        may: Facts that may be stated; `only` does not count them as other facts.
        only: Kinds of which no other facts may be stated: ``dates``, ``times``, ``numbers``.
        most_chars: Maximum length of the text; a dump of everything does not count as an answer.
    """

    facts: Sequence[Fact]
    forbids: Sequence[Fact]
    may: Sequence[Fact]
    only: Sequence[str]
    most_chars: int

    def fault(self, text: str) -> str:
        """Return what is wrong with a text, forbidden statements first; empty if it is right."""
        return self.excess(text) or self.lack(text)

    def excess(self, text: str) -> str:
        """Return what a text states but should not; empty if there is no such statement."""
        if len(text) > self.most_chars:
            return f"has {len(text)} characters, expected at most {self.most_chars}"
        said = Said(text)
        for fact in self.forbids:
            if fact.said(said):
                return f"mentions {fact}, which it must not"
        known = _leaves([*self.facts, *self.may])
        for kind in self.only:
            if other := _others(kind, said, known):
                return f"mentions {other}, expected no {kind} beside what is asked for"
        return ""

    def lack(self, text: str) -> str:
        """Return what a text should state but does not; empty if it states everything."""
        said = Said(text)
        missing = [str(fact) for fact in self.facts if not fact.said(said)]
        return f"does not mention {', '.join(missing[:4])}" if missing else ""


def mentions(
    facts: object, forbids: object = (), may: object = (), only: object = (), most_chars: object = 0
) -> Mentions:
    """Read from a rubric what a text has to state.

    Raises:
        VerifierError: An argument does not have the expected form.
    """
    if isinstance(only, str) or not isinstance(only, Sequence):
        raise VerifierError(f"only: expected a list, got {only!r}")
    for kind in only:
        if kind not in _KINDS:
            raise VerifierError(f"only: {NotFoundError('kind', str(kind), _KINDS)}")
    if (
        not isinstance(most_chars, int)
        or isinstance(most_chars, bool)
        or not (1 <= most_chars <= 4 * MOST_CHARS)
    ):
        raise VerifierError(f"most_chars: expected 1 to {4 * MOST_CHARS}, got {most_chars!r}")
    wanted, never = _facts("facts", facts), _facts("forbids", forbids)
    if not (wanted or never or only):
        raise VerifierError("expected facts, forbids or only; got none of them")
    return Mentions(wanted, never, _facts("may", may), list(only), most_chars)


_KINDS: Final = ("dates", "times", "numbers")


def _facts(name: str, facts: object) -> list[Fact]:
    if isinstance(facts, (str, Mapping)) or not isinstance(facts, Sequence):
        raise VerifierError(f"{name}: expected a list of facts, got {brief(facts)}")
    return [_fact(name, one) for one in facts]


def _fact(name: str, value: object) -> Fact:
    if is_number(value):
        value = {"number": value}
    if isinstance(value, str):
        value = {"text": value}
    if isinstance(value, Mapping) and "any" in value and len(value) == 1:
        parts = tuple(_facts(f"{name}.any", value["any"]))
        if not parts:
            raise VerifierError(f"{name}.any: expected a list of facts, got []")
        shown = " or ".join(map(str, parts))
        return Fact(shown, "any", lambda said: any(part.said(said) for part in parts), parts)
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _MAKERS:
        raise VerifierError(
            f"{name}: expected text, a number or one of {{{' = …}, {'.join(_MAKERS)} = …}}, "
            f"{{any = […]}}; got {value!r}"
        )
    ((kind, inner),) = value.items()
    return _MAKERS[kind](name, inner)


def _text_fact(name: str, value: object) -> Fact:
    if is_number(value):
        value = str(value)
    if not isinstance(value, str) or not normal(value):
        raise VerifierError(f"{name}.text: expected text, got {value!r}")
    wanted = normal(value)
    # A word does not match inside another word, nor a number inside a longer one.
    before = r"(?<!\w)(?<!\d[.,:])" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)(?![.,:]\d)" if re.search(r"\w\Z", wanted) else ""
    pattern = re.compile(before + re.escape(wanted) + after)
    return Fact(repr(value), "text", lambda said: pattern.search(said.text) is not None)


def _date_fact(name: str, value: object) -> Fact:
    try:
        day = date.fromisoformat(str(value)[:10])
    except ValueError:
        raise VerifierError(f"{name}.date: expected YYYY-MM-DD, got {value!r}") from None
    wanted = _Day(day.year, day.month, day.day)
    return Fact(str(day), "date", lambda said: wanted.is_one_of(said.dates), value=wanted)


def _time_fact(name: str, value: object) -> Fact:
    found = re.fullmatch(r"(\d{2}):(\d{2})", str(value))
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise VerifierError(f"{name}.time: expected HH:MM of 24 hours, got {value!r}")
    minutes = 60 * int(found[1]) + int(found[2])
    return Fact(str(value), "time", lambda said: minutes in said.times, value=minutes)


def _number_fact(name: str, value: object) -> Fact:
    if not is_number(value):
        raise VerifierError(f"{name}.number: expected a number, got {value!r}")
    wanted = Decimal(str(value))
    return Fact(
        str(value),
        "number",
        lambda said: wanted in said.numbers or wanted in said.counted,
        value=wanted,
    )


_MAKERS: Final[Mapping[str, Callable[[str, object], Fact]]] = {
    "text": _text_fact,
    "date": _date_fact,
    "time": _time_fact,
    "number": _number_fact,
}


def _leaves(facts: Sequence[Fact]) -> list[Fact]:
    return [leaf for fact in facts for leaf in (_leaves(fact.parts) if fact.parts else [fact])]


def _others(kind: str, said: Said, known: Sequence[Fact]) -> str:
    """Return the other facts of a kind that a text states; empty if it states no others."""
    values = [fact.value for fact in known if f"{fact.kind}s" == kind]
    if kind == "dates":
        days = [value for value in values if isinstance(value, _Day)]
        return next((str(day) for day in said.dates if not day.is_one_of(days)), "")
    if kind == "times":
        odd = next((one for one in said.times if one not in values), None)
        return "" if odd is None else f"{odd // 60:02}:{odd % 60:02}"
    spelled = Said(" ; ".join(fact.shown for fact in known if fact.kind == "text")).numbers
    odds = [one for one in said.numbers if one not in values and one not in spelled]
    return str(odds[0]) if odds else ""


def _take_dates(text: str) -> tuple[str, list[_Day]]:
    """Return a text without its dates, and the dates."""
    found: list[_Day] = []

    def take(read: Callable[[re.Match[str]], _Day]) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            day = read(match)
            if not _exists(day):
                return match[0]
            found.append(day)
            return " "

        return replace

    # An ISO time follows the T of its date.
    text = _ISO_DATE.sub(take(lambda m: _Day(int(m[1]), int(m[2]), int(m[3]))), text)
    text = _DAY_FIRST.sub(take(lambda m: _Day(int(m[3] or 0), _month(m[2]), int(m[1]))), text)
    text = _MONTH_FIRST.sub(take(lambda m: _Day(int(m[3] or 0), _month(m[1]), int(m[2]))), text)
    text = _DOTTED.sub(take(lambda m: _Day(int(m[3]), int(m[2]), int(m[1]))), text)
    return text, found


def _exists(day: _Day) -> bool:
    try:
        date(day.year or 2024, day.month, day.day)
    except ValueError:
        return False
    return True


def _month(name: str) -> int:
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))


def _take_times(text: str) -> tuple[str, list[int]]:
    """Return a text without its times of day, and these times in minutes."""
    found: list[int] = []

    def clock(match: re.Match[str]) -> str:
        hour, minute = int(match[1]), int(match[2])
        return _note(found, match, hour, minute, match[3])

    def hour(match: re.Match[str]) -> str:
        return _note(found, match, int(match[1]), 0, match[2])

    return _HOUR.sub(hour, _CLOCK.sub(clock, text)), found


def _note(found: list[int], match: re.Match[str], hour: int, minute: int, half: str | None) -> str:
    if half is not None:
        hour = hour % 12 + (12 if half == "p" else 0) if 1 <= hour <= 12 else 24
    if hour > 23 or minute > 59:
        return match[0]
    found.append(60 * hour + minute)
    return " "


def _decimal(text: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.+-]", "", text))
