"""Engineering has the room Linden at the later time."""


def change(context):
    """Book the room."""
    case = context.params["case"]
    context.call(
        "calendar_create",
        title="Interviews",
        start=case["start"],
        end=case["end"],
        people=[8, 9],
        room=2,
        organizer=4,
    )
