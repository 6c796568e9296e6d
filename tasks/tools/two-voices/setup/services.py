"""Opens five tickets of one firm: two pairs, and one that looks like the second pair."""


def change(context):
    """Open the tickets on different days."""
    case = context.params["case"]
    one, two = case["one_subject"], case["two_subject"]
    _ticket(context, case["a"], one, case["one_body"], "2026-02-24T08:40:12Z", case["engineer"])
    _ticket(context, case["b"], one, case["one_body"], "2026-02-27T13:02:55Z", None, "high")
    _ticket(context, case["a"], two, case["two_body"], "2026-02-25T10:21:40Z", "bo")
    late = _ticket(
        context, case["b"], two, case["two_body"], "2026-03-01T16:44:03Z", None, case["prio"]
    )
    _ticket(context, case["b"], two, case["other_body"], "2026-02-28T09:15:31Z", None)
    context.call("tickets_tag", ticket=late["id"], add=["bug"])
    context.db.insert(
        "tickets_comment",
        ticket_id=late["id"],
        author=context.db.value("SELECT name FROM tickets_customer WHERE id = ?", case["b"]),
        body="Three colleagues have the same.",
        internal=0,
        created_at="2026-03-01T18:20:00Z",
    )


def _ticket(context, customer, subject, body, when, assignee, priority="normal"):
    name = context.db.value("SELECT name FROM tickets_customer WHERE id = ?", customer)
    ticket = context.call(
        "tickets_create",
        customer=customer,
        subject=subject,
        body=f"Hello,\n\n{body}\n\n{name}",
        product=context.params["case"]["product"],
        priority=priority,
    )
    if assignee:
        context.call("tickets_assign", ticket=ticket["id"], agent=assignee)
    context.db.execute(
        "UPDATE tickets_ticket SET created_at = ?1, updated_at = ?1 WHERE id = ?2",
        when,
        ticket["id"],
    )
    return ticket
