"""Looks up events in a span: those of a person or a room, and times at which all are free."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from agentgym.services import Service, ServiceError, moment, time_of

from .recurrence import occurrences

AHEAD = timedelta(days=182)
"""Time span over which a series is checked for free rooms and people."""

_GOING = (
    "SELECT e.* FROM calendar_event e WHERE e.status = 'confirmed'"
    " AND (e.repeat <> 'none' OR (e.start < ?1 AND e.end > ?2)) AND "
)


def checked(text: str, field: str) -> str:
    """Return a time that exists in the calendar.

    Raises:
        ServiceError: The day or the hour does not exist.
    """
    try:
        return moment(time_of(text))
    except ValueError as error:
        raise ServiceError("invalid", f"{text!r} is no time: {error}", field) from None


def span(start: str, end: str, days: int) -> tuple[str, str]:
    """Return a span if it is valid and at most some days long."""
    start, end = checked(start, "start"), checked(end, "end")
    if end <= start:
        raise ServiceError("invalid", f"expected a time after {start}, got {end}", "end")
    if time_of(end) - time_of(start) > timedelta(days=days):
        raise ServiceError("invalid", f"expected at most {days} days after {start}", "end")
    return start, end


def exceptions(service: Service, event: int) -> dict[str, dict[str, Any]]:
    """Return the exceptions of a series by occurrence."""
    rows = service.db.all(
        "SELECT * FROM calendar_exception WHERE event_id = ? ORDER BY occurrence", event
    )
    return {row["occurrence"]: row for row in rows}


def of_person(
    service: Service, person: int, start: str, end: str, busy: bool = False
) -> list[dict[str, Any]]:
    """Return the events of a person, each with ``event``, its row, and ``response``.

    Args:
        service: The calendar.
        person: Number of the person.
        start: Begin of the span.
        end: End of the span.
        busy: Whether to leave out events that the person has declined.
    """
    answered = {
        row["event_id"]: row["response"]
        for row in service.db.all(
            "SELECT event_id, response FROM calendar_attendee WHERE person_id = ?", person
        )
    }
    events = service.db.all(
        f"{_GOING} e.id IN (SELECT event_id FROM calendar_attendee WHERE person_id = ?3)",
        end,
        start,
        person,
    )
    return _spread(
        service,
        [e for e in events if not busy or answered[e["id"]] != "declined"],
        start,
        end,
        answered,
    )


def of_room(service: Service, room: int, start: str, end: str) -> list[dict[str, Any]]:
    """Return the events in a room."""
    condition = (
        "(e.room_id = ?3 OR e.id IN (SELECT event_id FROM calendar_exception WHERE room_id = ?3))"
    )
    events = service.db.all(f"{_GOING} {condition}", end, start, room)
    return [r for r in _spread(service, events, start, end, {}) if r["room_id"] == room]


def common_times(
    service: Service, people: Sequence[int], minutes: int, start: str, end: str
) -> list[dict[str, str]]:
    """Return half-hour steps in which all people are free, within everybody's working hours."""
    zones = set()
    taken: list[tuple[str, str]] = []
    for person in people:
        zone = service.db.value("SELECT timezone FROM contacts_person WHERE id = ?", person)
        zones.add(ZoneInfo(zone))
        busy = of_person(service, person, start, end, busy=True)
        taken += [(row["start"], row["end"]) for row in busy]
    found = []
    begin = time_of(start)
    if begin.minute % 30:
        begin += timedelta(minutes=30 - begin.minute % 30)
    length = timedelta(minutes=minutes)
    while begin + length <= time_of(end) and len(found) < 40:
        slot = moment(begin), moment(begin + length)
        working = all(_working(begin, begin + length, zone) for zone in zones)
        if working and not any(a < slot[1] and slot[0] < b for a, b in taken):
            found.append({"start": slot[0], "end": slot[1]})
        begin += timedelta(minutes=30)
    return found


def _working(begin: datetime, end: datetime, zone: ZoneInfo) -> bool:
    first, last = begin.astimezone(zone), end.astimezone(zone)
    return (
        first.date() == last.date()
        and first.weekday() < 5
        and first.hour >= 9
        and (last.hour, last.minute) <= (18, 0)
    )


def _spread(
    service: Service,
    events: Sequence[dict[str, Any]],
    start: str,
    end: str,
    answered: dict[int, str],
) -> list[dict[str, Any]]:
    found = []
    for event in events:
        apart = exceptions(service, event["id"]) if event["repeat"] != "none" else {}
        for row in occurrences(event, apart, start, end):
            found.append({**row, "event": event, "response": answered.get(event["id"])})
    return sorted(found, key=lambda row: (row["start"], row["event"]["id"]))
