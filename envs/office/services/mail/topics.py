"""Chooses the texts of a conversation: with colleagues, customers or suppliers."""

from __future__ import annotations

import random
from typing import Any

from agentgym.services import Service

from .matters import INSIDE, WITH_CUSTOMERS, WITH_SUPPLIERS


class Topics:
    """The papers, workbooks, articles and invoices that messages refer to."""

    def __init__(self, service: Service, rng: random.Random) -> None:
        self._db, self._rng = service.db, rng
        column = service.db.column
        self._papers = column(
            "SELECT t.name || '/' || f.name || '/' || i.name FROM files_item i"
            " JOIN files_item f ON f.id = i.folder_id JOIN files_item t ON t.id = f.folder_id"
            " WHERE i.kind = 'file' AND i.trashed_at IS NULL AND t.folder_id = 1 ORDER BY i.id"
        )
        self._books = column("SELECT name FROM sheets_workbook ORDER BY id")
        self._articles = column(
            "SELECT title FROM knowledge_article WHERE status = 'published' ORDER BY id"
        )

    def talk(self, other: dict[str, Any], at: str) -> list[str]:
        """Return a subject and the messages of a conversation with a person.

        Args:
            other: Row of the person.
            at: Time of the conversation; it refers to nothing later.
        """
        rng = self._rng
        slots: dict[str, Any] = {
            "day": rng.choice(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]),
            "n": rng.randint(4, 30),
            "paper": f"/{rng.choice(self._papers)}",
            "book": rng.choice(self._books),
            "article": rng.choice(self._articles),
        }
        if other["kind"] == "colleague":
            talks = INSIDE
        elif other["customer_id"] is None:
            talks, invoice = WITH_SUPPLIERS, self._invoice("Supplier payments", "c", other, at)
        else:
            talks, invoice = WITH_CUSTOMERS, self._invoice("Customer invoices", "e", other, at)
        if talks is not INSIDE:
            # The first talk needs an invoice of theirs.
            talks = talks if invoice else talks[1:]
            slots |= invoice or {}
        return [text.format(**slots) for text in rng.choice(talks)]

    def _invoice(
        self, book: str, dated: str, other: dict[str, Any], at: str
    ) -> dict[str, Any] | None:
        found = self._db.all(
            "SELECT a, d, e FROM sheets_line WHERE workbook GLOB ?1 || ' 20*'"
            f" AND sheet = 'Invoices' AND row > 1 AND {dated} < ?3"
            " AND (b = ?2 OR b LIKE ?2 || ' %') ORDER BY workbook, row",
            book,
            other["company"],
            at[:10],
        )
        if not found:
            return None
        row = self._rng.choice(found)
        return {"invoice": row["a"], "due": row["d"], "amount": row["e"]}
