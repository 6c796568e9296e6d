"""The rules of the knowledge base, and the results of its tools."""

from __future__ import annotations

from typing import Any

from agentgym.services import Service, ServiceError

from .shapes import Article, Saved, Summary

SUMMARY = """
SELECT a.id, a.title, a.category, a.owner, a.status, a.version, a.published_version,
       a.updated_at, a.review_on FROM knowledge_article a
"""


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _article(self, number: int, field: str = "article") -> dict[str, Any]:
        row = self.db.one("SELECT * FROM knowledge_article WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no article {number}; search finds them", field)
        return row

    def _workable(self, number: int, seen_version: int | None = None) -> dict[str, Any]:
        row = self._article(number)
        if row["status"] == "archived":
            raise ServiceError("conflict", f"article {number} is archived", "article")
        if seen_version is not None and seen_version != row["version"]:
            raise ServiceError(
                "conflict",
                f"article {number} has version {row['version']}, not {seen_version}; read it again",
                "seen_version",
            )
        return row

    def _category(self, name: str) -> None:
        known = self.db.column("SELECT id FROM knowledge_category ORDER BY id")
        if name not in known:
            raise ServiceError(
                "not_found", f"no category {name[:80]!r}; there is: {', '.join(known)}", "category"
            )

    def _author(self) -> str:
        me: str = self.db.value("SELECT email FROM contacts_person WHERE id = 1")
        return self.actor if self.unlimited else me

    def _owner(self, email: str) -> str:
        """Return the main address of a current colleague."""
        person = self.db.one(
            "SELECT name, status, main FROM contacts_address WHERE lower(email) = lower(?)"
            " AND kind = 'colleague'",
            email,
        )
        if person is None:
            raise ServiceError("not_found", f"no {email[:80]!r} in the company", "owner")
        if person["status"] == "left":
            raise ServiceError("conflict", f"{person['name']} has left the company", "owner")
        main: str = person["main"]
        return main

    def _future(self, day: str, field: str = "review_on") -> None:
        if day <= self.now[:10]:
            raise ServiceError("invalid", f"expected a day after {self.now[:10]}, got {day}", field)

    def _save(self, article: int, number: int, title: str, body: str, note: str) -> None:
        self.db.insert(
            "knowledge_version",
            article_id=article,
            number=number,
            title=title,
            body=body,
            author=self._author(),
            saved_at=self.now,
            note=note,
        )

    def _change(self, number: int, **values: Any) -> None:
        sets = "".join(f"{column} = ?, " for column in values)
        self.db.execute(
            f"UPDATE knowledge_article SET {sets}updated_at = ? WHERE id = ?",
            *values.values(),
            self.now,
            number,
        )

    def _summary(self, row: dict[str, Any]) -> Summary:
        overdue = row["status"] == "published" and row["review_on"] < self.now[:10]
        told: Any = {**row, "review_overdue": overdue}
        return told

    def _whole(self, number: int) -> Article:
        row, more = self.db.one(f"{SUMMARY} WHERE a.id = ?", number), self._article(number)
        assert row is not None
        body: str = self.db.value(
            "SELECT body FROM knowledge_version WHERE article_id = ? AND number = ?",
            number,
            row["version"],
        )
        tags = "SELECT tag FROM knowledge_tag WHERE article_id = ? ORDER BY tag"
        versions: list[Saved] = self.db.all(
            "SELECT number, author, saved_at, note FROM knowledge_version WHERE article_id = ?"
            " ORDER BY number",
            number,
        )
        return {
            **self._summary(row),
            "body": body,
            "tags": self.db.column(tags, number),
            "created_at": more["created_at"],
            "replaced_by": more["replaced_by"],
            "versions": versions,
        }
