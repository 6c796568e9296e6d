"""Delivers mail: resolves addresses, and returns what cannot be delivered.

Sending always succeeds, and mail that cannot be delivered comes back as a message (RFC 3464 calls
it a delivery status notification).
"""

from __future__ import annotations

from typing import Any

from agentgym.services import Service

DOMAIN = "fairlead.example"
DAEMON = f"mailer-daemon@{DOMAIN}"
INBOX, SENT, DRAFTS, TRASH, ARCHIVE, JUNK = 1, 2, 3, 4, 5, 6


def own_addresses(service: Service) -> list[str]:
    """Return the addresses of the mailbox, the main one first."""
    return service.db.column(
        "SELECT email FROM contacts_person WHERE id = 1"
        " UNION ALL SELECT email FROM contacts_alias WHERE person_id = 1"
    )


def refusal(service: Service, email: str) -> str | None:
    """Return the reason why an address cannot be delivered to; None if it can."""
    domain = email.split("@")[1]
    person = _person(service, email)
    if person is not None:
        if person["status"] == "left":
            return f"550 5.1.1 <{email}>: {person['name']} has left; the mailbox is closed"
        return None
    if service.db.value("SELECT 1 FROM contacts_group WHERE lower(email) = lower(?)", email):
        return None
    if domain == DOMAIN:
        return f"550 5.1.1 <{email}>: no such mailbox here"
    known = service.db.value(
        "SELECT 1 FROM contacts_person WHERE email LIKE '%@' || ?1"
        " UNION SELECT 1 FROM mail_message WHERE sender LIKE '%@' || ?1"
        " UNION SELECT 1 FROM tickets_customer WHERE email LIKE '%@' || ?1",
        domain,
    )
    # Mailboxes of others cannot be inspected: a known domain accepts the mail.
    return None if known else f"550 5.1.2 <{email}>: domain {domain} not found"


def bounce(service: Service, message: dict[str, Any], reasons: list[str]) -> int:
    """Put mail that could not be delivered back into the inbox."""
    lines = "\n".join(reasons)
    number = service.db.insert(
        "mail_message",
        thread=message["thread"],
        folder_id=INBOX,
        sender=DAEMON,
        subject=f"Undelivered: {message['subject']}",
        body=f"This message could not be delivered:\n\n{lines}\n\nOthers, if any, have it.",
        sent_at=service.now,
        unread=1,
        answers_id=message["id"],
        updated_at=service.now,
    )
    service.db.insert(
        "mail_recipient",
        message_id=number,
        kind="to",
        position=0,
        email=message["sender"],
    )
    return number


def reaches_me(service: Service, emails: list[str]) -> bool:
    """Return whether the mailbox is among those that addresses lead to."""
    own = {email.lower() for email in own_addresses(service)}
    mine = service.db.column(
        "SELECT lower(g.email) FROM contacts_group g JOIN contacts_member m ON m.group_id = g.id"
        " WHERE m.person_id = 1"
    )
    return any(email.lower() in own | set(mine) for email in emails)


def _person(service: Service, email: str) -> dict[str, Any] | None:
    return service.db.one(
        "SELECT name, status FROM contacts_address WHERE lower(email) = lower(?) ORDER BY status",
        email,
    )
