"""Knowledge: a base of articles with categories, owners, versions and dates of review.

Readers see what is published; an edit of a published article waits as a newer version until it
is published, too. Searching ranks titles and tags before bodies.
"""

from __future__ import annotations

import random
from typing import Annotated, Any

from pydantic import Field

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Day, Limit, Offset, Tag, search_words

from .ranking import around, matches
from .rules import SUMMARY, _Rules
from .seeding import fill
from .shapes import Article, Category, Change, Content, Page, Status

Line = Annotated[str, Field(min_length=1, max_length=200)]
Body = Annotated[str, Field(min_length=1, max_length=100_000)]


class Knowledge(_Rules):
    """The knowledge base."""

    after = ("contacts", "tickets")
    seen = {
        "knowledge_article": (
            "title",
            "category",
            "owner",
            "status",
            "published_version",
            "review_on",
        ),
        "knowledge_tag": ("article_id", "tag"),
    }
    volatile = {"knowledge_article": ("last_viewed_at",)}

    def fill(self, rng: random.Random) -> None:
        """Create categories and articles."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_categories(self) -> list[Category]:
        """List the categories, how many articles are published in each and due for review."""
        return self.db.all(
            "SELECT c.id, c.title, count(a.id) AS articles,"
            " coalesce(sum(a.review_on < ?), 0) AS review_overdue FROM knowledge_category c"
            " LEFT JOIN knowledge_article a ON a.category = c.id AND a.status = 'published'"
            " GROUP BY c.id ORDER BY c.id",
            self.now[:10],
        )

    @reads
    def search(
        self,
        text: str = "",
        category: str | None = None,
        status: Status | None = "published",
        owner: str | None = None,
        tag: str | None = None,
        review_overdue: bool = False,
        limit: Limit = 10,
        offset: Offset = 0,
    ) -> Page:
        """Find articles that have every word in title, tags or latest body. Best matches first.

        Args:
            text: Words to find, in any case; all articles if left out.
            category: Only articles of this category.
            status: Only articles in this status; null for all.
            owner: Only articles of the person with this address.
            tag: Only articles with this tag.
            review_overdue: Only articles whose review date has passed.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["1"], list[Any]()
        for condition, value in (
            ("a.category = ?", category),
            ("a.status = ?", status),
            ("a.owner = ?", owner),
            ("a.id IN (SELECT article_id FROM knowledge_tag WHERE tag = ?)", tag),
            ("a.review_on < ?", self.now[:10] if review_overdue else None),
        ):
            if value is not None:
                where.append(condition)
                values.append(value)
        rows = self.db.all(
            "SELECT f.*, v.body, coalesce((SELECT group_concat(t.tag, ' ') FROM knowledge_tag t"
            f" WHERE t.article_id = f.id), '') AS tags FROM ({SUMMARY}"
            f" WHERE {' AND '.join(where)}) f JOIN knowledge_version v"
            " ON v.article_id = f.id AND v.number = f.version",
            *values,
        )
        words = search_words(text.casefold())
        ranked = []
        for row in rows:
            title, tags, body = (row.pop("title"), row.pop("tags"), row.pop("body"))
            counts = [matches(word, title, tags, body) for word in words]
            if all(counts):
                entry = self._summary({**row, "title": title})
                ranked.append((-sum(counts), row["id"], {**entry, "snippet": around(words, body)}))
        if words:
            ranked.sort(key=lambda hit: hit[:2])
        else:
            ranked.sort(key=lambda hit: (hit[2]["updated_at"], hit[1]), reverse=True)
        found: Any = [hit[2] for hit in ranked[offset : offset + limit]]
        return {"total": len(ranked), "articles": found}

    @reads
    def get(self, article: int) -> Article:
        """Show an article as it was last saved, with its tags and versions.

        Args:
            article: Number of the article.
        """
        self._article(article)
        self.db.execute(
            "UPDATE knowledge_article SET last_viewed_at = ? WHERE id = ?", self.now, article
        )
        return self._whole(article)

    @reads
    def read_version(
        self, article: int, version: Annotated[int, Field(ge=1, le=10**6)] | None = None
    ) -> Content:
        """Read one version of an article.

        Args:
            article: Number of the article.
            version: Which version; the one that is published if left out.
        """
        row = self._article(article)
        wanted = version or row["published_version"]
        if wanted is None:
            raise ServiceError("conflict", f"article {article} was never published", "article")
        saved: Content | None = self.db.one(
            "SELECT article_id AS article, number AS version, title, body, author, saved_at"
            " FROM knowledge_version WHERE article_id = ? AND number = ?",
            article,
            wanted,
        )
        if saved is None:
            raise ServiceError(
                "not_found", f"article {article} has versions 1 to {row['version']}", "version"
            )
        return saved

    # --- writing ---------------------------------------------------------------------------

    @writes
    def create(
        self,
        title: Line,
        body: Body,
        category: str,
        owner: str,
        review_on: Day,
        tags: Annotated[list[Tag], Field(max_length=10)] | None = None,
    ) -> Article:
        """Write a new article. It is a draft until it is published.

        Args:
            title: Its title.
            body: What it says.
            category: Short name of its category.
            owner: Address of who answers for it.
            review_on: Day by which it is to be reviewed, as 2026-09-30.
            tags: Its tags.
        """
        self._category(category)
        owner = self._owner(owner)
        self._future(review_on)
        number = self.db.insert(
            "knowledge_article",
            title=title,
            category=category,
            owner=owner,
            status="draft",
            created_at=self.now,
            updated_at=self.now,
            review_on=review_on,
        )
        self._save(number, 1, title, body, "")
        for name in sorted(set(tags or ())):
            self.db.insert("knowledge_tag", article_id=number, tag=name)
        return self._whole(number)

    @writes
    def edit(
        self,
        article: int,
        body: Body | None = None,
        title: Line | None = None,
        seen_version: int | None = None,
        note: Change = "",
    ) -> Article:
        """Save a new version; readers go on seeing the published one until this is published.

        Args:
            article: Number of the article.
            body: The whole new body; as it is if left out.
            title: The new title; as it is if left out.
            seen_version: The version that was read; refused if another came since.
            note: What kind of change it is.
        """
        row = self._workable(article, seen_version)
        if body is None and title is None:
            raise ServiceError("invalid", "expected a body, a title, or both", "body")
        last = self.read_version(article, row["version"])
        number = row["version"] + 1
        self._save(article, number, title or last["title"], body or last["body"], note)
        self._change(article, version=number, title=title or last["title"])
        return self._whole(article)

    @writes
    def set_details(
        self,
        article: int,
        category: str | None = None,
        owner: str | None = None,
        review_on: Day | None = None,
        tags: Annotated[list[Tag], Field(max_length=10)] | None = None,
    ) -> Article:
        """Change where an article is filed, whose it is, when it is due or its tags.

        Args:
            article: Number of the article.
            category: Short name of its new category.
            owner: Address of its new owner.
            review_on: Day by which it is to be reviewed next.
            tags: All its tags from now on.
        """
        self._workable(article)
        changes: dict[str, Any] = {}
        if category is not None:
            self._category(category)
            changes["category"] = category
        if owner is not None:
            changes["owner"] = self._owner(owner)
        if review_on is not None:
            self._future(review_on)
            changes["review_on"] = review_on
        if tags is not None:
            self.db.execute("DELETE FROM knowledge_tag WHERE article_id = ?", article)
            for name in sorted(set(tags)):
                self.db.insert("knowledge_tag", article_id=article, tag=name)
        self._change(article, **changes)
        return self._whole(article)

    @writes
    def publish(self, article: int, seen_version: int | None = None) -> Article:
        """Publish the latest version of an article.

        Args:
            article: Number of the article.
            seen_version: The version that was read; refused if another came since.
        """
        row = self._workable(article, seen_version)
        if row["published_version"] == row["version"] and row["status"] == "published":
            raise ServiceError(
                "conflict", f"version {row['version']} is published already", "article"
            )
        self._owner(row["owner"])
        self._change(article, status="published", published_version=row["version"])
        return self._whole(article)

    @writes
    def archive(self, article: int, replaced_by: int | None = None) -> Article:
        """Take an article out of use; it can be read, but no longer changed.

        Args:
            article: Number of the article.
            replaced_by: Number of the published article that holds instead.
        """
        self._workable(article)
        if replaced_by is not None:
            other = self._article(replaced_by, "replaced_by")
            if other["status"] != "published" or replaced_by == article:
                raise ServiceError(
                    "conflict", "expected another article, which is published", "replaced_by"
                )
        self._change(article, status="archived", replaced_by=replaced_by)
        return self._whole(article)

    @writes
    def unarchive(self, article: int) -> Article:
        """Make an archived article a draft again.

        Args:
            article: Number of the article.
        """
        row = self._article(article)
        if row["status"] != "archived":
            raise ServiceError(
                "conflict", f"article {article} is {row['status']}, not archived", "article"
            )
        self._change(article, status="draft", published_version=None, replaced_by=None)
        return self._whole(article)

    @writes
    def confirm_review(self, article: int, next_review_on: Day) -> Article:
        """Say that a published article still holds, and when to look at it again.

        Args:
            article: Number of the article.
            next_review_on: Day by which it is to be reviewed next.
        """
        row = self._workable(article)
        if row["status"] != "published":
            raise ServiceError("conflict", f"article {article} is a draft", "article")
        self._future(next_review_on, "next_review_on")
        self._change(article, review_on=next_review_on)
        return self._whole(article)
