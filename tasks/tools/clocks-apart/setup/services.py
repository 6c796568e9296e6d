"""Enters the series, a meeting in its room on one of the days, and Elena's mail."""

_ASKED = (
    "Erik,\n\nour clocks here go forward on Sunday, yours only at the end of the month. Please keep"
    " the Toronto hand-over at ten in the morning for us, as it always is, until Berlin has"
    " followed. I'm on leave on the 17th, so let's skip that one altogether.\n\nWhen it's in"
    " the calendar, send me the form for changed dates, with one line for each Tuesday that changes"
    " and the time in Berlin.\n\nElena"
)


def change(context):
    """Enter the two meetings, accepted by everybody, and deliver the mail."""
    _meeting(context, "Toronto hand-over", (3, 4, 35), "2026-01-13T15:00:00Z", "15:30", "weekly", 1)
    other = _meeting(
        context, "Spring campaign", (34, 35), "2026-03-24T14:00:00Z", "14:45", "none", 1
    )
    context.db.execute("UPDATE calendar_event SET organizer_id = 32 WHERE id = ?", other)
    context.db.execute(
        "UPDATE calendar_attendee SET person_id = 32 WHERE event_id = ? AND person_id = 1", other
    )
    context.db.insert(
        "mail_message",
        id=380,
        thread=242,
        folder_id=1,
        sender="elena.lindholm@fairlead.example",
        subject="Hand-over in March",
        body=_ASKED,
        sent_at="2026-03-01T18:12:00Z",
        unread=1,
        updated_at="2026-03-01T18:12:00Z",
    )
    context.db.insert(
        "mail_recipient",
        message_id=380,
        kind="to",
        position=0,
        email="erik.pinto@fairlead.example",
    )


def _meeting(context, title, people, start, until, repeat, room):
    event = context.call(
        "calendar_create",
        title=title,
        start=start,
        end=f"{start[:11]}{until}:00Z",
        people=list(people),
        timezone="Europe/Berlin",
        repeat=repeat,
        room=room,
    )["id"]
    context.db.execute(
        "UPDATE calendar_attendee SET response = 'accepted' WHERE event_id = ?", event
    )
    return event
