"""The rules of the chat: permissions to see and write, and mentions."""

from __future__ import annotations

import re
from typing import Any

from agentgym.services import Service, ServiceError

from .shapes import Channel, Message

ME = 1
_HANDLE = re.compile(r"(?<![\w@])@([a-z0-9-]+)")


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _channel(self, number: int, person: int = ME) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM chat_channel WHERE id = ?", number)
        # The answer does not reveal that a private channel exists.
        if row is None or not self._sees(number, person):
            raise ServiceError("not_found", f"no channel {number}; see list_channels", "channel")
        return row

    def _sees(self, channel: int, person: int = ME) -> bool:
        kind = self.db.value("SELECT kind FROM chat_channel WHERE id = ?", channel)
        return kind == "public" or self._is_member(channel, person)

    def _is_member(self, channel: int, person: int) -> bool:
        return bool(
            self.db.value(
                "SELECT 1 FROM chat_member WHERE channel_id = ? AND person_id = ?", channel, person
            )
        )

    def _quiet(self, row: dict[str, Any]) -> None:
        if row["archived"]:
            raise ServiceError("conflict", f"channel {row['name']} is archived", "channel")

    def _writable(self, number: int, person: int) -> dict[str, Any]:
        row = self._channel(number, person)
        self._quiet(row)
        if not self._is_member(number, person):
            raise ServiceError(
                "forbidden", f"person {person} is no member of {row['name']}; join it", "channel"
            )
        return row

    def _message(self, number: int, field: str = "message", person: int = ME) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM chat_message WHERE id = ? AND NOT deleted", number)
        if row is None or not self._sees(row["channel_id"], person):
            raise ServiceError("not_found", f"no message {number}; search finds them", field)
        return row

    def _own(self, number: int) -> None:
        row = self._message(number)
        if row["author_id"] != ME:
            raise ServiceError("forbidden", f"message {number} is not yours", "message")
        self._quiet(self._channel(row["channel_id"]))

    def _colleague(self, number: int, field: str) -> None:
        row = self.db.one("SELECT name, kind, status FROM contacts_person WHERE id = ?", number)
        if row is None or row["kind"] != "colleague":
            raise ServiceError("not_found", f"no colleague {number}; contacts has them", field)
        if row["status"] == "left":
            raise ServiceError("conflict", f"{row['name']} has left", field)

    def _make(self, name: str, kind: str, topic: str, people: list[int]) -> int:
        number = self.db.insert(
            "chat_channel", name=name, kind=kind, topic=topic, creator_id=ME, created_at=self.now
        )
        for person in people:
            self._add(number, person)
        return number

    def _add(self, channel: int, person: int) -> None:
        self.db.execute(
            "INSERT OR IGNORE INTO chat_member (channel_id, person_id) VALUES (?, ?)",
            channel,
            person,
        )

    def _mention(self, message: int, text: str) -> None:
        for handle in dict.fromkeys(_HANDLE.findall(text)):
            person = self.db.value("SELECT id FROM contacts_person WHERE handle = ?", handle)
            if person is not None:
                self.db.insert("chat_mention", message_id=message, person_id=person)

    def _shown(self, number: int) -> Channel:
        row = self.db.one(
            "SELECT c.id, c.name, c.topic, c.kind, c.archived, (SELECT count(*) FROM chat_member m"
            " WHERE m.channel_id = c.id) AS members FROM chat_channel c WHERE c.id = ?",
            number,
        )
        assert row is not None
        return {**row, "archived": bool(row["archived"]), "member": self._is_member(number, ME)}

    def _whole(self, number: int) -> Message:
        row = self.db.one(
            "SELECT m.id, m.channel_id AS channel, m.thread_id AS thread, m.author_id AS author,"
            " p.name AS author_name, m.text, m.sent_at, m.edited_at, (SELECT count(*) FROM"
            " chat_message r WHERE r.thread_id = m.id AND NOT r.deleted) AS replies"
            " FROM chat_message m JOIN contacts_person p ON p.id = m.author_id WHERE m.id = ?",
            number,
        )
        assert row is not None
        mentions = self.db.column(
            "SELECT person_id FROM chat_mention WHERE message_id = ? ORDER BY 1", number
        )
        reactions = self.db.all(
            "SELECT emoji, person_id AS person FROM chat_reaction WHERE message_id = ?"
            " ORDER BY emoji, person_id",
            number,
        )
        missed = [person for person in mentions if not self._is_member(row["channel"], person)]
        return {**row, "mentions": mentions, "missed": missed, "reactions": reactions}
