"""The rules of the mailbox, and the creation and sending of messages."""

from __future__ import annotations

from typing import Any

from agentgym.services import Service, ServiceError

from .delivery import DRAFTS, INBOX, SENT, bounce, own_addresses, reaches_me, refusal
from .shapes import Message, Summary


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _folder(self, name: str) -> int:
        number: int | None = self.db.value(
            "SELECT id FROM mail_folder WHERE lower(name) = lower(?)", name
        )
        if number is None:
            names = ", ".join(self.db.column("SELECT name FROM mail_folder ORDER BY id LIMIT 30"))
            raise ServiceError(
                "not_found", f"no folder {name[:80]!r}; there is: {names[:800]}", "folder"
            )
        return number

    def _message(self, number: int, field: str = "message") -> dict[str, Any]:
        row = self.db.one("SELECT * FROM mail_message WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no message {number}; search finds them", field)
        return row

    def _unsent(self, number: int) -> None:
        row = self._message(number, "draft")
        if row["sent_at"] is not None or row["folder_id"] != DRAFTS:
            raise ServiceError("conflict", f"message {number} is no draft", "draft")

    def _draft(
        self,
        to: list[str],
        cc: list[str] | None,
        bcc: list[str] | None,
        subject: str,
        body: str,
        sender: str | None = None,
        answers: dict[str, Any] | None = None,
        forwards: int | None = None,
    ) -> int:
        own = own_addresses(self)
        if sender is not None and sender not in own and not self.unlimited:
            raise ServiceError(
                "forbidden", f"{sender!r} is not yours; expected one of {', '.join(own)}", "sender"
            )
        following = self.db.value("SELECT coalesce(max(thread), 0) + 1 FROM mail_message")
        number = self.db.insert(
            "mail_message",
            thread=answers["thread"] if answers else following,
            folder_id=DRAFTS,
            sender=sender or own[0],
            subject=subject,
            body=body,
            answers_id=answers["id"] if answers else None,
            forwards_id=forwards,
            updated_at=self.now,
        )
        self._address(number, to, cc, bcc)
        return number

    def _address(
        self, number: int, to: list[str], cc: list[str] | None, bcc: list[str] | None
    ) -> None:
        for kind, emails in (("to", to), ("cc", cc or []), ("bcc", bcc or [])):
            for position, email in enumerate(dict.fromkeys(map(str.lower, emails))):
                self.db.insert(
                    "mail_recipient", message_id=number, kind=kind, position=position, email=email
                )

    def _post(self, number: int) -> Message:
        row = self._message(number)
        emails = [e for kind in ("to", "cc", "bcc") for e in self._recipients(number, kind)]
        if not emails:
            raise ServiceError("invalid", "expected at least one recipient", "to")
        from_me = row["sender"] in own_addresses(self)
        self.db.execute(
            "UPDATE mail_message SET folder_id = ?, sent_at = ?, updated_at = ?, unread = ?"
            " WHERE id = ?",
            SENT if from_me else INBOX,
            self.now,
            self.now,
            not from_me,
            number,
        )
        if from_me:
            reasons = [reason for e in dict.fromkeys(emails) if (reason := refusal(self, e))]
            if reasons:
                bounce(self, row, reasons)
            if reaches_me(self, emails):
                self._arrive(number)
        return self._whole(number)

    def _arrive(self, number: int) -> None:
        row = self._message(number)
        copy = {k: v for k, v in row.items() if k != "id"}
        other = self.db.insert("mail_message", **copy | {"folder_id": INBOX, "unread": 1})
        self._address(other, self._recipients(number, "to"), self._recipients(number, "cc"), None)

    def _recipients(self, number: int, kind: str) -> list[str]:
        return self.db.column(
            "SELECT email FROM mail_recipient WHERE message_id = ? AND kind = ? ORDER BY position",
            number,
            kind,
        )

    def _summary(self, number: int) -> Summary:
        row = self.db.one(
            "SELECT m.id, m.thread, f.name AS folder, m.sender, m.subject, m.sent_at, m.unread,"
            " m.flagged FROM mail_message m JOIN mail_folder f ON f.id = m.folder_id"
            " WHERE m.id = ?",
            number,
        )
        assert row is not None
        row |= {"unread": bool(row["unread"]), "flagged": bool(row["flagged"])}
        return {**row, "to": self._recipients(number, "to")}

    def _whole(self, number: int) -> Message:
        row = self._message(number)
        return {
            **self._summary(number),
            "cc": self._recipients(number, "cc"),
            "bcc": self._recipients(number, "bcc"),
            "body": row["body"],
            "answers": row["answers_id"],
            "forwards": row["forwards_id"],
            "event": row["event_id"],
        }
