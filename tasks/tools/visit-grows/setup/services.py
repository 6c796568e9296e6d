"""Delivers the first mail about the visit."""


def change(context):
    """Write Mateo's mail of Friday."""
    mail = context.call(
        "mail_send",
        sender="mateo.rossi@granitepartners.example",
        to=["erik.pinto@fairlead.example"],
        subject="May we come by?",
        body="Dear Erik,\n\nwe would like to see how Rosterboard is made. Could four of us, me"
        " included, come to Berlin on Wednesday, 11 March, at 10 in the morning? Please tell us"
        " which room we should come to.\n\nBest wishes\nMateo",
    )
    when = "2026-02-27T14:20:00Z"
    context.db.execute(
        "UPDATE mail_message SET sent_at = ?1, updated_at = ?1 WHERE id = ?2", when, mail["id"]
    )
