"""Seeded mail: conversations, invitations to meetings that exist, and news of tickets that do.

The messages refer to existing things: papers of the drive, workbooks, articles, and invoices of the
workbooks.

The data has the flaws of real mailboxes: threads that were forwarded, answers to old addresses,
mail to people who have left that came back, unsent drafts, junk that looks almost right.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from agentgym.services import Service, moment, time_of

from .delivery import ARCHIVE, DRAFTS, INBOX, JUNK, SENT, TRASH, bounce
from .matters import FOLDERS, JUNK_MAIL, NEWSLETTERS
from .topics import Topics

CONVERSATIONS = 110


def fill(service: Service, rng: random.Random) -> None:
    """Fill an empty mailbox."""
    for number, name in enumerate(FOLDERS, 1):
        service.db.insert("mail_folder", name=name, fixed=number <= JUNK)
    letters: list[dict[str, Any]] = []
    box = _Mailbox(service, rng)
    letters += box.invitations()
    letters += box.tickets()
    letters += box.junk()
    for _ in range(CONVERSATIONS):
        letters += box.conversation()
    box.store(sorted(letters, key=lambda letter: letter["at"]))
    box.drafts()


class _Mailbox:
    def __init__(self, service: Service, rng: random.Random) -> None:
        self.service, self.rng = service, rng
        self.now = time_of(service.now)
        rows = service.db.all("SELECT * FROM contacts_person ORDER BY id")
        self.people = {row["id"]: row for row in rows}
        self.me: str = rows[0]["email"]
        self.names = {row["email"]: row["name"] for row in rows}
        self.topics = Topics(service, rng)
        self.threads = 0

    def invitations(self) -> list[dict[str, Any]]:
        """Write the invitations to meetings that others organise, and what called them off."""
        found = []
        for event in self.service.db.all(
            "SELECT e.* FROM calendar_event e JOIN calendar_attendee a ON a.event_id = e.id"
            " WHERE a.person_id = 1 AND e.organizer_id <> 1 ORDER BY e.id"
        ):
            sender = self.people[event["organizer_id"]]["email"]
            thread = self._thread()
            when = f"{event['start']} to {event['end']}"
            body = f"You are invited: {event['title']}\nWhen: {when}\n\n{event['description']}"
            letter = self._letter(thread, sender, f"Invitation: {event['title']}", body)
            found.append({**letter, "at": event["created_at"], "event_id": event["id"]})
            if event["status"] == "cancelled":
                at = min(moment(time_of(event["start"]) - timedelta(hours=5)), self.service.now)
                body = f"This meeting was cancelled: {event['title']}\n\n{event['note']}"
                letter = self._letter(thread, sender, f"Cancelled: {event['title']}", body)
                found.append({**letter, "at": at, "event_id": event["id"]})
        return found

    def tickets(self) -> list[dict[str, Any]]:
        """Write notices about tickets whose customers asked for somebody in charge."""
        rows = self.service.db.all(
            "SELECT t.id, t.subject, t.created_at, t.assignee, c.email, c.name"
            " FROM tickets_ticket t JOIN tickets_customer c ON c.id = t.customer_id"
            " WHERE t.priority IN ('high', 'urgent') ORDER BY t.id"
        )
        found = []
        for row in self.rng.sample(rows, 30):
            body = (
                f"I have reported this as ticket #{row['id']}. Who is in charge?\n\n{row['name']}"
            )
            letter = self._letter(self._thread(), row["email"], row["subject"].strip(), body)
            at = min(moment(time_of(row["created_at"]) + timedelta(hours=9)), self.service.now)
            found.append({**letter, "at": at})
            handler = self.service.db.value(
                "SELECT email FROM contacts_person WHERE handle = ?", row["assignee"]
            )
            if handler and self.rng.random() < 0.6:
                body = f"Please answer them; it is #{row['id']}.\n\n> {body}"
                sent = self._letter(letter["thread"], self.me, f"Fwd: {letter['subject']}", body)
                later = min(moment(time_of(at) + timedelta(hours=2)), self.service.now)
                found.append({**sent, "at": later, "to": [handler], "forwards": True})
        return found

    def junk(self) -> list[dict[str, Any]]:
        """Write unsolicited mail."""
        found = []
        for subject, body, sender in JUNK_MAIL * 3 + NEWSLETTERS * 5:
            at = self.now - timedelta(
                days=self.rng.randint(0, 80), minutes=self.rng.randint(1, 600)
            )
            slots = {"day": at.strftime("%A"), "month": at.strftime("%B")}
            letter = self._letter(self._thread(), sender, subject.format(**slots), body)
            folder = JUNK if (subject, body, sender) in JUNK_MAIL else INBOX
            found.append({**letter, "at": moment(at), "folder": folder})
        return found

    def conversation(self) -> list[dict[str, Any]]:
        """Write one to three messages between the mailbox's owner and somebody."""
        rng = self.rng
        other = rng.choice([p for p in self.people.values() if p["id"] > 1])
        copy = rng.choice([p for p in self.people.values() if p["kind"] == "colleague"])
        at = self.now - timedelta(days=rng.triangular(0, 120, 10), minutes=rng.randint(5, 500))
        subject, *lines = self.topics.talk(other, moment(at))
        thread = self._thread()
        found = []
        if other["status"] == "left":
            lines = lines[:1]  # who is gone does not answer
        for count, line in enumerate(lines[: rng.randint(1, 3)]):
            mine = (count % 2 == 1) != (other["status"] == "left")
            sender = self.me if mine else other["email"]
            if not mine and rng.random() < 0.15:
                line = f"{line}\n\nSent from my phone"
            letter = self._letter(
                thread,
                sender,
                f"Re: {subject}" if count else subject,
                f"{line}\n\n{self._sign(sender)}",
            )
            letter["to"] = [other["email"]] if mine else [self.me]
            letter["cc"] = [copy["email"]] if rng.random() < 0.2 and copy["id"] > 1 else []
            found.append(
                {**letter, "at": moment(at), "bounces": mine and other["status"] == "left"}
            )
            at += timedelta(minutes=rng.randint(15, 1500))
            if at >= self.now:
                break
        return found

    def drafts(self) -> None:
        """Leave some answers unsent."""
        rows = self.service.db.all(
            "SELECT * FROM mail_message WHERE folder_id = ? AND event_id IS NULL"
            " AND sender IN (SELECT email FROM contacts_address) ORDER BY id",
            INBOX,
        )
        for row in self.rng.sample(rows, 6):
            number = self.service.db.insert(
                "mail_message",
                thread=row["thread"],
                folder_id=DRAFTS,
                sender=self.me,
                subject=f"Re: {row['subject']}",
                body=self.rng.choice(["Hello,\n\n", "I will ask and", "Thanks. One question:"]),
                answers_id=row["id"],
                updated_at=row["sent_at"],
            )
            self._address(number, "to", [row["sender"]])

    def store(self, letters: list[dict[str, Any]]) -> None:
        """Keep letters in the order in which they were sent."""
        last: dict[int, int] = {}
        for letter in letters:
            mine = letter["sender"] == self.me
            age = (self.now - time_of(letter["at"])).days
            number = self.service.db.insert(
                "mail_message",
                thread=letter["thread"],
                folder_id=letter["folder"] or (SENT if mine else self._folder(age, letter)),
                sender=letter["sender"],
                subject=letter["subject"],
                body=letter["body"],
                sent_at=letter["at"],
                unread=not mine and self.rng.random() < (0.5 if age < 4 else 0.04),
                flagged=self.rng.random() < 0.04,
                answers_id=None if letter["forwards"] else last.get(letter["thread"]),
                forwards_id=last.get(letter["thread"]) if letter["forwards"] else None,
                event_id=letter["event_id"],
                updated_at=letter["at"],
            )
            self._address(number, "to", letter["to"])
            self._address(number, "cc", letter["cc"])
            last[letter["thread"]] = number
            if letter["bounces"]:
                (to,) = letter["to"]
                reason = f"550 5.1.1 <{to}>: {self.names[to]} has left; the mailbox is closed"
                back = bounce(self.service, {**letter, "id": number}, [reason])
                self.service.db.execute(
                    "UPDATE mail_message SET sent_at = ?1, updated_at = ?1 WHERE id = ?2",
                    letter["at"],
                    back,
                )

    def _folder(self, age: int, letter: dict[str, Any]) -> int:
        if age < 14 or self.rng.random() < 0.3:
            return INBOX
        if "Flights" in letter["subject"]:
            return FOLDERS.index("Travel") + 1
        if "Invoice" in letter["subject"]:
            return FOLDERS.index("Invoices") + 1
        return self.rng.choice([ARCHIVE, ARCHIVE, ARCHIVE, TRASH])

    def _letter(self, thread: int, sender: str, subject: str, body: str) -> dict[str, Any]:
        letter = {"thread": thread, "sender": sender, "subject": subject, "body": body}
        more = {"folder": 0, "cc": [], "event_id": None, "bounces": False, "forwards": False}
        return {**letter, "to": [self.me], **more}

    def _address(self, number: int, kind: str, emails: list[str]) -> None:
        for position, email in enumerate(emails):
            self.service.db.insert(
                "mail_recipient", message_id=number, kind=kind, position=position, email=email
            )

    def _sign(self, sender: str) -> str:
        return self.names[sender]

    def _thread(self) -> int:
        self.threads += 1
        return self.threads
