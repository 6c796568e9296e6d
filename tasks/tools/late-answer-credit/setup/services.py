"""The paper on credits, the one of last year, and the workbook that credits are entered in."""

PAPER = """# Service credits 2026

Anyone with a ticket that is open and past its due time gets a credit if they ask for it. Ask them
which ticket they mean; many have several.

For each day begun since the due time, by the plan we have them on:
- basic: 1 %, at most 10 %
- business: 2 %, at most 25 %
- enterprise: 4 %, at most 40 %

Of what: of their firm's last invoice for the product that the ticket is about. "Last" is the
latest day of issue in our lists of customers' invoices, this year's and last year's.

How: if that invoice is not paid yet, the credit is set off against it; if it is, the credit is
paid out.

Status: up to EUR 500.00 a credit is granted on the spot. Above that it is to be approved by
Anton.

Then: one line in the workbook "Service credits 2026", and the tag `credit` on the ticket.
Nothing else is promised, neither free months nor discounts, and nothing else is done to the
ticket. Of the saved replies, greetings, thanks, apologies and questions are free. Otherwise they
only hear these sentences, which Legal has agreed to, and always the first one:

    Your credit is EUR AMOUNT, HOW and STATUS.
    It is PERCENT % of invoice NUMBER over EUR AMOUNT.
    There is nothing on top of that.
    The rules hold for everybody.
    Your ticket stays with the team that has it.
"""

OLD = """# Service credits 2025

For each whole day since the due time: basic 2 %, business 3 %, enterprise 5 %, at most 30 % of
the last invoice. Replaced by the paper for 2026.
"""

LINES = [
    ["Ticket", "Firm", "Invoice", "Percent", "EUR", "How", "Status"],
    [391, "Meridian Travel", "INV-39210", 6, 140.4, "paid out", "granted"],
    [352, "Delta Freight", "INV-61522", 25, 1311.75, "set off", "to be approved"],
]


def change(context):
    """Write the papers and begin the workbook."""
    for name, text, day in (
        ("Service credits 2025.md", OLD, "2025-01-09"),
        ("Service credits 2026.md", PAPER, "2026-01-08"),
    ):
        paper = context.call("files_create_file", name=name, folder=254, content=text)
        context.db.execute(
            "UPDATE files_item SET owner = 'amira.haddad@fairlead.example', created_at = ?1,"
            " updated_at = ?1 WHERE id = ?2",
            f"{day}T08:30:00Z",
            paper["id"],
        )
    book = context.call("sheets_create_workbook", name="Service credits 2026", sheets=["Credits"])
    context.call("sheets_append_rows", workbook=book["id"], sheet="Credits", rows=LINES)
