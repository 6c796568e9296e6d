"""Delivers the bank statement."""

LINES = (
    ("INV-92789", "2 March"),
    ("INV-58084", "27 February"),
    ("INV-34277", "1 March"),
    ("INV-20020", "28 February"),
    ("INV-70393", "28 February"),
    ("INV-59799", "27 February"),
)


def change(context):
    """Write Esther's mail, sent an hour ago."""
    lines = "\n".join(f"{number}  paid {day} 2026, in full" for number, day in LINES)
    mail = context.call(
        "mail_send",
        sender="esther.conti@fairlead.example",
        to=["erik.pinto@fairlead.example"],
        subject="Bank statement of 2 March",
        body=f"Hello Erik,\n\nthis came in over the weekend:\n\n{lines}\n\nOne of them is from last"
        " year.\n\nEsther",
    )
    when = "2026-03-02T08:05:00Z"
    context.db.execute(
        "UPDATE mail_message SET sent_at = ?1, updated_at = ?1 WHERE id = ?2", when, mail["id"]
    )
