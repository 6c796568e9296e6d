"""Delivers four mails with invoices; Finance has entered one of the invoices already."""

MAILS = (
    ("f.okoye@nimbushosting.example", "R64820", "229.73", "2026-02-26T10:12:00Z", "Freya Okoye"),
    ("p.becker@plovercatering.example", "R55120", "318.40", "2026-02-26T15:40:00Z", "Petra Becker"),
    ("g.koenig@orreryaudit.example", "R60447", "1250.00", "2026-02-27T09:31:00Z", "Gita König"),
    ("d.schmitt@inkwellpress.example", "R71804", "96.50", "2026-02-28T11:05:00Z", "Diego Schmitt"),
)


def change(context):
    """Deliver the mails to the inbox."""
    for sender, number, amount, when, name in MAILS:
        mail = context.call(
            "mail_send",
            sender=sender,
            to=["erik.pinto@fairlead.example"],
            subject=f"Invoice {number}",
            body=f"Good morning,\n\nplease find our invoice {number} over EUR {amount}. Could you"
            f" confirm that you have it?\n\n{name}",
        )
        context.db.execute(
            "UPDATE mail_message SET sent_at = ?1, updated_at = ?1 WHERE id = ?2", when, mail["id"]
        )
    _reported(context)


def _reported(context):
    """Enter the day on which Finance received the invoice of Nimbus."""
    row = context.db.value(
        "SELECT row FROM sheets_line WHERE workbook = 'Supplier payments 2026' AND a = 'R64820'"
    )
    context.call(
        "sheets_write_range",
        workbook=19,
        sheet="Invoices",
        start=f"C{row}",
        rows=[["2026-02-26"]],
    )
    context.db.execute(
        "UPDATE sheets_workbook SET updated_by = owner, updated_at = '2026-02-26T16:02:00Z'"
        " WHERE id = 19"
    )
