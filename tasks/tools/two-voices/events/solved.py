"""Engineering are done with the first matter, and know of one ticket about it."""


def change(context):
    """Close it, unless it is no longer theirs to close."""
    if context.db.value("SELECT status FROM tickets_ticket WHERE id = 437") == "open":
        context.call("tickets_close", ticket=437, resolution=context.params["case"]["fix"])
