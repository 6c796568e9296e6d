"""Opens two tickets of Bluewater: one from a duplicate contact, and one that is urgent."""


def change(context):
    """Open both tickets with earlier dates."""
    lost = context.call(
        "tickets_create",
        customer=152,
        subject="No shifts shown since the update",
        body="Hello,\n\nsince Thursday our people in Hamburg see an empty week.\n\nSilva, Ida",
        product="Rosterboard",
    )
    _date(context, lost, "2026-02-27T08:14:09Z", due="2026-02-28T08:14:09Z")
    locked = context.call(
        "tickets_create",
        customer=72,
        subject="Drivers cannot open the delivery notes",
        body="Urgent!\n\nNone of our drivers can open a note since last night.\n\nMateo Farouk",
        product="Vaultdrive",
        priority="urgent",
    )
    context.call("tickets_assign", ticket=locked["id"], agent="greta")
    _date(context, locked, "2026-03-01T22:40:31Z", due="2026-03-02T00:40:31Z")


def _date(context, ticket, when, due):
    context.db.execute(
        "UPDATE tickets_ticket SET created_at = ?1, updated_at = ?1, due_at = ?2 WHERE id = ?3",
        when,
        due,
        ticket["id"],
    )
