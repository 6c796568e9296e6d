"""The tools of every visitor: sign in, boards, threads, posts, people."""

from __future__ import annotations

from typing import Any

from agentgym.services import ServiceError, reads
from agentgym.services.arguments import Limit, Offset, search_words

from .rules import POST, _Rules, secret
from .shapes import Board, Label, Order, Posts, Slug, Status, Thread, Threads, User

_ORDERS = {
    "active": "t.pinned DESC, t.updated_at DESC, t.id DESC",
    "newest": "t.created_at DESC, t.id DESC",
    "oldest": "t.created_at, t.id",
    "replies": "posts DESC, t.id DESC",
}


class Reading(_Rules):
    """The tools of visitors."""

    @reads
    def log_in(self, email: str, password: str) -> User:
        """Return the account of an address, if the password is right.

        Args:
            email: E-mail address of the account.
            password: Its password.
        """
        row = self.db.one(
            "SELECT id FROM forum_user WHERE lower(email) = lower(?) AND secret = ?",
            email.strip(),
            secret(email.strip(), password),
        )
        if row is None:
            raise ServiceError("forbidden", "address or password is wrong", "password")
        return self._user(row["id"])

    @reads
    def get_user(self, user: str) -> User:
        """Show somebody's profile.

        Args:
            user: Name in the forum.
        """
        return self._user(self._by_handle(user))

    @reads
    def list_boards(self) -> list[Board]:
        """List the boards."""
        rows = self.db.all(
            "SELECT slug, name, about, staff_only, (SELECT count(*) FROM forum_thread t"
            " WHERE t.board_id = b.id AND t.merged_into IS NULL) AS threads"
            " FROM forum_board b ORDER BY id"
        )
        return [{**row, "staff_only": bool(row["staff_only"])} for row in rows]  # type: ignore[misc]

    @reads
    def list_threads(
        self,
        board: Slug | None = None,
        status: Status | None = None,
        label: Label | None = None,
        author: str | None = None,
        unanswered: bool = False,
        order: Order = "active",
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Threads:
        """List threads; all conditions must hold.

        Args:
            board: Only threads of this board, by its short name.
            status: Only threads in this status.
            label: Only threads with this label.
            author: Only threads that somebody began, by the name in the forum.
            unanswered: Only threads without a reply.
            order: Order of the threads; pinned ones come first if it is ``active``.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["t.merged_into IS NULL"], list[Any]()
        if board is not None:
            where.append("t.board_id = ?")
            values.append(self._board(board)["id"])
        if status is not None:
            where.append("t.status = ?")
            values.append(status)
        if label is not None:
            where.append("t.id IN (SELECT thread_id FROM forum_label WHERE label = ?)")
            values.append(label)
        if author is not None:
            where.append("t.author_id = ?")
            values.append(self._by_handle(author, "author"))
        if unanswered:
            where.append(
                "(SELECT count(*) FROM forum_post p WHERE p.thread_id = t.id"
                " AND p.status = 'visible') < 2"
            )
        condition = " AND ".join(where)
        total = self.db.value(f"SELECT count(*) FROM forum_thread t WHERE {condition}", *values)
        page = f"{condition} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?"
        return {"total": total, "threads": self._threads(page, *values, limit, offset)}

    @reads
    def get_thread(self, thread: int) -> Thread:
        """Show a thread without its posts.

        Args:
            thread: Number of the thread.
        """
        return self._thread(thread)

    @reads
    def list_posts(
        self, thread: int, account: int = 0, limit: Limit = 10, offset: Offset = 0
    ) -> Posts:
        """List the posts of a thread, the oldest first.

        Args:
            thread: Number of the thread.
            account: Number of the account that asks; moderators see hidden posts.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._thread(thread)
        return self._page("p.thread_id = ?", [thread], account, "p.id", limit, offset)

    @reads
    def search(
        self,
        text: str,
        board: Slug | None = None,
        author: str | None = None,
        account: int = 0,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Posts:
        """Find posts, the newest first.

        Args:
            text: Words that the post or the title of its thread contains.
            board: Only posts of this board, by its short name.
            author: Only posts of somebody, by the name in the forum.
            account: Number of the account that asks; moderators see hidden posts.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["t.merged_into IS NULL"], list[Any]()
        for word in search_words(text):
            where.append("instr(lower(t.title || ' ' || p.body), lower(?))")
            values.append(word)
        if board is not None:
            where.append("t.board_id = ?")
            values.append(self._board(board)["id"])
        if author is not None:
            where.append("p.author_id = ?")
            values.append(self._by_handle(author, "author"))
        condition = " AND ".join(where)
        return self._page(condition, values, account, "p.created_at DESC, p.id DESC", limit, offset)

    def _page(
        self, where: str, values: list[Any], account: int, order: str, limit: int, offset: int
    ) -> Posts:
        sees_all = bool(account) and self._user(account)["role"] != "member"
        clause = f"{POST} WHERE {where}" + ("" if sees_all else " AND p.status = 'visible'")
        total = self.db.value(f"SELECT count(*) FROM ({clause})", *values)
        posts = self.db.all(f"{clause} ORDER BY {order} LIMIT ? OFFSET ?", *values, limit, offset)
        return {"total": total, "posts": posts}
