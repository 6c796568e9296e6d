"""Enters the meeting with its guests and their answers, and another one in a room that fits."""

import json
import random

_ERIK, _AUDITED, _IN_IT = 1, 37, 51
_STAFF = (14, 15, 17, 21, 22, 23, 26, 28, 29, 30, 32, 35, 40, 42, 44, 49, 50, 53, 57, 58)
_SAME_NAME = 11
_BEECH, _LINDEN = 4, 2
_WORDS = {"accepted": "yes", "declined": "no", "tentative": "maybe", "none": "open"}


def change(context):
    """Draw who is invited now and who was a week ago, and what they have answered."""
    case = context.params["case"]
    draw = random.Random(context.params["seed"])  # make.py draws the same people
    gone, *others = draw.sample(_STAFF, 9)
    staying, new = [_SAME_NAME, *others[:7]], [others[7], _IN_IT]
    answers = _answers(draw, [*staying, *new])
    meeting = _create(context, case["title"], _ERIK, list(answers))
    for person, answer in answers.items():
        if answer != "none":
            context.call("calendar_respond", event=meeting, answer=answer, person=person)
    # It was booked for fewer people, so no call could give it this room now.
    context.db.execute("UPDATE calendar_event SET room_id = ? WHERE id = ?", _BEECH, meeting)
    if draw.random() < 0.5:
        _create(context, "Visit of the auditors", _AUDITED, [40], room=_LINDEN)
    seats = 1 + sum(answer != "declined" for answer in answers.values())
    span = {"start": case["start"], "end": case["end"]}
    rooms = context.call("calendar_list_rooms", office="Berlin", seats=seats, **span)
    right = min((room for room in rooms if room["free"]), key=lambda room: room["seats"])
    gold = {
        "meeting": meeting,
        "room": right["id"],
        "name": right["name"],
        "staying": {_name(context, person): _WORDS[answers[person]] for person in staying},
        "new": [[*_person(context, person), _WORDS[answers[person]]] for person in new],
        "gone": _name(context, gone),
    }
    context.gold("guests.json", json.dumps(gold))


def _answers(draw, people):
    """Return an answer for each person; seven or eight seats are needed with Erik."""
    declined = draw.choice((3, 4))
    words = ["declined"] * declined + ["tentative", "none", "none"]
    words += ["accepted"] * (len(people) - len(words))
    draw.shuffle(words)
    return dict(zip(people, words, strict=True))


def _create(context, title, organizer, people, room=None):
    made = context.call(
        "calendar_create",
        title=title,
        start=context.params["case"]["start"],
        end=context.params["case"]["end"],
        people=people,
        room=room,
        timezone="Europe/Berlin",
        organizer=organizer,
    )
    return made["id"]


def _person(context, person):
    row = context.db.one("SELECT name, department FROM contacts_person WHERE id = ?", person)
    return [row["name"], row["department"]]


def _name(context, person):
    return _person(context, person)[0]
