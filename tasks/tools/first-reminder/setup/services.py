"""The column for reminders, two invoices more, and what the accountant has written."""

_PAID = (
    ("INV-93638", "Oakline Furniture"),
    ("INV-52831", "Brightside Dental"),
    ("INV-99995", "Juniper Legal"),
)
_MORE = (
    ["INV-31177", "Fern Hill School", "Rosterboard", 14, "2026-01-10", "2026-02-10", 415.8],
    ["INV-31178", "Harbour Lane Hotels", "Parcelhub", 20, "2026-01-16", "2026-02-15", 1110],
)


def change(desk):
    """Write what Finance and the accountant would have written."""
    for workbook in (16, 17):
        _write(desk, workbook, "I1", [["Reminded"]])
    _write(desk, 17, "A33", [list(row) for row in _MORE])
    names = "\n".join(f"- {invoice} ({customer})" for invoice, customer in _PAID)
    desk.db.insert(
        "mail_message",
        id=380,
        thread=242,
        folder_id=1,
        sender="esther.conti@fairlead.example",
        subject="On the account since Friday",
        body=f"Erik,\n\nthese were paid, I enter them in the sheets tomorrow:\n\n{names}\n\nEsther",
        sent_at="2026-03-02T07:40:00Z",
        updated_at="2026-03-02T07:40:00Z",
    )
    desk.db.insert(
        "mail_recipient",
        message_id=380,
        kind="to",
        position=0,
        email="erik.pinto@fairlead.example",
    )


def _write(desk, workbook, start, rows):
    desk.call("sheets_write_range", workbook=workbook, sheet="Invoices", start=start, rows=rows)
