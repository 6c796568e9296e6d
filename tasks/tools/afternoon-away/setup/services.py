"""Enters other people's meetings around the hours, and one that has the room on Friday."""

_MEETINGS = (
    (331, "Renewals round-up", 24, "2026-03-12T13:00:00Z", "2026-03-12T13:45:00Z", None, (1, 26)),
    (332, "Warehouse network", 49, "2026-03-12T15:30:00Z", "2026-03-12T16:00:00Z", None, (1, 50)),
    (333, "Spring campaign", 32, "2026-03-13T13:00:00Z", "2026-03-13T15:00:00Z", 1, (34, 35)),
)


def change(context):
    """Enter the meetings with their attendees."""
    for number, title, organizer, start, end, room, people in _MEETINGS:
        context.db.insert(
            "calendar_event",
            id=number,
            title=title,
            organizer_id=organizer,
            start=start,
            end=end,
            timezone="Europe/Berlin",
            room_id=room,
            repeat="none",
            created_at="2026-02-26T10:00:00Z",
            updated_at="2026-02-26T10:00:00Z",
        )
        for person in (organizer, *people):
            context.db.insert(
                "calendar_attendee",
                event_id=number,
                person_id=person,
                response="accepted" if person == organizer else "none",
            )
