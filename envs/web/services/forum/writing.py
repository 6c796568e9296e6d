"""The tools of members: threads, replies, drafts, complaints."""

from __future__ import annotations

from agentgym.services import ServiceError, reads, writes

from .reading import Reading
from .shapes import Body, Draft, Flag, Line, Post, Reason, Slug, Text, Thread

FLAG = """
SELECT f.id, f.post_id AS post, p.thread_id AS thread, t.title, a.handle AS author, p.body,
  u.handle AS by, f.reason, f.note, f.status, f.created_at
FROM forum_flag f JOIN forum_post p ON p.id = f.post_id JOIN forum_thread t ON t.id = p.thread_id
JOIN forum_user a ON a.id = p.author_id JOIN forum_user u ON u.id = f.user_id
"""


class Writing(Reading):
    """The tools of members; ``account`` is the account that is signed in."""

    @writes
    def start_thread(self, account: int, board: Slug, title: Line, body: Body) -> Thread:
        """Begin a thread.

        Args:
            account: Number of the account.
            board: Short name of the board.
            title: Title.
            body: First post.
        """
        user, found = self._writer(account), self._board(board)
        if found["staff_only"] and user["role"] == "member":
            raise ServiceError("forbidden", f"only staff write in {found['name']}", "board")
        values = {"board_id": found["id"], "author_id": account, "title": title.strip()}
        times = {"created_at": self.now, "updated_at": self.now}
        number = self.db.insert("forum_thread", **values, status="open", **times)
        self._add_post(number, account, body)
        return self._thread(number)

    @writes
    def reply(self, account: int, thread: int, body: Body) -> Post:
        """Reply in a thread that is not locked.

        Args:
            account: Number of the account.
            thread: Number of the thread.
            body: Text.
        """
        user, found = self._writer(account), self._thread(thread)
        if found["merged_into"]:
            into = found["merged_into"]
            raise ServiceError("conflict", f"the thread was merged into thread {into}", "thread")
        if found["locked"] and user["role"] == "member":
            raise ServiceError("forbidden", "the thread is locked", "thread")
        return self._add_post(thread, account, body)

    @writes
    def edit_post(self, account: int, post: int, body: Body) -> Post:
        """Change the text of an own post.

        Args:
            account: Number of the account.
            post: Number of the post.
            body: New text.
        """
        self._writer(account)
        author = self.db.value("SELECT author_id FROM forum_post WHERE id = ?", post)
        self._post(post)
        if author != account:
            raise ServiceError("forbidden", "this post is somebody else's", "post")
        self.db.execute(
            "UPDATE forum_post SET body = ?, edited_at = ? WHERE id = ?", body, self.now, post
        )
        return self._post(post)

    @writes
    def flag_post(self, account: int, post: int, reason: Reason, note: Text = "") -> Flag:
        """Tell the moderators about a post, once.

        Args:
            account: Number of the account.
            post: Number of the post.
            reason: What is wrong with it.
            note: More about it.
        """
        self._writer(account)
        self._post(post)
        values = {"post_id": post, "user_id": account}
        if self.db.value(
            "SELECT 1 FROM forum_flag WHERE post_id = ? AND user_id = ?", post, account
        ):
            raise ServiceError("conflict", "you have reported this post already", "post")
        number = self.db.insert(
            "forum_flag", **values, reason=reason, note=note, status="open", created_at=self.now
        )
        found = self.db.one(f"{FLAG} WHERE f.id = ?", number)
        assert found is not None
        return found  # type: ignore[return-value]

    # --- drafts ------------------------------------------------------------------------------

    @reads
    def list_drafts(self, account: int) -> list[Draft]:
        """List the drafts of an account, the latest first.

        Args:
            account: Number of the account.
        """
        self._user(account)
        return self._drafts("d.user_id = ?", account)

    @writes
    def save_draft(
        self,
        account: int,
        body: Body,
        title: Text = "",
        board: Slug | None = None,
        thread: int | None = None,
        draft: int | None = None,
    ) -> Draft:
        """Keep a text without publishing it: a new thread of a board, or a reply to a thread.

        Args:
            account: Number of the account.
            body: Text.
            title: Title of a new thread.
            board: Short name of the board of a new thread.
            thread: Number of the thread to reply to.
            draft: Number of the draft to replace; a new one if left out.
        """
        self._writer(account)
        if (board is None) == (thread is None):
            raise ServiceError("invalid", "name a board or a thread", "board")
        place = None if board is None else self._board(board)["id"]
        if thread is not None:
            self._thread(thread)
        values = {"title": title, "body": body, "board_id": place, "thread_id": thread}
        if draft is None:
            made = self.db.insert("forum_draft", user_id=account, **values, updated_at=self.now)
            return self._drafts("d.id = ?", made)[0]
        self._own_draft(account, draft)
        self.db.execute(
            "UPDATE forum_draft SET title = ?, body = ?, board_id = ?, thread_id = ?,"
            " updated_at = ? WHERE id = ?",
            *values.values(),
            self.now,
            draft,
        )
        return self._drafts("d.id = ?", draft)[0]

    @writes
    def publish_draft(self, account: int, draft: int) -> Thread:
        """Publish a draft; it is gone from the drafts then.

        Args:
            account: Number of the account.
            draft: Number of the draft.
        """
        found = self._own_draft(account, draft)
        if found["thread"] is not None:
            self.reply(account, found["thread"], found["body"])
            number = found["thread"]
        else:
            if not found["title"].strip():
                raise ServiceError("conflict", "the draft has no title", "draft")
            made = self.start_thread(account, found["board"], found["title"], found["body"])
            number = made["id"]
        self.db.execute("DELETE FROM forum_draft WHERE id = ?", draft)
        return self._thread(number)

    @writes
    def discard_draft(self, account: int, draft: int) -> int:
        """Throw a draft away.

        Args:
            account: Number of the account.
            draft: Number of the draft.
        """
        self._own_draft(account, draft)
        self.db.execute("DELETE FROM forum_draft WHERE id = ?", draft)
        return draft

    def _own_draft(self, account: int, draft: int) -> Draft:
        self._user(account)
        found = self._drafts("d.id = ? AND d.user_id = ?", draft, account)
        if not found:
            raise ServiceError("not_found", f"no draft {draft}", "draft")
        return found[0]

    def _drafts(self, condition: str, *values: int) -> list[Draft]:
        return self.db.all(  # type: ignore[return-value]
            "SELECT d.id, coalesce(b.slug, '') AS board, d.thread_id AS thread, d.title, d.body,"
            " d.updated_at FROM forum_draft d LEFT JOIN forum_board b ON b.id = d.board_id"
            f" WHERE {condition} ORDER BY d.updated_at DESC, d.id DESC",
            *values,
        )
