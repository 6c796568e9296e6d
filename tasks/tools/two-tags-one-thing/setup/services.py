"""Gives a few tickets both tags, because the generated tickets have one at most."""


def change(context):
    """Add the other tag to three tickets, of which two are in the period."""
    case = context.params["case"]
    tagged = context.db.all(
        "SELECT t.id, t.created_at FROM tickets_ticket t JOIN tickets_tag g ON g.ticket_id = t.id"
        " WHERE g.tag = ? ORDER BY t.id",
        case["one"],
    )
    inside = [t["id"] for t in tagged if case["since"] <= t["created_at"] < case["until"]]
    outside = [t["id"] for t in tagged if t["id"] not in inside]
    for number in (*context.rng.sample(inside, 2), context.rng.choice(outside)):
        context.db.insert("tickets_tag", ticket_id=number, tag=case["other"])
