"""Times of day in plain text, in every usual spelling, as minutes since midnight.

"Half past two" occurs twice a day. It can mean both times unless the text states the half of day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WORDS: Final = {
    word: number
    for number, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ],
        1,
    )
}
_HOUR: Final = rf"(?:\d{{1,2}}|{'|'.join(_WORDS)})"
_HALF: Final = (
    r"(?:,? ?(?:(?P<am>a\.? ?m\b\.?|(?:in the |this )?(?:early )?morning)"
    r"|(?P<pm>p\.? ?m\b\.?|(?:in the |this )?(?:late |early )?(?:afternoon|evening)|at night)))?"
)
_CLOCK: Final = re.compile(
    rf"(?<![\d:.,])(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?::[0-5]\d)?"
    rf"(?:h\b| ?o'?clock\b| ?hrs\b| hours\b)?{_HALF}(?![\d:])"
)
_DOTTED: Final = re.compile(
    rf"(?:(?<=at )|(?<=from )|(?<=to )|(?<=until ))(?P<hour>\d{{1,2}})[.h](?P<minute>[0-5]\d)"
    rf"(?:h\b)?{_HALF}(?!\.?\d|%)"
)
_FRENCH: Final = re.compile(r"(?<![\w.:])(?P<hour>\d{1,2}) ?h(?P<minute>[0-5]\d)?\b")
_MILITARY: Final = re.compile(
    r"(?<![\w.:])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d) ?(?:hrs?|hours)\b"
)
_OCLOCK: Final = re.compile(rf"\b(?P<hour>{_HOUR}) ?o'? ?clock\b{_HALF}")
_NAMED_HALF: Final = re.compile(
    rf"\b(?P<hour>{_HOUR}) ?(?:(?P<am>a\.?m\b\.?|in the (?:early )?morning)"
    rf"|(?P<pm>p\.?m\b\.?|in the (?:late |early )?(?:afternoon|evening)))"
)
_PAST: Final = re.compile(
    r"(?<![:.\d])\b(?P<part>half|(?:a )?quarter|five|ten|twenty|twenty-five"
    r"|\d{1,2}(?= minutes| past))"
    rf"(?: minutes)? (?P<way>past|after|to|before) "
    rf"(?P<hour>{_HOUR}(?! ?(?:days?|weeks?|months?)))\b(?!:\d){_HALF}"
)
_NOON: Final = re.compile(r"\b(?:12 )?(?:noon|midday)\b")
_MIDNIGHT: Final = re.compile(r"\bmidnight\b")
_AT: Final = re.compile(
    rf"\b(?:at|from|until|till|by|around) (?P<hour>{_HOUR})\b(?![.,:]?\d| ?%|-)"
    r"(?! (?:days?|weeks?|hours?|minutes?|euros?|eur|percent|people|times|of|k|per|other|more))"
)
_PARTS: Final = {"half": 30, "quarter": 15, "a quarter": 15, "twenty": 20, "twenty-five": 25}


def find_hours(text: str) -> Iterator[tuple[int, int, set[int]]]:
    """Yield the times of day of a plain text: start, end, possible meanings in minutes."""
    taken = bytearray(len(text))
    for start, end, minutes in _all(text):
        if minutes and not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            yield start, end, minutes


def _all(text: str) -> Iterator[tuple[int, int, set[int]]]:
    for m in _NOON.finditer(text):
        yield m.start(), m.end(), {720}
    for m in _MIDNIGHT.finditer(text):
        yield m.start(), m.end(), {0}
    for m in _PAST.finditer(text):
        yield m.start(), m.end(), _past(m)
    for pattern in (_CLOCK, _DOTTED):
        for m in pattern.finditer(text):
            hour, minute = int(m["hour"]), int(m["minute"])
            yield m.start(), m.end(), _halves(hour, minute, m, both=False)
    for pattern in (_FRENCH, _MILITARY):
        for m in pattern.finditer(text):
            minute = int(m["minute"] or 0)
            yield m.start(), m.end(), _valid({60 * int(m["hour"]) + minute})
    for pattern in (_NAMED_HALF, _OCLOCK):
        for m in pattern.finditer(text):
            yield m.start(), m.end(), _halves(_number(m["hour"]), 0, m, both=True)
    for m in _AT.finditer(text):
        hour = _number(m["hour"])
        yield (
            m.start("hour"),
            m.end(),
            _valid({60 * hour, *({60 * hour + 720} if hour < 13 else ())}),
        )


def _past(match: re.Match[str]) -> set[int]:
    part = match["part"]
    minutes = _PARTS.get(part) or (int(part) if part.isdigit() else _WORDS[part])
    found = _halves(_number(match["hour"]), 0, match, both=True)
    step = minutes if match["way"] in ("past", "after") else -minutes
    return {(one + step) % 1440 for one in found} if minutes < 60 else set()


def _halves(hour: int, minute: int, match: re.Match[str], *, both: bool) -> set[int]:
    if match["am"] or match["pm"]:
        if 13 <= hour <= 23 and match["pm"]:
            return _valid({60 * hour + minute})
        if not 1 <= hour <= 12:
            return set()
        return {60 * (hour % 12 + (12 if match["pm"] else 0)) + minute}
    first = 60 * hour + minute
    return _valid({first, (first + 720) % 1440} if both and 1 <= hour <= 12 else {first})


def _valid(minutes: set[int]) -> set[int]:
    return {one % 1440 for one in minutes if 0 <= one <= 1440}


def _number(hour: str) -> int:
    return int(hour) if hour.isdigit() else _WORDS[hour]
