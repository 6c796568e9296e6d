"""Marketing books the room Oak first."""


def change(context):
    """Book Oak for Marketing at the early time, unless it is taken."""
    case = context.params["case"]
    taken = context.db.value(
        "SELECT 1 FROM calendar_event WHERE room_id = 3 AND status = 'confirmed' AND start < ?"
        " AND end > ?",
        case["early_end"],
        case["early"],
    )
    if not taken:
        context.call(
            "calendar_create",
            title="Photographs for the website",
            start=case["early"],
            end=case["early_end"],
            people=[34, 35, 36],
            room=3,
            organizer=34,
        )
