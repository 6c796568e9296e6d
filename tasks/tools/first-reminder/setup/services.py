"""Writes the column for reminders, two more invoices and the accountant's mail."""

_PAID = (
    ("INV-93638", "Oakline Furniture"),
    ("INV-52831", "Brightside Dental"),
    ("INV-99995", "Juniper Legal"),
)
_MORE = (
    ["INV-31177", "Fern Hill School", "Rosterboard", 14, "2026-01-10", "2026-02-10", 415.8],
    ["INV-31178", "Harbour Lane Hotels", "Parcelhub", 20, "2026-01-16", "2026-02-15", 1110],
)


def change(context):
    """Write the sheets and the mail."""
    for workbook in (16, 17):
        _write(context, workbook, "I1", [["Reminded"]])
    _write(context, 17, "A33", [list(row) for row in _MORE])
    names = "\n".join(f"- {invoice} ({customer})" for invoice, customer in _PAID)
    context.db.insert(
        "mail_message",
        id=380,
        thread=242,
        folder_id=1,
        sender="esther.conti@fairlead.example",
        subject="Payments since Friday",
        body="Erik,\n\nthese were paid, I'll enter them in the sheets tomorrow:\n\n"
        f"{names}\n\nEsther",
        sent_at="2026-03-02T07:40:00Z",
        updated_at="2026-03-02T07:40:00Z",
    )
    context.db.insert(
        "mail_recipient",
        message_id=380,
        kind="to",
        position=0,
        email="erik.pinto@fairlead.example",
    )


def _write(context, workbook, start, rows):
    context.call("sheets_write_range", workbook=workbook, sheet="Invoices", start=start, rows=rows)
