"""Seeded calendars: series of every department, and some hundred meetings around now.

The data has the flaws of real calendars: meetings that overlap, series of people who have left,
occurrences that were moved or cancelled, invitations without an answer.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from agentgym.services import Service, moment, time_of

from .matters import CANCELLED, INSIDE, ROOMS, WITH_CUSTOMERS, WITH_SUPPLIERS
from .recurrence import starts

MEETINGS = 300
PAST_DAYS, COMING_DAYS = 50, 35


def fill(service: Service, rng: random.Random) -> None:
    """Fill empty calendars."""
    for name, office, seats, video in ROOMS:
        service.db.insert("calendar_room", name=name, office=office, seats=seats, video=video)
    _Diary(service, rng).fill()


class _Diary:
    """The events under construction, with the rooms taken so far."""

    def __init__(self, service: Service, rng: random.Random) -> None:
        self.service, self.rng = service, rng
        self.now = time_of(service.now)
        self.people = {
            row["id"]: row
            for row in service.db.all("SELECT * FROM contacts_person ORDER BY id")
            if row["status"] in ("active", "left")
        }
        self.rooms = service.db.all("SELECT * FROM calendar_room ORDER BY id")
        self.taken: set[tuple[int, str]] = set()

    def fill(self) -> None:
        self._series()
        here = [p for p in self._colleagues() if p["status"] == "active"]
        for _ in range(MEETINGS):
            self._meeting(here)
        self._overlap(here)

    def _colleagues(self) -> list[dict[str, Any]]:
        return [p for p in self.people.values() if p["kind"] == "colleague"]

    def _series(self) -> None:
        rng, staff = self.rng, self._colleagues()
        there = [p["id"] for p in staff if p["status"] == "active"]
        self._repeated("All hands", 2, there, "monthly", 14, 60, "Numbers, news, questions.")
        self._repeated("Weekly priorities", 2, [1, 2, 3], "weekly", 9, 30, "The week ahead.")
        self._repeated("One-on-one", 2, [1, 2], "biweekly", 15, 30, "", private=1)
        crew = sorted({1, *rng.sample(there[3:], 3)})
        self._repeated("Front desk check-in", 1, crew, "weekly", 13, 30, "Visitors, post, keys.")
        for department in sorted({p["department"] for p in staff} - {"Management"}):
            team = [p for p in staff if p["department"] == department]
            head = team[0]["id"]
            members = [p["id"] for p in team if p["status"] == "active"]
            self._repeated(
                f"{department} weekly",
                head,
                members,
                "weekly",
                rng.randint(9, 16),
                60,
                "Round.",
            )
            report = rng.choice(members)
            if report != head:
                title = f"{self._first(head)} / {self._first(report)}"
                self._repeated(title, head, [head, report], "biweekly", 11, 30, "", private=1)
        for department in ("Engineering", "Support"):
            team = [p["id"] for p in staff if p["department"] == department]
            self._repeated(f"{department} stand-up", team[0], team, "weekdays", 9, 15, "")
        for gone in [p["id"] for p in staff if p["status"] == "left"][:2]:
            some = sorted({gone, *rng.sample(there, 4)})
            self._repeated("Reading group", gone, some, "biweekly", 16, 60, "A chapter each time.")

    def _first(self, person: int) -> str:
        name: str = self.people[person]["name"]
        return name.split()[0]

    def _repeated(
        self,
        title: str,
        organizer: int,
        people: list[int],
        repeat: str,
        hour: int,
        minutes: int,
        description: str,
        private: int = 0,
    ) -> None:
        rng = self.rng
        zone = ZoneInfo(self.people[organizer]["timezone"])
        day = (self.now - timedelta(days=rng.randint(60, 300))).astimezone(zone).date()
        day -= timedelta(days=day.weekday() - rng.randint(0, 4))
        if day.day > 28:  # not every month has it
            day -= timedelta(days=7)
        begin = datetime(day.year, day.month, day.day, hour, tzinfo=zone).astimezone(UTC)
        end = begin + timedelta(minutes=minutes)
        row = {"title": title, "description": description, "organizer_id": organizer}
        row |= {"start": moment(begin), "end": moment(end), "repeat": repeat, "private": private}
        since = moment(self.now - timedelta(days=PAST_DAYS))
        before = moment(self.now + timedelta(days=4 * COMING_DAYS))
        ends = rng.random() < 0.2
        row["until"] = (self.now + timedelta(days=90)).date().isoformat() if ends else None
        row["timezone"] = self.people[organizer]["timezone"]
        times = starts(row, since, before)
        if not private and len(people) <= 16:
            row["room_id"] = self._room(people, times, minutes)
        number = self._insert(row, people, self.now - timedelta(days=rng.randint(60, 300)))
        for begin_text in times:
            if rng.random() < 0.08:
                self._except(number, begin_text, minutes)

    def _except(self, number: int, occurrence: str, minutes: int) -> None:
        moved = self.rng.random() < 0.5
        begin = time_of(occurrence) + timedelta(hours=self.rng.choice([1, 2, 24]) if moved else 0)
        self.service.db.insert(
            "calendar_exception",
            event_id=number,
            occurrence=occurrence,
            status="moved" if moved else "cancelled",
            start=moment(begin),
            end=moment(begin + timedelta(minutes=minutes)),
            note="" if moved else self.rng.choice(["Public holiday.", "Nothing to discuss.", ""]),
        )

    def _meeting(self, here: list[dict[str, Any]]) -> None:
        rng = self.rng
        organizer = self.people[1] if rng.random() < 0.12 else rng.choice(here)
        near = [p for p in here if p["department"] == organizer["department"]]
        invited = {organizer["id"]} | {p["id"] for p in rng.sample(near, min(len(near), 2))}
        invited |= {p["id"] for p in rng.sample(here, rng.randint(0, 3))}
        if rng.random() < 0.25:
            invited.add(1)
        luck = rng.random()
        title, description = rng.choice(INSIDE)
        if luck < 0.3:
            guests = [
                p
                for p in self.people.values()
                if p["kind"] == "outside" and p["status"] == "active"
            ]
            guest = rng.choice(guests)
            invited.add(guest["id"])
            kinds = WITH_CUSTOMERS if guest["customer_id"] else WITH_SUPPLIERS
            title, description = rng.choice(kinds)
            title = title.format(company=guest["company"])
        begin = self._some_time(organizer["timezone"])
        self._write(title, description, organizer, sorted(invited), begin)

    def _some_time(self, timezone: str) -> datetime:
        while True:
            day = self.now + timedelta(days=self.rng.randint(-PAST_DAYS, COMING_DAYS))
            if day.weekday() < 5:
                break
        hour, minute = self.rng.randint(9, 16), self.rng.choice([0, 0, 30])
        local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(timezone))
        return local.astimezone(UTC)

    def _write(
        self,
        title: str,
        description: str,
        organizer: dict[str, Any],
        invited: list[int],
        begin: datetime,
    ) -> None:
        rng = self.rng
        minutes = rng.choice([30, 30, 60, 60, 90])
        off = rng.random() < 0.08
        row = {
            "title": title.lower() if rng.random() < 0.05 else title,
            "description": description,
            "organizer_id": organizer["id"],
            "start": moment(begin),
            "end": moment(begin + timedelta(minutes=minutes)),
            "timezone": organizer["timezone"],
            "repeat": "none",
            "private": int(rng.random() < 0.04),
        }
        if off:
            row |= {"status": "cancelled", "note": rng.choice(CANCELLED)}
        elif rng.random() < 0.6:
            row["room_id"] = self._room(invited, [moment(begin)], minutes)
        created = min(begin, self.now) - timedelta(days=rng.randint(1, 20), hours=rng.randint(0, 9))
        self._insert(row, invited, created)

    def _overlap(self, here: list[dict[str, Any]]) -> None:
        """Give number 1 two meetings at the same time next week, both unanswered."""
        begin = self.now + timedelta(days=8, hours=2)
        for organizer in self.rng.sample(here[3:], 2):
            title, description = self.rng.choice(INSIDE)
            row = {"title": title, "description": description, "organizer_id": organizer["id"]}
            row |= {"start": moment(begin), "end": moment(begin + timedelta(hours=1))}
            row |= {"timezone": organizer["timezone"], "repeat": "none"}
            people = sorted({1, organizer["id"]})
            self._insert(row, people, self.now - timedelta(days=2), open_for=1)
            begin += timedelta(minutes=30)

    def _room(self, people: list[int], times: list[str], minutes: int) -> int | None:
        """Take the smallest free room of the office that most are in."""
        offices = [self.people[p]["office"] for p in people if self.people[p]["office"]]
        office = max(sorted(set(offices)), key=offices.count)
        wanted = sum(self.people[p]["office"] in (office, None) for p in people)
        slots = {
            moment(time_of(t).replace(minute=0) + timedelta(minutes=m))
            for t in times
            for m in range(0, minutes + 60, 30)
        }
        for room in sorted(self.rooms, key=lambda room: room["seats"]):
            number: int = room["id"]
            if room["office"] == office and room["seats"] >= wanted:
                mine = {(number, slot) for slot in slots}
                if not mine & self.taken:
                    self.taken |= mine
                    return number
        return None

    def _insert(
        self, row: dict[str, Any], people: list[int], created: datetime, open_for: int = 0
    ) -> int:
        number = self.service.db.insert(
            "calendar_event", **row, created_at=moment(created), updated_at=moment(created)
        )
        coming = row["start"] > self.service.now
        weights = [5, 8, 1, 1] if coming else [1, 12, 1, 1]
        for person in people:
            answers = ["none", "accepted", "tentative", "declined"]
            response = self.rng.choices(answers, weights)[0]
            if person == row["organizer_id"]:
                response = "accepted"
            elif person == open_for:
                response = "none"
            self.service.db.insert(
                "calendar_attendee", event_id=number, person_id=person, response=response
            )
        return number
