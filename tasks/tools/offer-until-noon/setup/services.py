"""Delivers the offer, and an older one from Rita's colleague."""


def change(context):
    """Deliver both mails to the inbox."""
    _mail(
        context,
        "r.cheng@terntravel.example",
        "Offer T-2190: Lisbon in May",
        "Dear Erik,\n\nnine people, flights and four nights: EUR 3,310. This holds until"
        " 20 February.\n\nRita Cheng",
        "2026-02-16T09:00:00Z",
    )
    _mail(
        context,
        "r.kaiser@terntravel.example",
        "Offer T-2207: Lisbon in May",
        "Dear Erik,\n\nhere is another offer for the nine of you, flights"
        " and four nights: EUR 3,480 in all if we hear from you by noon today, Berlin time."
        "  After that the airline recalculates, and it will be EUR 3,940.\n\nRita Kaiser",
        "2026-03-02T07:48:00Z",
    )


def _mail(context, sender, subject, body, when):
    mail = context.call(
        "mail_send",
        sender=sender,
        to=["erik.pinto@fairlead.example"],
        subject=subject,
        body=body,
    )
    context.db.execute(
        "UPDATE mail_message SET sent_at = ?1, updated_at = ?1 WHERE id = ?2", when, mail["id"]
    )
