"""Computes the occurrences of series, by the local time of their time zone.

A series keeps its local time over changes to summer time (RFC 5545, section 3.3.10); months that
lack its day are left out. The regular start of an occurrence identifies it.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from agentgym.services import moment, time_of

STEP_DAYS = {"weekdays": 1, "weekly": 7, "biweekly": 14}


def occurrences(
    event: Mapping[str, Any],
    exceptions: Mapping[str, Mapping[str, Any]],
    start: str,
    end: str,
) -> list[dict[str, Any]]:
    """Return the occurrences of an event in a span, without cancelled ones.

    Args:
        event: Row of the event.
        exceptions: Rows of its exceptions by occurrence.
        start: Begin of the span, UTC.
        end: End of the span, UTC.
    """
    length = time_of(event["end"]) - time_of(event["start"])
    # An occurrence that begins before the span may reach into it.
    since = moment(time_of(start) - length)
    found = [
        {"occurrence": begin, "start": begin, "end": moment(time_of(begin) + length)}
        | {"room_id": event["room_id"]}
        for begin in starts(event, since, end)
        if begin not in exceptions
    ]
    found += [
        {key: row[key] for key in ("occurrence", "start", "end", "room_id")}
        for row in exceptions.values()
        if row["status"] == "moved"
    ]
    inside = [row for row in found if row["start"] < end and row["end"] > start]
    return sorted(inside, key=lambda row: row["start"])


def starts(event: Mapping[str, Any], since: str, before: str) -> list[str]:
    """Return the regular starts of an event from ``since`` on and before ``before``."""
    if event["repeat"] == "none":
        return [event["start"]] if since <= event["start"] < before else []
    zone = ZoneInfo(event["timezone"])
    first = time_of(event["start"]).astimezone(zone)
    found = []
    for day in _days(event["repeat"], first.date(), time_of(since).date()):
        at = datetime.combine(day, first.time(), zone).astimezone(UTC)
        begin = moment(at)
        if begin >= before or (event["until"] and day.isoformat() > event["until"]):
            break
        if begin >= since:
            found.append(begin)
    return found


def counterpart(before: Mapping[str, Any], after: Mapping[str, Any], occurrence: str) -> str | None:
    """Return the start that an occurrence of a series has once the series has moved.

    It moves as far as the first one does, in local time.

    Args:
        before: Row of the series as it was.
        after: Row of the series with its new first start.
        occurrence: Regular start of the occurrence before.

    Returns:
        Its regular start; None if the series has no occurrence there.
    """
    zone = ZoneInfo(before["timezone"])

    def wall(text: str) -> datetime:
        return time_of(text).astimezone(zone).replace(tzinfo=None)

    moved = wall(occurrence) + (wall(after["start"]) - wall(before["start"]))
    start = moment(moved.replace(tzinfo=zone))
    following = moment(time_of(start) + timedelta(minutes=1))
    return start if starts(after, start, following) else None


def clashes(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether two lists of spans, each sorted by start, overlap anywhere."""
    i = k = 0
    while i < len(one) and k < len(other):
        if one[i]["start"] < other[k]["end"] and other[k]["start"] < one[i]["end"]:
            return True
        if one[i]["end"] <= other[k]["end"]:
            i += 1
        else:
            k += 1
    return False


def _days(repeat: str, first: date, since: date) -> Iterator[date]:
    """Yield the days of a series, beginning not long before a day."""
    if repeat == "monthly":
        months = max(0, (since.year - first.year) * 12 + since.month - first.month - 1)
        while True:
            year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
            if first.day <= calendar.monthrange(year, month + 1)[1]:
                yield date(year, month + 1, first.day)
            months += 1
    step = STEP_DAYS[repeat]
    day = first + timedelta(days=max(0, (since - first).days // step - 1) * step)
    while True:
        if repeat != "weekdays" or day.weekday() < 5:
            yield day
        day += timedelta(days=step)
