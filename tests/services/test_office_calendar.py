"""The calendar keeps the contract of services, its own rules, and believable data."""

from collections import Counter
from functools import cache

import pytest
from office_calls import ask, refusal, service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract


def services():
    return service("calendar")


@cache
def own(condition="start > '2026-03-03'"):
    """Return meetings that number 1 organises."""
    rows = Backend(services(), services().template(1)).state.rows
    return rows.column(
        "SELECT id FROM calendar_event WHERE organizer_id = 1 AND status = 'confirmed'"
        f" AND {condition}"
    )


def next_of(backend, series):
    """Return the next occurrence of a series."""
    items = backend.call(
        "calendar_list_events", {"start": backend.now, "end": "2026-04-20T00:00:00Z"}
    ).result
    return next(item["occurrence"] for item in items if item["event"] == series)


@cache
def taken(seed):
    made = services()
    backend = Backend(made, made.template(seed))
    open_ = backend.state.rows.value(
        "SELECT a.event_id FROM calendar_attendee a JOIN calendar_event e ON e.id = a.event_id"
        " WHERE a.person_id = 1 AND e.organizer_id <> 1 AND e.status = 'confirmed'"
    )
    (series,) = own("repeat <> 'none'")
    return {
        "calendar_respond": {"event": open_, "answer": "declined"},
        "calendar_move_occurrence": {
            "event": series,
            "occurrence": next_of(backend, series),
            **AT_NINE,
        },
        "calendar_cancel": {"event": own()[0]},
        "calendar_update": {"event": own()[0], "title": "New"},
        "calendar_create": {"title": "New", "people": [2], **AT_NINE},
    }


class TestCalendar(ServiceContract):
    @property
    def examples(self):
        spans = {"start": ["2026-03-03T09:00:00Z"], "end": ["2026-03-03T10:00:00Z"]}
        tools = ("list_events", "list_rooms", "find_times", "create", "move_occurrence")
        return {
            **{f"calendar_{t}.{k}": v for t in tools for k, v in spans.items()},
            "calendar_list_events.text": ["e"],
            "calendar_list_events.person": [1, 2, 3, 10],
            "calendar_list_rooms.office": ["Berlin"],
            "calendar_list_rooms.seats": [4],
            "calendar_find_times.people": [[1], [1, 2]],
            "calendar_find_times.minutes": [30],
            "calendar_create.people": [[2, 3], [4]],
            "calendar_create.repeat": ["none", "weekly"],
            "calendar_create.until": ["2026-05-01"],
            "calendar_create.timezone": ["Europe/Berlin", "UTC"],
            "calendar_update.start": ["2026-03-12T09:00:00Z"],
            "calendar_update.end": ["2026-03-12T10:00:00Z"],
            "calendar_update.until": ["2026-05-01"],
            "calendar_invite.add": [[2], [3, 4]],
            "calendar_invite.remove": [[5]],
            "calendar_invite.event": own(),
            "calendar_cancel.event": own(),
            "calendar_update.event": own(),
        }

    @property
    def accepted(self):
        return taken(self.seed)

    def make(self):
        return services()


AT_NINE = {"start": "2026-03-03T09:00:00Z", "end": "2026-03-03T10:00:00Z"}
SUNDAY = {"start": "2026-03-08T09:00:00Z", "end": "2026-03-08T10:00:00Z"}


@pytest.fixture
def live():
    return Backend(services(), services().template(1))


def new(live, **more):
    return ask(live, "calendar_create", **{"title": "Plans", "people": [2], **SUNDAY, **more})


def starts(live, event, start, end):
    items = ask(live, "calendar_list_events", start=start, end=end)
    return [item["start"] for item in items if item["event"] == event]


def test_a_series_keeps_its_local_time_and_skips_what_it_lacks(live):
    berlin = new(live, repeat="weekly", timezone="Europe/Berlin", until="2026-04-05")
    found = starts(live, berlin["id"], "2026-03-01T00:00:00Z", "2026-04-30T00:00:00Z")
    assert found == [  # 10 o'clock in Berlin, where summer time begins on 29 March
        "2026-03-08T09:00:00Z",
        "2026-03-15T09:00:00Z",
        "2026-03-22T09:00:00Z",
        "2026-03-29T08:00:00Z",
        "2026-04-05T08:00:00Z",
    ]
    span = {"start": "2026-03-31T22:00:00Z", "end": "2026-03-31T23:00:00Z"}
    monthly = new(live, repeat="monthly", **span)
    found = starts(live, monthly["id"], "2026-04-01T00:00:00Z", "2026-06-01T00:00:00Z")
    assert found == ["2026-05-31T22:00:00Z"]
    daily = new(live, repeat="weekdays")
    found = starts(live, daily["id"], "2026-03-12T00:00:00Z", "2026-03-17T00:00:00Z")
    assert [day[8:10] for day in found] == ["12", "13", "16"]


def test_one_occurrence_is_moved_or_cancelled(live):
    number = new(live, repeat="weekly")["id"]
    moved = {"start": "2026-03-16T12:00:00Z", "end": "2026-03-16T13:00:00Z"}
    at = "2026-03-15T09:00:00Z"
    ask(live, "calendar_move_occurrence", event=number, occurrence=at, **moved)
    ask(live, "calendar_cancel", event=number, occurrence="2026-03-22T09:00:00Z", reason="on leave")
    found = starts(live, number, "2026-03-08T00:00:00Z", "2026-03-30T00:00:00Z")
    assert found == ["2026-03-08T09:00:00Z", "2026-03-16T12:00:00Z", "2026-03-29T09:00:00Z"]
    no = {"event": number, "occurrence": "2026-03-09T09:00:00Z"}
    assert refusal(live, "calendar_cancel", **no) == ("not_found", "occurrence")
    gone = {"event": number, "occurrence": "2026-03-22T09:00:00Z", **moved}
    assert refusal(live, "calendar_move_occurrence", **gone) == ("conflict", "occurrence")
    again = ask(live, "calendar_update", event=number, start="2026-03-08T10:00:00Z")
    assert again["end"] == "2026-03-08T11:00:00Z"
    found = starts(live, number, "2026-03-08T00:00:00Z", "2026-03-30T00:00:00Z")
    assert found == ["2026-03-08T10:00:00Z", "2026-03-16T12:00:00Z", "2026-03-29T10:00:00Z"]


def test_exceptions_go_along_with_their_series_by_the_clock_on_the_wall(live):
    berlin = {"repeat": "weekly", "timezone": "Europe/Berlin"}
    number = new(live, **berlin)["id"]
    for at in ("2026-03-22T09:00:00Z", "2026-04-05T08:00:00Z"):
        ask(live, "calendar_cancel", event=number, occurrence=at)
    later = ask(live, "calendar_update", event=number, start="2026-03-10T13:00:00Z")
    gone = [e["occurrence"] for e in later["exceptions"]]
    assert gone == ["2026-03-24T13:00:00Z", "2026-04-07T12:00:00Z"], "14 o'clock, two days later"
    found = starts(live, number, "2026-03-08T00:00:00Z", "2026-04-12T00:00:00Z")
    assert not set(gone) & set(found) and len(found) == 3
    ended = ask(live, "calendar_update", event=number, until="2026-04-01")
    assert [e["occurrence"] for e in ended["exceptions"]] == gone[:1]
    assert ask(live, "calendar_update", event=number, end="2026-03-10T13:30:00Z")["exceptions"]


def test_a_series_is_not_moved_off_its_exceptions(live):
    daily = {"start": "2026-03-09T09:00:00Z", "end": "2026-03-09T10:00:00Z", "repeat": "weekdays"}
    number = new(live, **daily)["id"]
    ask(live, "calendar_cancel", event=number, occurrence="2026-03-13T09:00:00Z")  # a Friday
    away = {"event": number, "start": "2026-03-10T09:00:00Z"}
    assert refusal(live, "calendar_update", **away) == ("conflict", "start")
    ask(live, "calendar_update", event=number, start="2026-03-09T11:00:00Z")
    found = starts(live, number, "2026-03-12T00:00:00Z", "2026-03-17T00:00:00Z")
    assert [day[8:13] for day in found] == ["12T11", "16T11"]


def test_a_room_is_taken_once_and_holds_its_seats(live):
    rooms = ask(live, "calendar_list_rooms", office="Berlin", **SUNDAY)
    assert all(room["free"] for room in rooms) and len(rooms) == 4
    small = min(rooms, key=lambda room: room["seats"])["id"]
    first = new(live, room=small, repeat="weekly", people=[])
    later = {"start": "2026-03-15T09:30:00Z", "end": "2026-03-15T10:30:00Z"}
    here = {"title": "x", "people": [], "room": small}
    assert refusal(live, "calendar_create", **here, **later) == ("conflict", "room")
    away = {"start": "2026-03-16T03:00:00Z", "end": "2026-03-16T03:30:00Z"}
    at = "2026-03-15T09:00:00Z"
    ask(live, "calendar_move_occurrence", event=first["id"], occurrence=at, **away)
    assert ask(live, "calendar_create", **here, **later)["room"] == small
    guests = live.state.rows.column(
        "SELECT id FROM contacts_person WHERE kind = 'outside' AND status = 'active' LIMIT 9"
    )
    assert refusal(live, "calendar_invite", event=first["id"], add=guests) == ("invalid", "room")
    assert refusal(live, "calendar_create", **{**here, "room": 99}, **later)[0] == "not_found"


def test_only_who_organises_changes(live):
    rows = live.state.rows
    others = rows.value(
        "SELECT a.event_id FROM calendar_attendee a JOIN calendar_event e ON e.id = a.event_id"
        " WHERE a.person_id = 1 AND e.organizer_id <> 1 AND e.status = 'confirmed'"
    )
    assert refusal(live, "calendar_update", event=others, title="x") == ("forbidden", "event")
    assert refusal(live, "calendar_cancel", event=others) == ("forbidden", "event")
    told = ask(live, "calendar_respond", event=others, answer="tentative", reason="another meeting")
    mine = next(a for a in told["attendees"] if a["person"] == 1)
    assert (mine["response"], mine["note"]) == ("tentative", "another meeting")
    other = next(
        a["person"] for a in told["attendees"] if a["person"] not in (1, told["organizer"])
    )
    call = {"event": others, "answer": "declined", "person": other}
    assert refusal(live, "calendar_respond", **call) == ("forbidden", "person")
    assert ask(live, "calendar_respond", "world", **call)
    private = rows.value(
        "SELECT id FROM calendar_event WHERE private AND status = 'confirmed' AND repeat <> 'none'"
        " AND id NOT IN (SELECT event_id FROM calendar_attendee WHERE person_id = 1)"
    )
    assert refusal(live, "calendar_get", event=private) == ("forbidden", "event")
    host = rows.value("SELECT organizer_id FROM calendar_event WHERE id = ?", private)
    seen = ask(
        live, "calendar_list_events", start=live.now, end="2026-04-20T00:00:00Z", person=host
    )
    assert {item["title"] for item in seen if item["event"] == private} == {"Busy"}


def test_a_new_time_asks_again_and_clashes_are_told(live):
    first = new(live)
    ask(live, "calendar_respond", "world", event=first["id"], answer="accepted", person=2)
    second = new(live)
    assert second["busy"] == [1, 2]
    moved = ask(live, "calendar_update", event=first["id"], start="2026-03-08T15:00:00Z")
    assert {a["person"]: a["response"] for a in moved["attendees"]} == {1: "accepted", 2: "none"}
    assert ask(live, "calendar_get", event=second["id"])["busy"] == []
    stale = {"event": first["id"], "version": first["version"], "title": "x"}
    assert refusal(live, "calendar_update", **stale) == ("conflict", "version")
    ask(live, "calendar_cancel", event=first["id"], reason="no longer needed")
    assert refusal(live, "calendar_update", event=first["id"], title="x") == ("conflict", "event")


@pytest.mark.parametrize("actor", ["world", "setup"])
def test_only_who_sets_up_organises_for_others(live, actor):
    call = {"title": "Plans", "people": [1], **SUNDAY, "organizer": 2}
    assert refusal(live, "calendar_create", **call) == ("forbidden", "organizer")
    made = ask(live, "calendar_create", actor, **call)
    assert {a["person"]: a["response"] for a in made["attendees"]} == {1: "none", 2: "accepted"}


def test_common_times_are_in_everybodys_working_hours(live):
    rows = live.state.rows
    by_office = "SELECT id FROM contacts_person WHERE office = ? AND status = 'active' LIMIT 1"
    people = [1, rows.value(by_office, "Toronto")]
    span = {"start": "2026-03-02T00:00:00Z", "end": "2026-03-14T00:00:00Z"}
    found = ask(live, "calendar_find_times", people=people, minutes=60, **span)
    assert found
    for slot in found:  # Toronto's nine o'clock is 14:00, and 13:00 from 8 March on
        assert "13:00" <= slot["start"][11:16] <= "16:00", slot
        for person in people:
            items = ask(live, "calendar_list_events", person=person, **slot)
            assert all(item["response"] == "declined" for item in items)
    far = [rows.value(by_office, "Singapore"), people[1]]
    assert ask(live, "calendar_find_times", people=far, minutes=60, **span) == []


def test_impossible_times_are_told(live):
    odd = {"start": "2026-02-31T09:00:00Z", "end": "2026-03-03T10:00:00Z"}
    assert refusal(live, "calendar_create", title="x", people=[], **odd) == ("invalid", "start")
    back = {"start": AT_NINE["end"], "end": AT_NINE["start"]}
    assert refusal(live, "calendar_create", title="x", people=[], **back) == ("invalid", "end")
    once = {"title": "x", "people": [], "until": "2026-05-01", **AT_NINE}
    assert refusal(live, "calendar_create", **once) == ("invalid", "until")
    gone = live.state.rows.value("SELECT id FROM contacts_person WHERE status = 'left'")
    leaver = {"title": "x", "people": [gone], **AT_NINE}
    assert refusal(live, "calendar_create", **leaver) == ("conflict", "people")


@pytest.mark.parametrize("seed", [1, 2])
def test_data_fit_together_and_are_as_messy_as_real_ones(seed):
    live = Backend(services(), services().template(seed))
    rows = live.state.rows
    assert rows.value("SELECT count(*) FROM calendar_event") > 300
    assert rows.value("SELECT count(*) FROM calendar_event WHERE status = 'cancelled'") > 10
    assert rows.value("SELECT count(*) FROM calendar_exception WHERE status = 'moved'") > 5
    gone = rows.value(
        "SELECT count(*) FROM calendar_event e JOIN contacts_person p ON p.id = e.organizer_id"
        " WHERE e.repeat <> 'none' AND p.status = 'left'"
    )
    assert gone >= 1, "a series of somebody who has left"
    span = {"start": "2026-03-09T00:00:00Z", "end": "2026-03-14T00:00:00Z"}
    items = ask(live, "calendar_list_events", **span)
    assert any(a["end"] > b["start"] for a, b in zip(items, items[1:], strict=False))
    for room in ask(live, "calendar_list_rooms"):
        taken = Counter()
        for person in rows.column("SELECT id FROM contacts_person WHERE kind = 'colleague'"):
            for item in ask(live, "calendar_list_events", person=person, **span):
                if item["room"] == room["name"] and item["event"] not in taken:
                    taken[item["event"]] = (item["start"], item["end"])
        spans = sorted(taken.values())
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False)), room["name"]
