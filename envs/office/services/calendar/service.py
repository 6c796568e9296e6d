"""Calendar: meetings, series with exceptions, invitations and rooms, of the whole company.

Times are UTC; a series keeps the local time of its time zone. People may be invited twice at
the same time, rooms may not be taken twice. Only the organiser of a meeting changes it.
"""

from __future__ import annotations

import random
from typing import Annotated, Any

from pydantic import Field

from agentgym.services import ServiceError, moment, reads, time_of, writes
from agentgym.services.arguments import Day

from . import diary
from .rules import ME, _Rules
from .seeding import fill
from .shapes import Answer, Event, Item, Reason, Repeat, Room, Slot, Text, Time, Title, Zone

People = Annotated[list[int], Field(max_length=100)]


class Calendar(_Rules):
    """Everybody's calendar, as one colleague sees it."""

    after = ("contacts",)
    seen = {
        "calendar_event": ("title", "description", "note"),
        "calendar_attendee": ("event_id", "person_id", "response", "note"),
        "calendar_exception": ("event_id", "occurrence", "status", "note"),
    }

    def fill(self, rng: random.Random) -> None:
        """Create rooms, series and meetings."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_events(self, start: Time, end: Time, person: int = ME, text: str = "") -> list[Item]:
        """List what a person is invited to, in order; one line for each occurrence of a series.

        Private meetings of others are shown as "Busy".

        Args:
            start: From when, UTC, as 2026-03-02T09:00:00Z.
            end: Until when, at most 62 days later.
            person: Number of a colleague; you, if left out.
            text: Only what has this in the title, in any case.
        """
        start, end = diary.span(start, end, 62)
        self._invitable(person, "person")
        items: list[Item] = []
        for row in diary.of_person(self, person, start, end):
            event = row["event"]
            title = event["title"] if self._sees(event) else "Busy"
            if text.lower() in title.lower():
                items.append(
                    {
                        "event": event["id"],
                        "occurrence": row["occurrence"],
                        "title": title,
                        "start": row["start"],
                        "end": row["end"],
                        "room": self._room_name(row["room_id"]),
                        "organizer": event["organizer_id"],
                        "response": row["response"],
                        "repeat": event["repeat"],
                    }
                )
        return items

    @reads
    def get(self, event: int) -> Event:
        """Show a meeting or a series with attendees and exceptions.

        Args:
            event: Number of the meeting.
        """
        return self._whole(self._event(event)["id"])

    @reads
    def list_rooms(
        self,
        office: str | None = None,
        seats: int = 0,
        start: Time | None = None,
        end: Time | None = None,
    ) -> list[Room]:
        """List meeting rooms, and whether they are free at a time.

        Args:
            office: Only rooms of this office, such as Berlin.
            seats: Only rooms with at least so many seats.
            start: From when it should be free, UTC; together with end.
            end: Until when.
        """
        if (start is None) != (end is None):
            raise ServiceError("invalid", "expected both start and end, or neither", "end")
        rooms = self.db.all(
            "SELECT * FROM calendar_room WHERE seats >= ?1 AND (?2 IS NULL OR office = ?2)"
            " ORDER BY office, name",
            seats,
            office,
        )
        found: list[Room] = []
        for row in rooms:
            free = None
            if start is not None and end is not None:
                start, end = diary.span(start, end, 62)
                free = not diary.of_room(self, row["id"], start, end)
            found.append({**row, "video": bool(row["video"]), "free": free})
        return found

    @reads
    def find_times(
        self,
        people: People,
        minutes: Annotated[int, Field(ge=15, le=480)],
        start: Time,
        end: Time,
    ) -> list[Slot]:
        """Find times when all are free, each within 9 to 18 o'clock on a working day of theirs.

        Args:
            people: Numbers of those who are to meet; name yourself too if you come.
            minutes: How long.
            start: Not before this time, UTC.
            end: Over by this time, at most 31 days later.
        """
        start, end = diary.span(start, end, 31)
        for person in people:
            self._invitable(person, "people")
        if not people:
            raise ServiceError("invalid", "expected at least one person", "people")
        return diary.common_times(self, people, minutes, start, end)  # type: ignore[return-value]

    # --- changing --------------------------------------------------------------------------

    @writes
    def create(
        self,
        title: Title,
        start: Time,
        end: Time,
        people: People,
        description: Text = "",
        room: int | None = None,
        timezone: Zone = "UTC",
        repeat: Repeat = "none",
        until: Day | None = None,
        private: bool = False,
        organizer: int = ME,
    ) -> Event:
        """Invite people to a meeting that you organise.

        Args:
            title: What it is.
            start: From when, UTC, as 2026-03-02T09:00:00Z.
            end: Until when, at most a day later.
            people: Numbers of those who are invited; you always are.
            description: More about it.
            room: Number of a room, which has to be free and large enough.
            timezone: The zone whose local time a series keeps.
            repeat: How often it takes place.
            until: The last day of a series; without, it goes on.
            private: Whether only those invited see what it is.
            organizer: Who organises; only yourself.
        """
        if organizer != ME and not self.unlimited:
            raise ServiceError("forbidden", "others organise for themselves", "organizer")
        start, end = diary.span(start, end, 1)
        self._until(until, repeat, start)
        number = self.db.insert(
            "calendar_event",
            title=title,
            description=description,
            organizer_id=organizer,
            start=start,
            end=end,
            timezone=timezone,
            repeat=repeat,
            until=until,
            private=private,
            room_id=None if room is None else self._room(room)["id"],
            created_at=self.now,
            updated_at=self.now,
        )
        self._invite(number, [organizer, *people], "people")
        self._fits(number)
        return self._whole(number)

    @writes
    def update(
        self,
        event: int,
        version: int | None = None,
        title: Title | None = None,
        description: Text | None = None,
        start: Time | None = None,
        end: Time | None = None,
        room: int | None = None,
        until: Day | None = None,
    ) -> Event:
        """Change a meeting, or all of a series. A new time asks everybody to answer again.

        Of a series, what was cancelled stays so and what was moved stays where it is; a new
        start that leaves such an occurrence without its day is refused.

        Args:
            event: Number of the meeting.
            version: The version that was seen; refused if it has changed since.
            title: What it is.
            description: More about it.
            start: From when; of a series, its first start. Alone it moves the end along.
            end: Until when.
            room: Number of a room; 0 for none.
            until: The last day of a series.
        """
        row = self._own(event, version)
        if start is not None and end is None:
            length = time_of(row["end"]) - time_of(row["start"])
            end = moment(time_of(diary.checked(start, "start")) + length)
        begin, over = diary.span(start or row["start"], end or row["end"], 1)
        self._until(until, row["repeat"], begin)
        wanted = {"title": title, "description": description, "start": begin, "end": over}
        wanted |= {"room_id": room, "until": until}
        changes: dict[str, Any] = {k: v for k, v in wanted.items() if v is not None and v != row[k]}
        if changes.get("room_id") == 0:
            changes["room_id"] = None
        elif "room_id" in changes:
            self._room(changes["room_id"])
        if changes:
            self._change(event, **changes)
        if row["repeat"] != "none" and changes.keys() & {"start", "until"}:
            self._keep_exceptions(row, {**row, **changes})
        if changes.keys() & {"start", "end"}:
            self.db.execute(
                "UPDATE calendar_attendee SET response = 'none' WHERE event_id = ?"
                " AND person_id <> ?",
                event,
                row["organizer_id"],
            )
        if changes.keys() & {"start", "end", "room_id", "until"}:
            self._fits(event)
        return self._whole(event)

    @writes
    def move_occurrence(
        self, event: int, occurrence: Time, start: Time, end: Time, room: int | None = None
    ) -> Event:
        """Move one occurrence of a series and leave the others where they are.

        Args:
            event: Number of the series.
            occurrence: The start it would regularly have, as list_events shows it.
            start: From when instead.
            end: Until when instead.
            room: Number of a room for this once; none if left out.
        """
        self._own(event)
        occurrence = self._occurrence(event, occurrence)
        start, end = diary.span(start, end, 1)
        self._except(event, occurrence, "moved", start, end, room)
        self._fits(event)
        return self._whole(event)

    @writes
    def cancel(
        self, event: int, occurrence: Time | None = None, reason: Reason | None = None
    ) -> Event:
        """Call off a meeting, a whole series, or one occurrence of it.

        Args:
            event: Number of the meeting.
            occurrence: Only this one of a series: the start it would regularly have.
            reason: What those invited are told; nothing if left out.
        """
        row = self._own(event)
        if occurrence is not None:
            occurrence = self._occurrence(event, occurrence)
            self._except(event, occurrence, "cancelled", occurrence, occurrence, None, reason or "")
        elif row["repeat"] == "none" and row["end"] <= self.now:
            raise ServiceError("conflict", f"meeting {event} is over since {row['end']}", "event")
        else:
            self._change(event, status="cancelled", note=reason or "")
        return self._whole(event)

    @writes
    def respond(
        self, event: int, answer: Answer, reason: Reason | None = None, person: int = ME
    ) -> Event:
        """Answer an invitation.

        Args:
            event: Number of the meeting.
            answer: Whether you come.
            reason: What the organiser is told; nothing if left out.
            person: Who answers; only for yourself.
        """
        row = self._event(event)
        if person != ME and not self.unlimited:
            raise ServiceError("forbidden", "others answer for themselves", "person")
        if row["status"] == "cancelled":
            raise ServiceError("conflict", f"meeting {event} was cancelled", "event")
        if row["organizer_id"] == person:
            raise ServiceError("conflict", "the organiser comes, or cancels the meeting", "event")
        if not self._is_invited(event, person):
            raise ServiceError("not_found", f"person {person} is not invited to {event}", "event")
        self.db.execute(
            "UPDATE calendar_attendee SET response = ?, note = ?"
            " WHERE event_id = ? AND person_id = ?",
            answer,
            reason or "",
            event,
            person,
        )
        return self._whole(event)

    @writes
    def invite(self, event: int, add: People | None = None, remove: People | None = None) -> Event:
        """Invite more people to a meeting, or some no longer.

        Args:
            event: Number of the meeting.
            add: Numbers of people; who is invited already stays so.
            remove: Numbers of people; the organiser stays.
        """
        row = self._own(event)
        self._invite(event, add or [], "add")
        for person in remove or ():
            if person == row["organizer_id"]:
                raise ServiceError("invalid", "the organiser stays; cancel it instead", "remove")
            self.db.execute(
                "DELETE FROM calendar_attendee WHERE event_id = ? AND person_id = ?", event, person
            )
        self._change(event)
        self._fits(event)
        return self._whole(event)
