"""Writes the column for reminders, two more invoices, the letter and the accountant's mail."""

LETTER = """Subject: Reminder: invoice NUMBER

Dear NAME,

our invoice NUMBER over EUR AMOUNT was due on DATE and is still open. Please transfer the amount
within ten days. If your payment and this mail have crossed, please take no notice of it.

YOUR NAME
Fairlead Software

---

For the first reminder only, with no changes. Anything else is for Finance to agree."""

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
    """Write the sheets, the article and the mail."""
    _publish(context)
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


def _publish(context):
    article = context.call(
        "knowledge_create",
        title="First reminder: the letter",
        body=LETTER,
        category="finance",
        owner="esther.conti@fairlead.example",
        review_on="2026-09-30",
        tags=["reminders", "templates"],
    )["id"]
    context.call("knowledge_publish", article=article)
    when = "2025-10-07T12:31:44Z"
    context.db.execute(
        "UPDATE knowledge_article SET created_at = ?1, updated_at = ?1 WHERE id = ?2", when, article
    )
    context.db.execute(
        "UPDATE knowledge_version SET saved_at = ?, author = ? WHERE article_id = ?",
        when,
        "esther.conti@fairlead.example",
        article,
    )
