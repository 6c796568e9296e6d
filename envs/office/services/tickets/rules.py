"""The rules of the help desk, and the results of its tools."""

from __future__ import annotations

from typing import Any

from agentgym.services import Image, Service, ServiceError

from .shapes import Comment, Summary, Ticket

_SELECT = """
SELECT t.id, t.subject, t.customer_id, c.name AS customer, t.product, t.status, t.priority,
       t.assignee, t.created_at, t.due_at, t.version{more}
FROM tickets_ticket t JOIN tickets_customer c ON c.id = t.customer_id
"""
SUMMARY = _SELECT.format(more="")
_WHOLE = _SELECT.format(more=", t.body, t.updated_at, t.resolution, t.merged_into")


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _customer(self, number: int) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM tickets_customer WHERE id = ?", number)
        if row is None:
            raise ServiceError(
                "not_found", f"no customer {number}; list_customers finds them", "customer"
            )
        return row

    def _ticket(self, number: int, field: str = "ticket") -> dict[str, Any]:
        row = self.db.one("SELECT * FROM tickets_ticket WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no ticket {number}; search finds them", field)
        return row

    def _workable(
        self, number: int, version: int | None = None, field: str = "ticket"
    ) -> dict[str, Any]:
        row = self._ticket(number, field)
        if row["status"] == "closed":
            raise ServiceError("conflict", f"ticket {number} is closed; reopen it first", field)
        if row["status"] == "merged":
            raise ServiceError(
                "conflict", f"ticket {number} was merged into {row['merged_into']}", field
            )
        if version is not None and version != row["version"]:
            raise ServiceError(
                "conflict",
                f"ticket {number} has version {row['version']}, not {version}; read it again",
                "version",
            )
        return row

    def _change(self, number: int, **values: Any) -> None:
        sets = "".join(f"{column} = ?, " for column in values)
        self.db.execute(
            f"UPDATE tickets_ticket SET {sets}updated_at = ?, version = version + 1 WHERE id = ?",
            *values.values(),
            self.now,
            number,
        )

    def _overdue(self, row: dict[str, Any]) -> bool:
        return row["status"] in ("open", "pending") and row["due_at"] < self.now

    def _summary(self, row: dict[str, Any]) -> Summary:
        return {**row, "overdue": self._overdue(row)}

    def _tags(self, number: int) -> list[str]:
        return self.db.column(
            "SELECT tag FROM tickets_tag WHERE ticket_id = ? ORDER BY tag", number
        )

    def _comments(self, condition: str, *values: int) -> list[Comment]:
        rows = self.db.all(
            "SELECT c.id, author, body, internal, p.data, p.mime, created_at FROM tickets_comment c"
            f" LEFT JOIN tickets_picture p ON p.name = c.picture WHERE {condition}"
            " ORDER BY created_at, c.id",
            *values,
        )
        return [_comment(**row) for row in rows]

    def _keep(self, picture: Image | None) -> str | None:
        if picture is None:
            return None
        self.db.execute(
            "INSERT OR IGNORE INTO tickets_picture (name, mime, data) VALUES (?, ?, ?)",
            picture.name,
            picture.mime,
            picture.data,
        )
        return picture.name

    def _whole(self, number: int) -> Ticket:
        row = self.db.one(f"{_WHOLE} WHERE t.id = ?", number)
        assert row is not None
        links = self.db.all(
            "SELECT other_id AS ticket, kind FROM tickets_link WHERE ticket_id = ?"
            " ORDER BY other_id, kind",
            number,
        )
        return {
            **row,
            "overdue": self._overdue(row),
            "tags": self._tags(number),
            "links": links,
            "comments": self._comments("ticket_id = ?", number),
        }


def _comment(data: bytes | None, mime: str, internal: int, **row: Any) -> Comment:
    picture = None if data is None else Image(data, mime)
    return {**row, "internal": bool(internal), "picture": picture}  # type: ignore[typeddict-item]
