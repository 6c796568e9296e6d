"""Enters a cancelled meeting, a similar one that takes place, and the mail about the first."""

MAIL = """Dear Erik,

a pipe has burst in one of our houses and I am needed there all week. I had to call off our talk
about your lease. I do not know yet when I can come; I will write to you when I do.

Jae Macedo"""


def change(context):
    """Create both meetings and cancel the first."""
    lease = context.call(
        "calendar_create",
        title="Gable Property: lease of the Berlin office",
        start="2026-03-03T13:30:00Z",
        end="2026-03-03T14:30:00Z",
        people=[2, 143],
        room=2,
        timezone="Europe/Berlin",
    )
    context.call("calendar_cancel", event=lease["id"], reason="called off by the other side")
    context.call(
        "calendar_create",
        title="Gable Property: parking spaces",
        start="2026-03-04T13:30:00Z",
        end="2026-03-04T14:00:00Z",
        people=[143],
        room=2,
        timezone="Europe/Berlin",
    )
    mail = context.call(
        "mail_send",
        to=["erik.pinto@fairlead.example"],
        subject="Tuesday will not work",
        body=MAIL,
        sender="j.macedo@gableproperty.example",
    )
    context.db.execute(
        "UPDATE mail_message SET sent_at = ?1, updated_at = ?1, event_id = ?2 WHERE id = ?3",
        "2026-03-01T19:12:40Z",
        lease["id"],
        mail["id"],
    )
