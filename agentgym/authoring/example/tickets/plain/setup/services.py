"""Runs before the agent comes; every episode then starts from what it left.

`context.call(tool, ...)` calls a tool, `context.db` changes rows past the tools and
`context.gold(name, data)` leaves something for the checks. Take the time and random numbers
from `context.now` and `context.rng` only.
"""

from agentgym.services import SetupContext

CUSTOMER, TICKET, OTHER = 9001, 9001, 9002


def change(context: SetupContext) -> None:
    """Add a customer with two tickets."""
    context.db.insert(
        "tickets_customer",
        id=CUSTOMER,
        name="Ada Quist",
        company="Quist Pumps",
        email="mail@customer.example",
        phone="+1 555 010 9001",
        plan="business",
        since="2024-01-01",
    )
    paid = "I have paid 1,240.50 EUR twice. Please send one payment back."
    for ticket, subject, body in (
        (TICKET, "Invoice paid twice", paid),
        (OTHER, "Invoices by e-mail", "Please send my invoices by e-mail from now on."),
    ):
        context.db.insert(
            "tickets_ticket",
            id=ticket,
            customer_id=CUSTOMER,
            subject=subject,
            body=body,
            product="Ledgerly",
            status="open",
            priority="normal",
            created_at="2026-02-27T09:00:00Z",
            updated_at="2026-02-27T09:00:00Z",
            due_at="2026-03-04T09:00:00Z",
        )
