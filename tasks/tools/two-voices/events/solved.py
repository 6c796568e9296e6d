"""Engineering solves the first problem and closes the one ticket it knows."""


def change(context):
    """Close the ticket if it is still open."""
    if context.db.value("SELECT status FROM tickets_ticket WHERE id = 437") == "open":
        context.call("tickets_close", ticket=437, resolution=context.params["case"]["fix"])
