"""The calendar in a browser: weeks, meetings, answers, rooms. Times are those of Berlin."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from agentgym.sites import BadRequestError, BoundForm, Field, Form, Request, Response, Site

site = Site()
HERE = ZoneInfo("Europe/Berlin")
ZONES = [
    (zone, zone.replace("_", " "))
    for zone in (
        *("America/New_York", "America/Toronto", "Asia/Singapore", "Europe/Berlin"),
        *("Europe/Lisbon", "Europe/London", "UTC"),
    )
]
REPEATS = [
    ("none", "Does not repeat"),
    ("weekdays", "Every weekday"),
    ("weekly", "Every week"),
    ("biweekly", "Every two weeks"),
    ("monthly", "Every month"),
]
REASONS = [
    (reason, reason.capitalize())
    for reason in (
        *("out of the office", "on leave", "ill", "another meeting", "public holiday"),
        *("no longer needed", "called off by the other side"),
    )
]
WHEN = (
    Field("day", "Day", "date", required=True, arguments=("start",)),
    Field("from", "From", "time", required=True, hint="Berlin time."),
    Field("until_time", "Until", "time", required=True, arguments=("end",)),
)
ROOM = Field("room", "Room", "choice")
PEOPLE = Field("people", "Attendees", "words", hint="Addresses or numbers of people, with commas.")
NEW = Form(
    Field("title", "Title", required=True, most=200),
    *WHEN,
    PEOPLE,
    ROOM,
    Field("repeat", "Repeats", "choice", required=True, options=REPEATS),
    Field("until", "Last day of the series", "date"),
    Field("timezone", "Time zone of the series", "choice", options=ZONES),
    Field("description", "Description", "area", most=20_000),
    Field("private", "Private: only attendees see the title", "check"),
)
EDIT = Form(
    Field("title", "Title", required=True, most=200),
    *WHEN,
    ROOM,
    Field("until", "Last day of the series", "date"),
    Field("description", "Description", "area", most=20_000),
    Field("version", "Version", "hidden"),
)
MOVE = Form(*WHEN, ROOM, Field("occurrence", "Occurrence", "hidden"))
CANCEL = Form(
    Field("reason", "Reason, for the attendees", "choice", options=REASONS),
    Field("occurrence", "Occurrence", "hidden"),
)
ANSWER = Form(
    Field(
        "answer",
        "Your answer",
        "radio",
        required=True,
        options=[("accepted", "Accept"), ("tentative", "Tentative"), ("declined", "Decline")],
    ),
    Field("reason", "Reason, for the organiser", "choice", options=REASONS),
)
INVITE = Form(
    Field("people", "Invite", "words", required=True, hint=PEOPLE.hint, arguments=("add",))
)
TIMES = Form(
    Field(
        "people", "People", "words", required=True, hint="Addresses or numbers; name yourself, too."
    ),
    Field("minutes", "Minutes", "integer", required=True, least=15, most=480),
    Field("start", "From day", "date", required=True),
    Field("end", "To day", "date", required=True),
)


def utc(day: str, clock: str) -> str:
    """Return the moment of a day and time in Berlin, in UTC."""
    hour, minute = clock.split(":")
    local = datetime.combine(date.fromisoformat(day), time(int(hour), int(minute)), HERE)
    return local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:00Z")


def local(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(HERE)


def day_of(text: str, default: str) -> date:
    try:
        return date.fromisoformat(text or default)
    except ValueError:
        raise BadRequestError(400, f"expected a day such as {default}, got {text[:40]!r}") from None


def rooms(request: Request) -> list[tuple[str, str]]:
    rows = request.rows("SELECT id, name, office, seats FROM calendar_room ORDER BY office, name")
    return [(str(r["id"]), f"{r['name']} ({r['office']}, {r['seats']} seats)") for r in rows]


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "calendar.html", "crumb": None, "intro": "", **values}
    return request.page("form.html", status, **values)


def people(request: Request, form: BoundForm) -> list[int]:
    """Return the numbers of people whom the form names by number, address or full name."""
    found: list[int] = []
    for text in form.values.get("people") or []:
        rows = request.rows(
            "SELECT person_id AS id FROM contacts_address WHERE lower(email) = lower(?1)"
            " UNION SELECT id FROM contacts_person WHERE status IN ('active', 'left')"
            " AND (lower(name) = lower(?1) OR cast(id AS TEXT) = ?1)",
            text,
        )
        if len(rows) != 1:
            known = "Nobody is" if not rows else f"{len(rows)} people are"
            form.errors["people"] = f"{known} known as {text[:80]}; enter an e-mail address."
            break
        found.append(rows[0]["id"])
    return found


def span(form: BoundForm) -> tuple[str, str]:
    """Return start and end of the form; an end before the start is on the next day."""
    if not form.is_valid:
        return "", ""
    values = form.values
    start, end = utc(values["day"], values["from"]), utc(values["day"], values["until_time"])
    if end <= start:
        following = date.fromisoformat(values["day"]) + timedelta(days=1)
        end = utc(following.isoformat(), values["until_time"])
    return start, end


def when(start: str, end: str) -> dict[str, str]:
    begin, over = local(start), local(end)
    return {
        "day": begin.date().isoformat(),
        "from": begin.strftime("%H:%M"),
        "until_time": over.strftime("%H:%M"),
    }


@site.get("/")
def week(request: Request) -> Response:
    query = request.query
    today = local(request.now).date()
    day = day_of(query.get("day"), today.isoformat())
    if not 2020 <= day.year <= 2040:
        raise BadRequestError(400, "expected a day between 2020 and 2040")
    monday = day - timedelta(days=day.weekday())
    person = query.number("person", 1, least=1)
    start = utc(monday.isoformat(), "00:00")
    end = utc((monday + timedelta(days=7)).isoformat(), "00:00")
    events = request.call("calendar_list_events", start=start, end=end, person=person)
    days = [monday + timedelta(days=n) for n in range(7)]
    name = request.rows("SELECT name FROM contacts_person WHERE id = ?", person)
    return request.page(
        "week.html",
        days=days,
        events=[{**event, "day": local(event["start"]).date()} for event in events],
        monday=monday,
        today=today,
        before=(monday - timedelta(days=7)).isoformat(),
        after=(monday + timedelta(days=7)).isoformat(),
        person=person,
        name=name[0]["name"] if name else "",
        everybody=request.rows(
            "SELECT id, name FROM contacts_person WHERE kind = 'colleague'"
            " AND status IN ('active', 'left') ORDER BY name"
        ),
    )


@site.get("/find")
def find(request: Request) -> Response:
    query = request.query
    text, person = query.get("q").strip(), query.number("person", 1, least=1)
    begin = day_of(query.get("day"), local(request.now).date().isoformat())
    start = utc(begin.isoformat(), "00:00")
    end = utc((begin + timedelta(days=61)).isoformat(), "00:00")
    found = request.call("calendar_list_events", start=start, end=end, person=person, text=text)
    return request.page("find.html", events=found, text=text, begin=begin)


@site.get("/event/{event:int}")
def event(request: Request, event: int) -> Response:
    return event_page(request, event)


def event_page(
    request: Request,
    event: int,
    status: int = 200,
    answer: BoundForm | None = None,
    invite: BoundForm | None = None,
) -> Response:
    shown = request.call("calendar_get", event=event)
    numbers = [shown["organizer"], *shown["busy"]]
    marks = ", ".join("?" * len(numbers))
    names = request.rows(f"SELECT id, name FROM contacts_person WHERE id IN ({marks})", *numbers)
    mine = next((a for a in shown["attendees"] if a["person"] == 1), None)
    room = request.rows("SELECT * FROM calendar_room WHERE id = ?", shown["room"])
    return request.page(
        "event.html",
        status,
        event=shown,
        names={row["id"]: row["name"] for row in names},
        mine=mine,
        room=room[0] if room else None,
        rooms=dict(rooms(request)),
        answer=answer or ANSWER.blank(answer=mine["response"] if mine else None),
        invite=invite or INVITE.blank(),
        occurrence=request.query.get("occurrence"),
    )


@site.get("/new")
def new(request: Request) -> Response:
    day = request.query.get("day") or local(request.now).date().isoformat()
    form = NEW.choosing({"room": rooms(request)}).blank(
        day=day, people=request.query.get("people"), repeat="none", timezone="Europe/Berlin"
    )
    return shaped(request, "New meeting", form, "/", "Create meeting")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields, {"room": rooms(request)})
    invited = people(request, form)
    start, end = span(form)
    values = form.values
    series = {}
    if values["repeat"] not in (None, "none"):
        series = {"repeat": values["repeat"], "until": values["until"]}
        series["timezone"] = values["timezone"] or "Europe/Berlin"
    made = form.attempt(
        lambda: request.call(
            "calendar_create",
            title=values["title"],
            start=start,
            end=end,
            people=invited,
            description=values["description"] or "",
            room=int(values["room"]) if values["room"] else None,
            private=values["private"],
            **series,
        )
    )
    if made is None:
        return shaped(request, "New meeting", form, "/", "Create meeting")
    request.flash("Meeting created.")
    return request.redirect(f"/event/{made['id']}")


@site.get("/event/{event:int}/edit")
def edit(request: Request, event: int) -> Response:
    shown = request.call("calendar_get", event=event)
    form = EDIT.choosing({"room": rooms(request)}).blank(
        **when(shown["start"], shown["end"]),
        **{name: shown[name] for name in ("title", "room", "until", "description", "version")},
    )
    return shaped(request, f"Edit {shown['title']}", form, f"/event/{event}", "Save changes")


@site.post("/event/{event:int}/edit")
def change(request: Request, event: int) -> Response:
    form = EDIT.bind(request.fields, {"room": rooms(request)})
    shown = request.call("calendar_get", event=event)
    start, end = span(form)
    values = form.values
    wanted = {
        "title": values["title"],
        "description": values["description"] or "",
        "start": start,
        "end": end,
        "room": int(values["room"] or 0),
        "until": values["until"],
    }
    before = {**shown, "room": shown["room"] or 0}
    changes = {k: v for k, v in wanted.items() if v is not None and v != before[k]}
    if (values["version"] or "").isdigit():
        changes["version"] = int(values["version"])
    done = form.attempt(lambda: request.call("calendar_update", event=event, **changes))
    if done is None:
        return shaped(request, f"Edit {shown['title']}", form, f"/event/{event}", "Save changes")
    request.flash("Changes saved.")
    return request.redirect(f"/event/{event}")


@site.get("/event/{event:int}/move")
def moving(request: Request, event: int) -> Response:
    shown = request.call("calendar_get", event=event)
    occurrence = request.query.get("occurrence")
    try:
        length = datetime.fromisoformat(shown["end"]) - datetime.fromisoformat(shown["start"])
        ends = (datetime.fromisoformat(occurrence) + length).isoformat()
    except (ValueError, OverflowError):
        raise BadRequestError(400, "open the occurrence in the week first") from None
    form = MOVE.choosing({"room": rooms(request)}).blank(
        **when(occurrence, ends), occurrence=occurrence, room=shown["room"]
    )
    heading = f"Move one occurrence of {shown['title']}"
    return shaped(request, heading, form, f"/event/{event}", "Move")


@site.post("/event/{event:int}/move")
def move(request: Request, event: int) -> Response:
    form = MOVE.bind(request.fields, {"room": rooms(request)})
    start, end = span(form)
    done = form.attempt(
        lambda: request.call(
            "calendar_move_occurrence",
            event=event,
            occurrence=form.values["occurrence"] or "",
            start=start,
            end=end,
            room=int(form.values["room"]) if form.values["room"] else None,
        )
    )
    if done is None:
        return shaped(request, "Move one occurrence", form, f"/event/{event}", "Move")
    request.flash("Occurrence moved.")
    return request.redirect(f"/event/{event}")


@site.get("/event/{event:int}/cancel")
def cancelling(request: Request, event: int) -> Response:
    shown = request.call("calendar_get", event=event)
    return cancel_page(request, shown, CANCEL.blank(occurrence=request.query.get("occurrence")))


def cancel_page(request: Request, shown: dict, form: BoundForm) -> Response:
    one = form.text("occurrence")
    what = "one occurrence of " if one else ""
    heading = f"Cancel {what}{shown['title']}"
    return shaped(request, heading, form, f"/event/{shown['id']}", "Cancel meeting")


@site.post("/event/{event:int}/cancel")
def cancel(request: Request, event: int) -> Response:
    form = CANCEL.bind(request.fields)
    values = {name: form.values[name] for name in ("occurrence", "reason")}
    done = form.attempt(lambda: request.call("calendar_cancel", event=event, **values))
    if done is None:
        return cancel_page(request, request.call("calendar_get", event=event), form)
    request.flash("Meeting cancelled.")
    return request.redirect(f"/event/{event}")


@site.post("/event/{event:int}/respond")
def respond(request: Request, event: int) -> Response:
    form = ANSWER.bind(request.fields)
    done = form.attempt(
        lambda: request.call(
            "calendar_respond",
            event=event,
            answer=form.values["answer"],
            reason=form.values["reason"],
        )
    )
    if done is None:
        return event_page(request, event, 422, answer=form)
    request.flash("Answer sent.")
    return request.redirect(f"/event/{event}")


@site.post("/event/{event:int}/invite")
def invite(request: Request, event: int) -> Response:
    form = INVITE.bind(request.fields)
    added = people(request, form)
    done = form.attempt(lambda: request.call("calendar_invite", event=event, add=added))
    if done is None:
        return event_page(request, event, 422, invite=form)
    request.flash("Invited.")
    return request.redirect(f"/event/{event}")


@site.post("/event/{event:int}/uninvite")
def uninvite(request: Request, event: int) -> Response:
    gone = request.fields.numbers("person")
    request.attempt("No longer invited.", "calendar_invite", event=event, remove=gone)
    return request.redirect(f"/event/{event}")


@site.get("/rooms")
def list_rooms(request: Request) -> Response:
    query = request.query
    day, begin, over = query.get("day"), query.get("from"), query.get("to")
    asked = {}
    problem = ""
    if day and begin and over:
        form = Form(*WHEN).bind(type(query)([("day", day), ("from", begin), ("until_time", over)]))
        start, end = span(form)
        problem = " ".join(form.errors.values())
        asked = {} if problem else {"start": start, "end": end}
    found = request.call(
        "calendar_list_rooms",
        office=query.get("office") or None,
        seats=query.number("seats", 0, most=1000),
        **asked,
    )
    offices = request.rows("SELECT DISTINCT office FROM calendar_room ORDER BY office")
    return request.page(
        "rooms.html",
        rooms=found,
        offices=[row["office"] for row in offices],
        problem=problem,
        asked=bool(asked),
    )


@site.get("/times")
def times(request: Request) -> Response:
    query = request.query
    if "people" not in query:
        day = local(request.now).date()
        form = TIMES.blank(minutes=60, start=day, end=day + timedelta(days=5))
        return request.page("times.html", form=form, slots=None)
    form = TIMES.bind(query)
    invited = people(request, form)
    slots = form.attempt(
        lambda: request.call(
            "calendar_find_times",
            people=invited,
            minutes=form.values["minutes"],
            start=utc(form.values["start"], "00:00"),
            end=utc(
                (date.fromisoformat(form.values["end"]) + timedelta(days=1)).isoformat(), "00:00"
            ),
        )
    )
    return request.page("times.html", 200 if form.is_valid else 422, form=form, slots=slots)
