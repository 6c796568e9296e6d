"""Mail: the mailbox of one colleague, with folders, threads, drafts and invitations.

Reading a message leaves it unread; `mark` says what has been dealt with. What is sent stays in
Sent, arrives in the inbox if an address leads back, and bounces if one leads nowhere.
"""

from __future__ import annotations

import random
from typing import Annotated, Any

from pydantic import Field

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Email, Limit, Offset, search_words

from .delivery import DRAFTS, SENT, TRASH, own_addresses
from .rules import _Rules
from .seeding import fill
from .shapes import Emails, Folder, Line, Message, Messages, Page, Summary, Text


class Mail(_Rules):
    """A mailbox."""

    after = ("contacts", "calendar", "tickets", "files", "sheets", "knowledge")
    marks = {"mail_message": {"unread": "opened", "flagged": "owner"}}
    discarded = {
        "mail_message": {"folder_id": TRASH, "sent_at": None},
        "mail_recipient": {"message_id": "mail_message"},
    }

    def fill(self, rng: random.Random) -> None:
        """Make folders and some months of mail."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_folders(self) -> list[Folder]:
        """List folders, and how many messages are in each."""
        return self.db.all(  # type: ignore[return-value]
            "SELECT f.id, f.name, count(m.id) AS messages, coalesce(sum(m.unread), 0) AS unread"
            " FROM mail_folder f LEFT JOIN mail_message m ON m.folder_id = f.id"
            " GROUP BY f.id ORDER BY f.id"
        )

    @reads
    def search(
        self,
        text: str = "",
        folder: str | None = None,
        sender: str | None = None,
        recipient: str | None = None,
        unread: bool | None = None,
        flagged: bool | None = None,
        since: str | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Page:
        """Find messages in all folders; all conditions must hold. Newest first.

        Args:
            text: Words that subject or body contain, in any case.
            folder: Only messages in the folder of this name.
            sender: Only messages from addresses that contain this.
            recipient: Only messages to addresses that contain this.
            unread: Only messages that are unread, or only others.
            flagged: Only messages that are flagged, or only others.
            since: Only messages sent at this time or later, as 2026-03-02T09:00:00Z.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["1"], list[Any]()
        for word in search_words(text):
            where.append("(instr(lower(m.subject), lower(?)) OR instr(lower(m.body), lower(?)))")
            values += [word, word]
        if recipient is not None:
            where.append(
                "EXISTS (SELECT 1 FROM mail_recipient r WHERE r.message_id = m.id"
                " AND instr(lower(r.email), lower(?)))"
            )
            values.append(recipient)
        conditions = {
            "instr(lower(m.sender), lower(?))": sender,
            "m.unread = ?": unread,
            "m.flagged = ?": flagged,
            "m.sent_at >= ?": since,
            "m.folder_id = ?": None if folder is None else self._folder(folder),
        }
        for condition, value in conditions.items():
            if value is not None:
                where.append(condition)
                values.append(value)
        clause = " AND ".join(where)
        total = self.db.value(f"SELECT count(*) FROM mail_message m WHERE {clause}", *values)
        numbers = self.db.column(
            f"SELECT m.id FROM mail_message m WHERE {clause}"
            " ORDER BY coalesce(m.sent_at, m.updated_at) DESC, m.id DESC LIMIT ? OFFSET ?",
            *values,
            limit,
            offset,
        )
        return {"total": total, "messages": [self._summary(number) for number in numbers]}

    @reads
    def get(self, message: int) -> Message:
        """Show a message; it stays unread until it is marked.

        Args:
            message: Number of the message.
        """
        return self._whole(self._message(message)["id"])

    @reads
    def get_thread(self, thread: int) -> list[Message]:
        """Show a whole conversation, the oldest message first.

        Args:
            thread: Number of the thread, as messages name it.
        """
        numbers = self.db.column(
            "SELECT id FROM mail_message WHERE thread = ? ORDER BY coalesce(sent_at, '9'), id",
            thread,
        )
        if not numbers:
            raise ServiceError("not_found", f"no thread {thread}; messages name theirs", "thread")
        return [self._whole(number) for number in numbers]

    # --- writing mail ----------------------------------------------------------------------

    @writes
    def send(
        self,
        to: Emails,
        subject: Line,
        body: Text,
        cc: Emails | None = None,
        bcc: Emails | None = None,
        sender: Email | None = None,
    ) -> Message:
        """Send a message. What cannot be delivered comes back to the inbox.

        Args:
            to: Addresses of people or groups.
            subject: What it is about.
            body: What to say.
            cc: Addresses that get a copy.
            bcc: Addresses that get a copy which the others do not see.
            sender: One of your addresses; the main one if left out.
        """
        number = self._draft(to, cc, bcc, subject, body, sender=sender)
        return self._post(number)

    @writes
    def reply(self, message: int, body: Text, to_all: bool = False) -> Message:
        """Answer a message in its thread.

        Args:
            message: Number of the message.
            body: What to say.
            to_all: Whether its other recipients get the answer, too.
        """
        row = self._message(message)
        if row["sent_at"] is None:
            raise ServiceError("conflict", f"message {message} is a draft; send it", "message")
        own = {email.lower() for email in own_addresses(self)}
        mine = row["sender"].lower() in own
        to = self._recipients(message, "to") if mine else [row["sender"]]
        others: list[str] = []
        if to_all:
            named = self._recipients(message, "to") + self._recipients(message, "cc")
            others = [e for e in dict.fromkeys(named) if e.lower() not in own and e not in to]
        subject = row["subject"]
        subject = subject if subject.lower().startswith("re:") else f"Re: {subject}"[:500]
        number = self._draft(to, others, None, subject, body, answers=row)
        return self._post(number)

    @writes
    def forward(
        self, message: int, to: Emails, body: Text = "", cc: Emails | None = None
    ) -> Message:
        """Send a message on to others, quoted below what you say.

        Args:
            message: Number of the message.
            to: Addresses of people or groups.
            body: What to say first.
            cc: Addresses that get a copy.
        """
        row = self._message(message)
        quoted = (
            f"---- Forwarded message ----\nFrom: {row['sender']}\nDate: {row['sent_at'] or ''}\n"
            f"Subject: {row['subject']}\n\n{row['body']}"
        )
        subject = f"Fwd: {row['subject']}"[:500]
        number = self._draft(to, cc, None, subject, body, forwards=message)
        self.db.execute(
            "UPDATE mail_message SET body = body || ? WHERE id = ?", f"\n\n{quoted}", number
        )
        return self._post(number)

    @writes
    def save_draft(
        self,
        to: Emails,
        subject: Line,
        body: Text,
        cc: Emails | None = None,
        draft: int | None = None,
        answers: int | None = None,
    ) -> Message:
        """Keep a message in Drafts without sending it.

        Args:
            to: Addresses; may still be empty.
            subject: What it is about.
            body: What to say.
            cc: Addresses that get a copy.
            draft: Number of a draft to replace.
            answers: Number of the message that it will answer.
        """
        row = None if answers is None else self._message(answers, "answers")
        if draft is not None:
            self._unsent(draft)
            self.db.execute("DELETE FROM mail_recipient WHERE message_id = ?", draft)
            self.db.execute(
                "UPDATE mail_message SET subject = ?, body = ?, updated_at = ? WHERE id = ?",
                subject,
                body,
                self.now,
                draft,
            )
            self._address(draft, to, cc, None)
            return self._whole(draft)
        return self._whole(self._draft(to, cc, None, subject, body, answers=row))

    @writes
    def send_draft(self, draft: int) -> Message:
        """Send a draft as it is.

        Args:
            draft: Number of the draft.
        """
        self._unsent(draft)
        return self._post(draft)

    # --- keeping order ---------------------------------------------------------------------

    @writes
    def mark(
        self, messages: Messages, unread: bool | None = None, flagged: bool | None = None
    ) -> list[Summary]:
        """Mark messages as read or unread, flagged or not.

        Args:
            messages: Numbers of messages.
            unread: Whether they are unread; as they are, if left out.
            flagged: Whether they are flagged; as they are, if left out.
        """
        for number in messages:
            self._message(number, "messages")
            self.db.execute(
                "UPDATE mail_message SET unread = coalesce(?, unread),"
                " flagged = coalesce(?, flagged) WHERE id = ?",
                unread,
                flagged,
                number,
            )
        return [self._summary(number) for number in messages]

    @writes
    def move(self, messages: Messages, folder: str) -> list[Summary]:
        """Move messages to another folder; to Trash to throw them away.

        Args:
            messages: Numbers of messages.
            folder: Name of the folder.
        """
        target = self._folder(folder)
        for number in messages:
            row = self._message(number, "messages")
            if (target in (SENT, DRAFTS) or row["sent_at"] is None) and target not in (
                row["folder_id"],
                TRASH,
            ):
                raise ServiceError(
                    "conflict", f"message {number} cannot be moved to {folder}", "folder"
                )
            self.db.execute("UPDATE mail_message SET folder_id = ? WHERE id = ?", target, number)
        return [self._summary(number) for number in messages]

    @writes
    def create_folder(self, name: Annotated[str, Field(min_length=1, max_length=100)]) -> Folder:
        """Make a folder.

        Args:
            name: Name of the folder.
        """
        if self.db.value("SELECT 1 FROM mail_folder WHERE lower(name) = lower(?)", name):
            raise ServiceError("conflict", f"there is a folder {name!r}", "name")
        number = self.db.insert("mail_folder", name=name)
        return {"id": number, "name": name, "messages": 0, "unread": 0}
