"""Engineering are done with the first matter, and know of one ticket about it."""


def change(desk):
    """Close it, unless it is no longer theirs to close."""
    if desk.db.value("SELECT status FROM tickets_ticket WHERE id = 437") == "open":
        desk.call("tickets_close", ticket=437, resolution=desk.params["case"]["fix"])
