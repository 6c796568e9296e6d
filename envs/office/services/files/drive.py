"""Rules that all tools of the drive share: existence, free names, and results."""

from __future__ import annotations

from typing import Any, Literal

from agentgym.services import Image, Service, ServiceError

from .rights import TOP, Tree, demand, me
from .shapes import Entry, Item, Kind

Clash = Literal["refuse", "number"]

WHOLE = """
SELECT i.id, i.kind, i.name, i.owner, i.version, i.updated_at, i.trashed_at, i.folder_id,
       i.created_at, coalesce(length(v.content), 0) AS size
FROM files_item i LEFT JOIN files_version v ON v.item_id = i.id AND v.number = i.version
"""


class Drive(Service):
    """The rules that the tools share."""

    def _known(self, number: int, field: str) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM files_item WHERE id = ?", number)
        if row is None:
            raise ServiceError("not_found", f"no item {number}; search finds them", field)
        return row

    def _item(self, number: int, right: Any, field: str = "item") -> dict[str, Any]:
        row = self._known(number, field)
        demand(self, number, right, field)
        gone = Tree(self).trashed(number) if right != "viewer" else None
        if gone is not None:
            raise ServiceError("conflict", f"item {gone} is in the trash; restore it first", field)
        return row

    def _file(self, number: int, right: Any) -> dict[str, Any]:
        row = self._item(number, right, "file")
        if row["kind"] != "file":
            raise ServiceError("invalid", f"item {number} is a folder, not a file", "file")
        return row

    def _folder(self, number: int, right: Any) -> dict[str, Any]:
        row = self._item(number, right, "folder")
        if row["kind"] != "folder":
            raise ServiceError("invalid", f"item {number} is a file, not a folder", "folder")
        return row

    def _not_top(self, number: int) -> None:
        if number == TOP:
            raise ServiceError("forbidden", "the top of the drive stays where it is", "item")

    def _free(
        self, folder: int, name: str, if_taken: Clash = "refuse", item: int | None = None
    ) -> str:
        """Return the name that an item can have in a folder."""
        if name.strip() in ("", ".", "..") or name != name.strip():
            raise ServiceError(
                "invalid", f"{name[:80]!r} begins or ends blank, or is no name", "name"
            )
        if "/" in name:
            raise ServiceError("invalid", "a name has no '/'; move the item instead", "name")
        taken = {
            other.casefold()
            for other in self.db.column(
                "SELECT name FROM files_item WHERE folder_id = ? AND trashed_at IS NULL"
                " AND id IS NOT ?",
                folder,
                item,
            )
        }
        if name.casefold() not in taken:
            return name
        if if_taken == "refuse":
            raise ServiceError("conflict", f"folder {folder} has a {name[:80]!r} already", "name")
        stem, dot, ending = name.rpartition(".") if "." in name[1:] else (name, "", "")
        number = 2
        while f"{stem} ({number}){dot}{ending}".casefold() in taken:
            number += 1
        return f"{stem} ({number}){dot}{ending}"

    def _grantee(self, email: str) -> str:
        """Return the main address of a person with whom an item can be shared."""
        person = self.db.one(
            "SELECT name, kind, status, main FROM contacts_address WHERE lower(email) = lower(?)",
            email,
        )
        if person is None:
            if email.lower().endswith("@" + me(self).split("@")[1]):
                raise ServiceError("not_found", f"no {email[:80]!r} in the company", "grantee")
            return email
        if person["kind"] == "colleague" and person["status"] == "left":
            raise ServiceError("conflict", f"{person['name']} has left the company", "grantee")
        main: str = person["main"]
        return main

    def _author(self) -> str:
        return self.actor if self.unlimited else me(self)

    def _add(self, kind: Kind, name: str, folder: int) -> int:
        return self.db.insert(
            "files_item",
            kind=kind,
            name=name,
            folder_id=folder,
            owner=me(self),
            created_at=self.now,
            updated_at=self.now,
        )

    def _save(self, file: int, number: int, content: str, picture: str | None, note: str) -> None:
        self.db.insert(
            "files_version",
            item_id=file,
            number=number,
            content=content,
            picture=picture,
            author=self._author(),
            saved_at=self.now,
            note=note,
        )

    def _keep(self, picture: Image | None) -> str | None:
        if picture is None:
            return None
        self.db.execute(
            "INSERT OR IGNORE INTO files_picture (name, mime, data) VALUES (?, ?, ?)",
            picture.name,
            picture.mime,
            picture.data,
        )
        return picture.name

    def _entry(self, row: dict[str, Any], tree: Tree) -> Entry:
        wanted = ("id", "kind", "name", "owner", "size", "version", "updated_at", "trashed_at")
        told: Any = {key: row[key] for key in wanted}
        return {**told, "path": tree.path(row["id"])}

    def _whole(self, number: int) -> Item:
        row = self.db.one(f"{WHOLE} WHERE i.id = ?", number)
        assert row is not None
        tree = Tree(self)
        right = tree.right(number)
        assert right is not None
        return {
            **self._entry(row, tree),
            "folder": row["folder_id"],
            "created_at": row["created_at"],
            "your_right": right,
            "shares": tree.shares(number),
            "versions": self.db.all(
                "SELECT number, author, saved_at, note FROM files_version WHERE item_id = ?"
                " ORDER BY number",
                number,
            ),
        }
