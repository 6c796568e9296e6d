"""The rules of the calendar: permissions for changes, and rooms that fit."""

from __future__ import annotations

from typing import Any

from agentgym.services import Service, ServiceError, moment, time_of

from . import diary
from .recurrence import clashes, counterpart, occurrences
from .shapes import Event

ME = 1


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _event(self, number: int) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM calendar_event WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no meeting {number}; list_events finds them", "event")
        if not self._sees(row):
            raise ServiceError("forbidden", f"meeting {number} is private to others", "event")
        return row

    def _sees(self, row: dict[str, Any]) -> bool:
        return self.unlimited or not row["private"] or self._is_invited(row["id"], ME)

    def _is_invited(self, event: int, person: int) -> bool:
        return bool(
            self.db.value(
                "SELECT 1 FROM calendar_attendee WHERE event_id = ? AND person_id = ?",
                event,
                person,
            )
        )

    def _own(self, number: int, version: int | None = None) -> dict[str, Any]:
        row = self._event(number)
        if row["organizer_id"] != ME and not self.unlimited:
            name = self.db.value(
                "SELECT name FROM contacts_person WHERE id = ?", row["organizer_id"]
            )
            raise ServiceError("forbidden", f"meeting {number} is organised by {name}", "event")
        if row["status"] == "cancelled":
            raise ServiceError("conflict", f"meeting {number} was cancelled", "event")
        if version is not None and version != row["version"]:
            raise ServiceError(
                "conflict",
                f"meeting {number} has version {row['version']}, not {version}; read it again",
                "version",
            )
        return row

    def _occurrence(self, event: int, occurrence: str) -> str:
        """Return the regular start of an occurrence that is still planned."""
        occurrence = diary.checked(occurrence, "occurrence")
        row = self._event(event)
        if row["repeat"] == "none":
            raise ServiceError("invalid", f"meeting {event} is no series", "occurrence")
        after = moment(time_of(occurrence).replace(second=1))
        if not any(o["start"] == occurrence for o in occurrences(row, {}, occurrence, after)):
            raise ServiceError(
                "not_found",
                f"series {event} has none at {occurrence}; see list_events",
                "occurrence",
            )
        apart = diary.exceptions(self, event).get(occurrence)
        if apart and apart["status"] == "cancelled":
            raise ServiceError("conflict", f"{occurrence} was cancelled already", "occurrence")
        return occurrence

    def _until(self, until: str | None, repeat: str, start: str) -> None:
        if until is None:
            return
        diary.checked(f"{until}T00:00:00Z", "until")
        if repeat == "none":
            raise ServiceError("invalid", "only a series ends on a day; set repeat", "until")
        if until < start[:10]:
            raise ServiceError("invalid", f"expected {start[:10]} or later, got {until}", "until")

    def _except(
        self,
        event: int,
        occurrence: str,
        status: str,
        start: str,
        end: str,
        room: int | None,
        note: str = "",
    ) -> None:
        self.db.execute(
            "DELETE FROM calendar_exception WHERE event_id = ? AND occurrence = ?",
            event,
            occurrence,
        )
        if room is not None:
            self._room(room)
        self.db.insert(
            "calendar_exception",
            event_id=event,
            occurrence=occurrence,
            status=status,
            start=start,
            end=end,
            room_id=room,
            note=note,
        )
        self._change(event)

    def _keep_exceptions(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Move the exceptions of a series with it, or when it ends on another day.

        Cancelled occurrences stay cancelled at their new start, moved ones keep their own time;
        those after the last day are removed.
        """
        endless, found = {**after, "until": None}, []
        for apart in diary.exceptions(self, before["id"]).values():
            start = counterpart(before, endless, apart["occurrence"])
            if start is None and apart["end"] > self.now:
                raise ServiceError(
                    "conflict",
                    f"occurrence {apart['occurrence']} is {apart['status']} and would have no"
                    " counterpart; make a new series instead",
                    "start",
                )
            if start is not None and counterpart(before, after, apart["occurrence"]):
                at = {"start": start, "end": start} if apart["status"] == "cancelled" else {}
                found.append({**apart, "occurrence": start, **at})
        self.db.execute("DELETE FROM calendar_exception WHERE event_id = ?", before["id"])
        for apart in found:
            self.db.insert("calendar_exception", **apart)

    def _room(self, number: int) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM calendar_room WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no room {number}; see list_rooms", "room")
        return row

    def _room_name(self, number: int | None) -> str | None:
        return None if number is None else self._room(number)["name"]

    def _invitable(self, person: int, field: str) -> None:
        row = self.db.one("SELECT name, status FROM contacts_person WHERE id = ?", person)
        if row is None or row["status"] in ("merged", "deleted"):
            raise ServiceError("not_found", f"no person {person}; contacts has them", field)

    def _invite(self, event: int, people: list[int], field: str) -> None:
        organizer = self._event_row(event)["organizer_id"]
        for person in people:
            self._invitable(person, field)
            left = self.db.value(
                "SELECT name FROM contacts_person WHERE id = ? AND status = 'left'", person
            )
            if left:
                raise ServiceError("conflict", f"{left} has left", field)
            if not self._is_invited(event, person):
                response = "accepted" if person == organizer else "none"
                self.db.insert(
                    "calendar_attendee", event_id=event, person_id=person, response=response
                )

    def _event_row(self, number: int) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM calendar_event WHERE id = ?", number)
        assert row is not None
        return row

    def _coming(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the future occurrences of an event, as far ahead as series are checked."""
        since = max(self.now, row["start"]) if row["repeat"] != "none" else row["start"]
        before = moment(time_of(max(since, self.now)) + diary.AHEAD)
        return occurrences(row, diary.exceptions(self, row["id"]), since, max(before, row["end"]))

    def _fits(self, event: int) -> None:
        """Refuse rooms that are too small or taken.

        Seats count people who work in the room's office, and people from outside.
        """
        row = self._event_row(event)
        coming = self._coming(row)
        for number in sorted(
            {o["room_id"] for o in coming if o["room_id"]} | {row["room_id"] or 0}
        ):
            if not number:
                continue
            room = self._room(number)
            people = self.db.value(
                "SELECT count(*) FROM calendar_attendee a JOIN contacts_person p"
                " ON p.id = a.person_id WHERE a.event_id = ? AND a.response <> 'declined'"
                " AND (p.office = ? OR p.kind = 'outside')",
                event,
                room["office"],
            )
            if people > room["seats"]:
                raise ServiceError(
                    "invalid",
                    f"{room['name']} has {room['seats']} seats for {people} people",
                    "room",
                )
            mine = [o for o in coming if o["room_id"] == number]
            for other in self._others(diary.of_room, number, event, mine):
                if clashes(mine, [other]):
                    raise ServiceError(
                        "conflict",
                        f"{room['name']} is taken from {other['start']} to {other['end']}",
                        "room",
                    )

    def _others(
        self, look: Any, number: int, event: int, mine: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        if not mine:
            return []
        end = max(o["end"] for o in mine)
        return [o for o in look(self, number, mine[0]["start"], end) if o["event"]["id"] != event]

    def _busy(self, row: dict[str, Any]) -> list[int]:
        """Return the people with another event at a time of this one within the next weeks."""
        if row["status"] == "cancelled":
            return []
        coming = [o for o in self._coming(row) if o["end"] > self.now][:8]
        people = self.db.column(
            "SELECT person_id FROM calendar_attendee WHERE event_id = ? AND response <> 'declined'"
            " ORDER BY person_id",
            row["id"],
        )
        return [
            person
            for person in people
            if clashes(coming, self._others(_busy_of, person, row["id"], coming))
        ]

    def _change(self, number: int, **values: Any) -> None:
        sets = "".join(f"{column} = ?, " for column in values)
        self.db.execute(
            f"UPDATE calendar_event SET {sets}updated_at = ?, version = version + 1 WHERE id = ?",
            *values.values(),
            self.now,
            number,
        )

    def _whole(self, number: int) -> Event:
        row = self._event_row(number)
        attendees = self.db.all(
            "SELECT a.person_id AS person, p.name, a.response, a.note FROM calendar_attendee a"
            " JOIN contacts_person p ON p.id = a.person_id WHERE a.event_id = ? ORDER BY p.id",
            number,
        )
        apart = [
            {key: value for key, value in e.items() if key not in ("event_id", "room_id")}
            | {"room": e["room_id"]}
            for e in diary.exceptions(self, number).values()
        ]
        event = {k: v for k, v in row.items() if k not in ("organizer_id", "room_id", "created_at")}
        event |= {"organizer": row["organizer_id"], "room": row["room_id"]}
        event |= {"private": bool(row["private"]), "attendees": attendees, "exceptions": apart}
        event["busy"] = self._busy(row)
        return event  # type: ignore[return-value]


def _busy_of(service: Service, person: int, start: str, end: str) -> list[dict[str, Any]]:
    return diary.of_person(service, person, start, end, busy=True)
