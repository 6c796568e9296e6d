"""Times and dates in common notations, and the test whether one falls into a period.

A date that a task invented is data. A date within the time of an episode was most likely read from
the clock, and only such dates are volatile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Final

SLACK_S: Final = 2.0
"""Tolerance of a period in seconds: clocks have ticks, and steps take a moment."""

_DAY_S: Final = 86400
_QUARTER_S: Final = 900
_WEST_S, _EAST_S = -12 * 3600, 14 * 3600
_MONTHS: Final = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())  # noqa: SIM905

_MONTH = r"(?P<month>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))[a-z]*"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_DAY = r"(?P<day>[ 0]?[1-9]|[12]\d|3[01])"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_CLOCK = r"(?P<hour>[012]?\d):(?P<minute>[0-5]\d)(?::(?P<second>[0-6]\d)(?:[.,]\d{1,10})?)?"
_HALF = r"(?: ?(?P<half>[AP]M))?"
_ZONE = r"(?: ?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?"
_OTHER_ZONE = r"(?: (?:UTC|GMT|Z|[A-Z]{2,5}T|[+-]\d\d(?:\d\d)?)\b)?"

_SPELLINGS: Final = {
    # 2026-11-22T09:32:01.123Z, also in local time, without seconds, with the + of find -printf
    "iso": rf"(?<!\d){_YEAR}[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _+]{_CLOCK}{_ZONE}(?!\d)",
    # 20261122-093201, 20261122T0932
    "packed": rf"(?<!\d){_YEAR}(?P<month>\d\d)(?P<day>\d\d)[-_T]?(?P<hour>[012]\d)"
    r"(?P<minute>[0-5]\d)(?P<second>[0-6]\d)?(?!\d)(?P<zone>Z)?",
    # Sun Nov 22 09:32:01 AM UTC 2026, Sun Nov 22 09:32:01 2026 +0000
    "ctime": rf"\b{_WEEKDAY},? {_MONTH} +{_DAY},? {_CLOCK}{_HALF}{_OTHER_ZONE}"
    rf" {_YEAR}{_ZONE}(?!\d)",
    # Sun, 22 Nov 2026 09:32:01 +0000, 22/Nov/2026:09:32:01 +0000
    "mail": rf"(?:\b{_WEEKDAY},? +)?(?<!\d){_DAY}[ /-]{_MONTH}[ /-]{_YEAR}[ :]"
    rf"{_CLOCK}{_HALF}{_ZONE}(?!\d)",
    # Nov 22 09:32:01, Nov 22 09:32 as in syslog and ls
    "syslog": rf"\b{_MONTH} +{_DAY} {_CLOCK}(?: {_YEAR})?{_ZONE}(?!\d)",
    # 1795340000, also with a fraction or in thousandths, millionths and billionths
    "epoch": r"(?<![\w.-])(?P<epoch>\d{10}(?:\d{3}){0,3}(?:\.\d{1,10})?)(?![\w-])(?!\.\d)",
    "date": rf"(?<![\d/-]){_YEAR}[-/](?P<month>\d\d)[-/](?P<day>\d\d)(?![\d/-])",
    "american": r"(?<![\d/])(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>(?:20)?\d\d)(?![\d/])",
    "worded": rf"(?:\b{_WEEKDAY},? +)?(?<!\d){_DAY} {_MONTH} {_YEAR}(?!\d)",
    "month": rf"(?:\b{_WEEKDAY},? +)?\b{_MONTH} +{_DAY},? +{_YEAR}(?!\d)",
    "clock": rf"(?<![\d:.+-]){_CLOCK}{_HALF}{_ZONE}(?![\d:])",
}
_READERS: Final = {name: re.compile(pattern) for name, pattern in _SPELLINGS.items()}
_ANY: Final = re.compile(
    "|".join(
        f"(?P<{name}>{re.sub(r'[?]P<[a-z]+>', '?:', pattern)})"
        for name, pattern in _SPELLINGS.items()
    )
)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, in seconds since 1970 (UTC), both ends included.

    The ends may be in the other order: a clock that is set back meanwhile tells both.
    """

    began_s: float
    ended_s: float

    def __post_init__(self) -> None:
        first, last = sorted((self.began_s, self.ended_s))
        object.__setattr__(self, "began_s", first)
        object.__setattr__(self, "ended_s", last)


def mask_times(text: str, periods: Sequence[Period]) -> str:
    """Replace every time that falls into one of the periods."""
    if not periods:
        return text

    def replace(match: re.Match[str]) -> str:
        name = match.lastgroup or ""
        read = _READERS[name].fullmatch(match[0])
        # A look-behind sees another context in the cut-out text; unreadable text stays.
        return "<time>" if read and _falls(read, periods) else match[0]

    return _ANY.sub(replace, text)


def _falls(read: re.Match[str], periods: Sequence[Period]) -> bool:
    found = read.groupdict()
    if found.get("epoch"):
        whole, _, _ = found["epoch"].partition(".")
        instant = int(whole) / 10 ** (len(whole) - 10)
        return any(_overlaps(instant, 1.0, period) for period in periods)
    return any(_is_near(found, period) for period in periods)


def _is_near(found: dict[str, str | None], period: Period) -> bool:
    """Return whether a written time may name a moment of a period."""
    try:
        days = [datetime.fromtimestamp(at, UTC) for at in (period.began_s, period.ended_s)]
    except (OverflowError, OSError, ValueError):
        return False
    if not all(1 < day.year < 9999 for day in days):
        return False  # a record may claim any time
    has_date, offset_s = found.get("day") is not None, _offset_s(found.get("zone"))
    for day, shift in product(days, (-1, 0, 1) if not has_date else (0,)):
        instant = _instant(found, day + timedelta(days=shift))
        if instant is None:
            continue
        length_s = _length_s(found)
        if offset_s is not None or not has_date:
            if _overlaps(instant - (offset_s or 0), length_s, period):
                return True
        elif _overlaps_somewhere(instant, length_s, period):
            return True
    return False


def _instant(found: dict[str, str | None], around: datetime) -> float | None:
    """Return a written time in seconds since 1970, read as UTC; `around` fills missing parts."""
    month, day, year = found.get("month"), found.get("day"), found.get("year")
    hour = int(found.get("hour") or 0)
    if half := found.get("half"):
        hour = hour % 12 + (12 if half == "PM" else 0)
    try:
        return datetime(
            (int(year) + (2000 if len(year) == 2 else 0)) if year else around.year,
            _month(month) if month else around.month,
            int(day) if day else around.day,
            hour,
            int(found.get("minute") or 0),
            min(int(found.get("second") or 0), 59),
            tzinfo=UTC,
        ).timestamp()
    except ValueError:
        return None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text[:3].lower()) + 1


def _length_s(found: dict[str, str | None]) -> float:
    if found.get("second"):
        return 1.0
    return 60.0 if found.get("hour") else float(_DAY_S)


def _offset_s(zone: str | None) -> int | None:
    if zone is None:
        return None
    if not zone[-1].isdigit():
        return 0
    digits = zone[1:].replace(":", "")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60)


def _overlaps(instant: float, length_s: float, period: Period) -> bool:
    return instant + length_s >= period.began_s - SLACK_S and instant <= period.ended_s + SLACK_S


def _overlaps_somewhere(instant: float, length_s: float, period: Period) -> bool:
    """Return whether a time without a zone may fall into a period: zones differ by quarters."""
    low = max(_WEST_S, instant - period.ended_s - SLACK_S)
    high = min(_EAST_S, instant + length_s - period.began_s + SLACK_S)
    return low <= high and math.floor(high / _QUARTER_S) * _QUARTER_S >= low
