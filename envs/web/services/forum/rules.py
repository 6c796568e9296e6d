"""Rules of the forum that its tools share: who may do what, and results."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from agentgym.services import Service, ServiceError

from .shapes import Post, Thread, User

THREAD: Final = """
SELECT t.id, b.slug AS board, t.title, u.handle AS author, t.status,
  coalesce(a.handle, '') AS assignee, t.pinned, t.locked, t.merged_into, t.created_at,
  t.updated_at, (SELECT count(*) FROM forum_post p WHERE p.thread_id = t.id
  AND p.status = 'visible') AS posts
FROM forum_thread t JOIN forum_board b ON b.id = t.board_id
JOIN forum_user u ON u.id = t.author_id LEFT JOIN forum_user a ON a.id = t.assignee_id
"""
POST: Final = """
SELECT p.id, p.thread_id AS thread, t.title, u.handle AS author, u.role AS author_role, p.body,
  p.status, p.reason, p.created_at, p.edited_at
FROM forum_post p JOIN forum_thread t ON t.id = p.thread_id JOIN forum_user u ON u.id = p.author_id
"""


def secret(email: str, password: str) -> str:
    """Return the form in which a password is stored."""
    return hashlib.sha256(f"forum:{email.lower()}:{password}".encode()).hexdigest()


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _user(self, number: int) -> User:
        row = self.db.one(
            "SELECT id, handle, name, role, town, about, suspended_until, created_at,"
            " (SELECT count(*) FROM forum_post p WHERE p.author_id = u.id"
            " AND p.status = 'visible') AS posts FROM forum_user u WHERE id = ?",
            number,
        )
        if row is None:
            raise ServiceError("forbidden", "sign in first", "account")
        if row["suspended_until"] <= self.now:
            row["suspended_until"] = ""
        return row  # type: ignore[return-value]

    def _writer(self, number: int) -> User:
        user = self._user(number)
        if user["suspended_until"]:
            until = user["suspended_until"][:10]
            raise ServiceError("forbidden", f"your account is suspended until {until}", "account")
        return user

    def _moderator(self, number: int) -> User:
        user = self._user(number)
        if user["role"] == "member":
            raise ServiceError("forbidden", "this needs a moderator, and you are a member")
        return user

    def _by_handle(self, handle: str, field: str = "user") -> int:
        number = self.db.value(
            "SELECT id FROM forum_user WHERE lower(handle) = lower(?)", handle.strip().lstrip("@")
        )
        if number is None:
            raise ServiceError("not_found", f"no user {handle[:80]!r}", field)
        return int(number)

    def _board(self, slug: str, field: str = "board") -> dict[str, Any]:
        row = self.db.one("SELECT * FROM forum_board WHERE slug = ?", slug)
        if row is None:
            raise ServiceError("not_found", f"no board {slug!r}", field)
        return row

    def _threads(self, condition: str, *values: Any) -> list[Thread]:
        rows = self.db.all(f"{THREAD} WHERE {condition}", *values)
        for row in rows:
            row["pinned"], row["locked"] = bool(row["pinned"]), bool(row["locked"])
            row["labels"] = self.db.column(
                "SELECT label FROM forum_label WHERE thread_id = ? ORDER BY label", row["id"]
            )
        return rows  # type: ignore[return-value]

    def _thread(self, number: int) -> Thread:
        found = self._threads("t.id = ?", number)
        if not found:
            raise ServiceError("not_found", f"no thread {number}", "thread")
        return found[0]

    def _post(self, number: int) -> Post:
        row = self.db.one(f"{POST} WHERE p.id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no post {number}", "post")
        return row  # type: ignore[return-value]

    def _add_post(self, thread: int, author: int, body: str) -> Post:
        number = self.db.insert(
            "forum_post",
            thread_id=thread,
            author_id=author,
            body=body,
            status="visible",
            created_at=self.now,
        )
        self._touch(thread)
        return self._post(number)

    def _touch(self, thread: int) -> None:
        self.db.execute("UPDATE forum_thread SET updated_at = ? WHERE id = ?", self.now, thread)

    def _note(self, account: int, what: str, target: str, reason: str = "") -> None:
        values = {"user_id": account, "what": what, "target": target, "reason": reason}
        self.db.insert("forum_log", **values, created_at=self.now)
