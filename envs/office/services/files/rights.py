"""Permissions on the drive: owners, and shares that folders pass on to their content.

The person at work is number 1 of the contacts; the world and the setup may do everything. An
expired share grants nothing.
"""

from __future__ import annotations

from typing import Any

from agentgym.services import Service, ServiceError

from .shapes import Right, Share

EVERYONE = "everyone"
TOP = 1

_ITEM = "SELECT id, folder_id, name, owner, trashed_at FROM files_item"
_ORDER: tuple[Right | None, ...] = (None, "viewer", "editor", "owner")


class Tree:
    """The drive during one read: the places of items, and the rights on them.

    Args:
        service: The drive.
        whole: Whether to read every item at once, for reads about many items.
    """

    def __init__(self, service: Service, whole: bool = False) -> None:
        self._service, self._whole = service, whole
        self._rows: dict[int, dict[str, Any]] = {}
        self._shares: dict[int, list[dict[str, Any]]] = {}
        self._rights: dict[int, Right | None] = {}
        self._me = me(service)
        if whole:
            self._rows = {row["id"]: row for row in service.db.all(_ITEM)}
            for share in service.db.all("SELECT * FROM files_share ORDER BY grantee"):
                self._shares.setdefault(share["item_id"], []).append(share)

    def line(self, item: int) -> list[dict[str, Any]]:
        """Return an item and the folders around it, the item first."""
        found = []
        number: int | None = item
        while number is not None:
            if number not in self._rows:
                row = self._service.db.one(f"{_ITEM} WHERE id = ?", number)
                assert row is not None
                self._rows[number] = row
            found.append(self._rows[number])
            number = self._rows[number]["folder_id"]
        return found

    def path(self, item: int) -> str:
        """Return a path such as ``/Finance/Budget.txt``."""
        return "/" + "/".join(row["name"] for row in reversed(self.line(item)[:-1]))

    def trashed(self, item: int) -> int | None:
        """Return the item itself or the nearest folder around it that is in the trash."""
        return next((row["id"] for row in self.line(item) if row["trashed_at"]), None)

    def shares(self, item: int) -> list[Share]:
        """Return the shares of an item and of the folders around it, its own first."""
        return [
            {
                "grantee": share["grantee"],
                "role": share["role"],
                "granted_by": share["granted_by"],
                "granted_at": share["granted_at"],
                "expires_at": share["expires_at"],
                "expired": self._expired(share),
                "inherited_from": None if row["id"] == item else self.path(row["id"]),
            }
            for row in self.line(item)
            for share in self._own_shares(row["id"])
        ]

    def right(self, item: int) -> Right | None:
        """Return the caller's right on an item; None if the caller has no right."""
        if self._service.unlimited:
            return "owner"
        if item not in self._rights:
            row, *around = self.line(item)
            # Everyone sees the top, which gives no right on its content.
            held: list[Right | None] = [None if around else "viewer"]
            held += [self.right(around[0]["id"])] if len(around) > 1 else []
            held += ["owner"] if row["owner"] == self._me else []
            held += [
                share["role"]
                for share in self._own_shares(item)
                if share["grantee"] in (self._me, EVERYONE) and not self._expired(share)
            ]
            self._rights[item] = max(held, key=_ORDER.index, default=None)
        return self._rights[item]

    def _own_shares(self, item: int) -> list[dict[str, Any]]:
        if item not in self._shares:
            sql = "SELECT * FROM files_share WHERE item_id = ? ORDER BY grantee"
            self._shares[item] = [] if self._whole else self._service.db.all(sql, item)
        return self._shares[item]

    def _expired(self, share: dict[str, Any]) -> bool:
        return share["expires_at"] is not None and share["expires_at"] <= self._service.now


def me(service: Service) -> str:
    """Return the address of the person at work."""
    mail: str = service.db.value("SELECT email FROM contacts_person WHERE id = 1")
    return mail


def demand(service: Service, item: int, right: Right, field: str) -> None:
    """Refuse a caller whose right is too low.

    Raises:
        ServiceError: The caller's right does not suffice (code ``forbidden``).
    """
    held = Tree(service).right(item)
    if _ORDER.index(held) < _ORDER.index(right):
        owner = service.db.value("SELECT owner FROM files_item WHERE id = ?", item)
        has = f"you are {held}" if held else "it is not shared with you"
        raise ServiceError(
            "forbidden", f"item {item}: {has}, this takes {right}; ask {owner}", field
        )
