"""The forum of the shop's customers: boards, threads, drafts, and the work of its moderators.

Members write, moderators keep order, and admins appoint moderators. Every tool names the account
that acts, and checks what it may do. What moderators do is in a log.
"""

from __future__ import annotations

import random
from datetime import timedelta

from agentgym.services import ServiceError, moment, reads, time_of, writes
from agentgym.services.arguments import Limit, Offset

from .seeding import fill
from .shapes import Days, Entry, Flag, Label, Line, Post, Role, Slug, Status, Text, Thread, User
from .writing import FLAG, Writing


class Forum(Writing):
    """Boards and threads, with moderation."""

    after = ("shop",)
    seen = {
        "forum_user": ("role", "suspended_until"),
        "forum_thread": ("title", "board_id", "status", "assignee_id", "pinned", "locked"),
        "forum_label": ("thread_id", "label"),
        "forum_post": ("thread_id", "status", "body", "reason"),
    }

    def fill(self, rng: random.Random) -> None:
        """Make users, boards and two years of threads."""
        fill(self, rng)

    @writes
    def set_status(self, account: int, thread: int, status: Status) -> Thread:
        """Set the status of a thread: its author sets open and answered, moderators any.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread.
            status: The new status.
        """
        user, found = self._writer(account), self._thread(thread)
        own = found["author"] == user["handle"] and status in ("open", "answered")
        if user["role"] == "member" and not own:
            raise ServiceError("forbidden", "this needs a moderator, and you are a member")
        self.db.execute("UPDATE forum_thread SET status = ? WHERE id = ?", status, thread)
        if not own:
            self._note(account, f"status {status}", f"thread {thread}")
        return self._thread(thread)

    @writes
    def assign(self, account: int, thread: int, user: str) -> Thread:
        """Make a moderator responsible for a thread.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread.
            user: Name of the moderator in the forum; empty for no moderator.
        """
        self._moderator(account)
        self._thread(thread)
        number = self._by_handle(user) if user else None
        if number is not None and self._user(number)["role"] == "member":
            raise ServiceError("invalid", f"{user} is a member, not a moderator", "user")
        self.db.execute("UPDATE forum_thread SET assignee_id = ? WHERE id = ?", number, thread)
        return self._thread(thread)

    @writes
    def label_thread(self, account: int, thread: int, label: Label, present: bool = True) -> Thread:
        """Put a label on a thread, or take it off.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread.
            label: The label.
            present: Whether the thread should have it.
        """
        self._moderator(account)
        self._thread(thread)
        values = {"thread_id": thread, "label": label}
        self.db.execute(
            "DELETE FROM forum_label WHERE thread_id = ? AND label = ?", *values.values()
        )
        if present:
            self.db.insert("forum_label", **values)
        return self._thread(thread)

    @writes
    def set_marks(
        self, account: int, thread: int, pinned: bool | None = None, locked: bool | None = None
    ) -> Thread:
        """Pin or lock a thread, or undo it.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread.
            pinned: Whether it comes first; unchanged if left out.
            locked: Whether members cannot reply; unchanged if left out.
        """
        self._moderator(account)
        self._thread(thread)
        for column, value in (("pinned", pinned), ("locked", locked)):
            if value is not None:
                self.db.execute(
                    f"UPDATE forum_thread SET {column} = ? WHERE id = ?", int(value), thread
                )
                self._note(account, column if value else f"not {column}", f"thread {thread}")
        return self._thread(thread)

    @writes
    def move_thread(self, account: int, thread: int, board: Slug) -> Thread:
        """Move a thread to another board.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread.
            board: Short name of the board.
        """
        self._moderator(account)
        self._thread(thread)
        number = self._board(board)["id"]
        self.db.execute("UPDATE forum_thread SET board_id = ? WHERE id = ?", number, thread)
        self._note(account, f"moved to {board}", f"thread {thread}")
        return self._thread(thread)

    @writes
    def merge_threads(self, account: int, thread: int, into: int) -> Thread:
        """Move all posts of a thread into another one; links to it lead there.

        Args:
            account: Number of the account that acts.
            thread: Number of the thread that ends.
            into: Number of the thread that stays.
        """
        self._moderator(account)
        ends, stays = self._thread(thread), self._thread(into)
        if thread == into or ends["merged_into"] or stays["merged_into"]:
            raise ServiceError("conflict", "these threads cannot be merged", "into")
        self.db.execute("UPDATE forum_post SET thread_id = ? WHERE thread_id = ?", into, thread)
        self.db.execute("UPDATE forum_thread SET merged_into = ? WHERE id = ?", into, thread)
        self._note(account, f"merged into {into}", f"thread {thread}")
        return self._thread(into)

    @writes
    def hide_post(self, account: int, post: int, reason: Line) -> Post:
        """Hide a post from members.

        Args:
            account: Number of the account that acts.
            post: Number of the post.
            reason: Why; its author is told.
        """
        self._moderator(account)
        return self._show(account, post, "hidden", reason)

    @writes
    def restore_post(self, account: int, post: int) -> Post:
        """Show a hidden post again.

        Args:
            account: Number of the account that acts.
            post: Number of the post.
        """
        self._moderator(account)
        return self._show(account, post, "visible", "")

    def _show(self, account: int, post: int, status: str, reason: str) -> Post:
        if self._post(post)["status"] == status:
            raise ServiceError("conflict", f"post {post} is {status} already", "post")
        self.db.execute(
            "UPDATE forum_post SET status = ?, reason = ? WHERE id = ?", status, reason, post
        )
        self._note(account, status, f"post {post}", reason)
        return self._post(post)

    @reads
    def list_flags(
        self, account: int, waiting: bool = True, limit: Limit = 20, offset: Offset = 0
    ) -> list[Flag]:
        """List what members have reported, for moderators, the oldest first.

        Args:
            account: Number of the account that asks.
            waiting: Only those without a decision.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._moderator(account)
        return self.db.all(  # type: ignore[return-value]
            f"{FLAG} WHERE f.status = 'open' OR NOT ? ORDER BY f.created_at, f.id LIMIT ? OFFSET ?",
            waiting,
            limit,
            offset,
        )

    @writes
    def decide_flag(self, account: int, flag: int, uphold: bool) -> Flag:
        """Uphold a report, which hides the post, or reject it, which leaves the post as it is.

        Args:
            account: Number of the account that acts.
            flag: Number of the report.
            uphold: Whether the member was right.
        """
        self._moderator(account)
        found = self.db.one(f"{FLAG} WHERE f.id = ?", flag)
        if found is None:
            raise ServiceError("not_found", f"no report {flag}", "flag")
        if found["status"] != "open":
            raise ServiceError("conflict", f"report {flag} is {found['status']}", "flag")
        status = "upheld" if uphold else "rejected"
        self.db.execute(
            "UPDATE forum_flag SET status = ?, decided_by = ? WHERE id = ?", status, account, flag
        )
        if uphold and self._post(found["post"])["status"] == "visible":
            self._show(account, found["post"], "hidden", found["reason"])
        return {**found, "status": status}  # type: ignore[typeddict-item]

    @writes
    def suspend_user(self, account: int, user: str, days: Days, reason: Text = "") -> User:
        """Keep a member from writing for some days; 0 ends a suspension.

        Args:
            account: Number of the account that acts.
            user: Name in the forum.
            days: How many days from now.
            reason: Why.
        """
        self._moderator(account)
        number = self._by_handle(user)
        if self._user(number)["role"] != "member":
            raise ServiceError("forbidden", f"{user} is no member, but staff", "user")
        if days and not reason.strip():
            raise ServiceError("invalid", "say why", "reason")
        until = moment(time_of(self.now) + timedelta(days=days)) if days else ""
        self.db.execute("UPDATE forum_user SET suspended_until = ? WHERE id = ?", until, number)
        self._note(account, f"suspended for {days} days", f"user {user}", reason)
        return self._user(number)

    @writes
    def set_role(self, account: int, user: str, role: Role) -> User:
        """Make somebody a member, a moderator or an admin; for admins.

        Args:
            account: Number of the account that acts.
            user: Name in the forum.
            role: The new role.
        """
        if self._user(account)["role"] != "admin":
            raise ServiceError("forbidden", "this needs an admin")
        number = self._by_handle(user)
        if number == account:
            raise ServiceError("conflict", "you cannot change your own role", "user")
        self.db.execute("UPDATE forum_user SET role = ? WHERE id = ?", role, number)
        self._note(account, f"role {role}", f"user {user}")
        return self._user(number)

    @reads
    def list_log(self, account: int, limit: Limit = 50, offset: Offset = 0) -> list[Entry]:
        """List what moderators have done, the latest first.

        Args:
            account: Number of the account that asks.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._moderator(account)
        return self.db.all(  # type: ignore[return-value]
            "SELECT l.id, u.handle AS by, l.what, l.target, l.reason, l.created_at"
            " FROM forum_log l JOIN forum_user u ON u.id = l.user_id"
            " ORDER BY l.created_at DESC, l.id DESC LIMIT ? OFFSET ?",
            limit,
            offset,
        )
