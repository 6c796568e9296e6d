"""Values that a rubric requires or allows in a message, in every usual spelling."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from agentgym.errors import VerifierError
from agentgym.verify.messages.days import Day
from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.plain import plain
from agentgym.verify.messages.units import NEGATIONS, Token, read_message, stem
from agentgym.verify.messages.words import words
from agentgym.verify.values import brief, is_number

Part: TypeAlias = str | frozenset[Reading]
"""A word by its stem, or a figure by its possible readings."""

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value with its spellings.

    Attributes:
        shown: The text that reports show.
        spellings: Runs of words and figures; light words between them do not count.
    """

    shown: str
    spellings: tuple[tuple[Part, ...], ...]

    def __str__(self) -> str:
        return self.shown

    def spans(self, tokens: Sequence[Token]) -> list[Span]:
        """Return its positions among some tokens, each from the first token to behind the last."""
        found: list[Span] = []
        first = {parts[0] for parts in self.spellings if isinstance(parts[0], str)}
        for start, token in enumerate(tokens):
            if token.figure is None and token.stem not in first:
                continue
            if found and start < found[-1][1]:
                continue
            ends = [end for s in self.spellings if (end := _match(s, tokens, start))]
            if ends:
                found.append((start, max(ends)))
        return found


def _match(spelling: Sequence[Part], tokens: Sequence[Token], start: int) -> int:
    """Return the end of a spelling that begins at a token, or 0 if it does not begin there."""
    light, place = words().light, start
    for number, part in enumerate(spelling):
        while (
            number
            and place < len(tokens)
            and not is_part(tokens[place], part)
            and tokens[place].figure is None
            and tokens[place].stem in light
        ):
            place += 1
        if place >= len(tokens) or not is_part(tokens[place], part):
            return 0
        place += 1
    return place


def is_part(token: Token, part: Part) -> bool:
    """Return whether a token that no other phrase has taken is this word or figure."""
    if token.taken:
        return False
    if isinstance(part, str):
        return token.figure is None and token.stem == part
    return token.figure is not None and token.figure.means(part)


# Each judgement reads the phrases of the rubric again, which took a tenth of its time.
@functools.lru_cache(maxsize=4096)
def spelling(text: str, *, without: frozenset[str] | None = None) -> tuple[Part, ...]:
    """Return a phrase as a run of words and figures.

    Args:
        text: The phrase.
        without: Stems to leave out, unless the phrase has no others; None: the light words.
    """
    tokens = [token for unit in read_message(text).units for token in unit.tokens]
    light = words().light if without is None else without
    heavy = [t for t in tokens if t.figure is not None or t.stem not in light]
    if len(heavy) == 1 and heavy[0].text in NEGATIONS:
        heavy = tokens  # a licence for two light words does not license the first alone
    return tuple(t.stem if t.figure is None else t.figure.readings for t in heavy or tokens)


def wanted(name: str, value: object) -> Wanted:
    """Read a value of a rubric.

    Args:
        name: Name of the argument, for error messages.
        value: A text, a number, one of the tables ``{ date = "2026-03-10" }``,
            ``{ time = "15:00" }``, ``{ amount = 721.5, currency = "EUR" }``, ``{ number = 3 }``,
            ``{ percent = 40 }``, ``{ name = "Gita Nguyen" }``, ``{ any = […] }``, or a list, which
            accepts any of its values.

    Raises:
        VerifierError: The value has another form.
    """
    if is_number(value):
        value = {"number": value}
    if isinstance(value, str):
        return Wanted(repr(value), _text(name, value))
    if isinstance(value, Mapping) and set(value) == {"any"}:
        value = value["any"]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        parts = [wanted(name, one) for one in value]
        return Wanted(
            " or ".join(part.shown for part in parts[:3]),
            tuple(one for part in parts for one in part.spellings),
        )
    if isinstance(value, Mapping):
        kind = next((key for key in value if key in _MAKERS), "")
        if kind and set(value) <= {kind, "currency"}:
            return _MAKERS[kind](name, value[kind], value)
    raise VerifierError(
        f"{name}: expected text, a number, a list of values or one of "
        f"{{{' = …}, {'.join(_MAKERS)} = …}}; got {brief(value)}"
    )


def _text(name: str, value: str) -> tuple[tuple[Part, ...], ...]:
    parts = spelling(value)
    if not parts:
        raise VerifierError(f"{name}: expected a text with words or figures, got {value!r}")
    spellings = [parts]
    if numbered := re.fullmatch(r"([a-z]{1,6})[-_/ ]?(\d{2,20})", plain(value)):
        prefix, digits = numbered.groups()
        number = frozenset({("plain", Decimal(digits))})
        spellings += [(stem(prefix), number), (frozenset({("id", prefix + digits)}),)]
        if len(digits) >= 4:
            spellings.append((number,))
    return tuple(spellings)


def _one(shown: str, *readings: Reading) -> Wanted:
    return Wanted(shown, ((frozenset(readings),),))


def _date(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    try:
        day = Day.parse(str(value))
    except ValueError:
        raise VerifierError(f"{name}.date: expected YYYY-MM-DD, got {value!r}") from None
    return _one(str(day), ("date", day))


def _time(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", str(value))
    if found is None:
        raise VerifierError(f"{name}.time: expected HH:MM of 24 hours, got {value!r}")
    hour, minute = int(found[1]), int(found[2])
    readings: list[Reading] = [("time", 60 * hour + minute)]
    if not minute:  # "ten for you": an hour by its number alone
        readings += [("plain", Decimal(one)) for one in {hour, hour % 12 or 12}]
    return _one(str(value), *readings)


def _amount(name: str, value: object, table: Mapping[str, Any]) -> Wanted:
    currency = table.get("currency", "EUR")
    if not isinstance(currency, str):
        raise VerifierError(f"{name}.currency: expected text such as 'EUR', got {currency!r}")
    number = _decimal(f"{name}.amount", value)
    return _one(f"{currency} {number}", ("amount", (number, currency)))


def _number(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    number = _decimal(f"{name}.number", value)
    return _one(str(number), ("bare", number))


def _percent(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    number = _decimal(f"{name}.percent", value)
    return _one(f"{number} %", ("percent", number))


def _id(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    return Wanted(str(value), _text(name, str(value)))


def _phone(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    digits = re.sub(r"\D", "", str(value))
    if len(digits) < 5:
        raise VerifierError(f"{name}.phone: expected at least 5 digits, got {value!r}")
    readings: list[Reading] = [
        ("phone", digits),
        ("phone", "00" + digits),
        ("plain", Decimal(digits)),
    ]
    return _one(str(value), *readings)


def _name(name: str, value: object, _: Mapping[str, Any]) -> Wanted:
    if not isinstance(value, str) or not value.split():
        raise VerifierError(f"{name}.name: expected a name, got {value!r}")
    given, *others = [part for part in plain(value).split() if part]
    spellings = [spelling(value)]
    if others:
        family = " ".join(others)
        spellings += [spelling(family), spelling(given), spelling(f"{family} {given}")]
        spellings += [(given[0], *spelling(family)), (*spelling(given), others[-1][0])]
        spellings.append(("".join(part[0] for part in (given, *others)),))
    return Wanted(value, tuple(dict.fromkeys(spellings)))


def _decimal(name: str, value: object) -> Decimal:
    text = str(value).replace(",", "") if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text):
        raise VerifierError(f"{name}: expected a number, got {value!r}")
    return Decimal(text)


_MAKERS: Final[Mapping[str, Callable[[str, object, Mapping[str, Any]], Wanted]]] = {
    "date": _date,
    "time": _time,
    "amount": _amount,
    "number": _number,
    "percent": _percent,
    "id": _id,
    "phone": _phone,
    "name": _name,
}
