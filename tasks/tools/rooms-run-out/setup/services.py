"""Linden is somebody else's at the later time."""


def change(desk):
    """Book it for Engineering."""
    case = desk.params["case"]
    desk.call(
        "calendar_create",
        title="Interviews",
        start=case["start"],
        end=case["end"],
        people=[8, 9],
        room=2,
        organizer=4,
    )
