"""Files: the drive of a company, with folders, versions, sharing, a trash and a search.

Names are unique within a folder, in any case. Every save is a version; a save may carry the
version its author has seen, and is refused if another came first. An item in the trash keeps its
place until it is restored.
"""

from __future__ import annotations

import random
from typing import Annotated, Any

from pydantic import Field

from agentgym.services import Image, ServiceError, reads, writes
from agentgym.services.arguments import Offset, search_words

from .drive import WHOLE, Clash, Drive
from .rights import EVERYONE, TOP, Tree, demand
from .seeding import fill
from .shapes import Content, Entry, Item, Kind, Page, Role

Name = Annotated[str, Field(min_length=1, max_length=200)]
Body = Annotated[str, Field(max_length=500_000)]
Limit = Annotated[int, Field(ge=1, le=200)]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Grantee = Annotated[str, Field(pattern=r"^(everyone|[^@\s]{1,64}@[a-z0-9.-]{1,190})$")]


class Files(Drive):
    """The company drive."""

    after = ("contacts", "sheets")
    seen = {
        "files_item": ("name", "folder_id", "owner", "trashed_at"),
        "files_share": ("item_id", "grantee", "role"),
    }
    volatile = {"files_item": ("last_opened_at",)}

    def fill(self, rng: random.Random) -> None:
        """Create folders, files and shares."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_folder(self, folder: int = TOP) -> list[Entry]:
        """List what is in a folder and not in the trash, folders first, then by name.

        Args:
            folder: Number of the folder; 1 is the top of the drive.
        """
        self._folder(folder, "viewer")
        rows = self.db.all(
            f"{WHOLE} WHERE i.folder_id = ? AND i.trashed_at IS NULL"
            " ORDER BY i.kind DESC, lower(i.name), i.id",
            folder,
        )
        tree = Tree(self, whole=True)
        return [self._entry(row, tree) for row in rows if tree.right(row["id"])]

    @reads
    def get(self, item: int) -> Item:
        """Show where a file or folder is, whose it is, who may see it, and its versions.

        Args:
            item: Number of the file or folder.
        """
        self._item(item, "viewer")
        return self._whole(item)

    @reads
    def read(
        self, file: int, version: Annotated[int, Field(ge=1, le=10**6)] | None = None
    ) -> Content:
        """Read a file: its text, and its picture if it has one.

        Args:
            file: Number of the file.
            version: Which version; the latest if left out.
        """
        row = self._file(file, "viewer")
        saved = self.db.one(
            "SELECT * FROM files_version WHERE item_id = ? AND number = ?",
            file,
            version or row["version"],
        )
        if saved is None:
            raise ServiceError(
                "not_found", f"file {file} has versions 1 to {row['version']}", "version"
            )
        self.db.execute("UPDATE files_item SET last_opened_at = ? WHERE id = ?", self.now, file)
        picture = saved["picture"] and self.db.one(
            "SELECT data, mime FROM files_picture WHERE name = ?", saved["picture"]
        )
        return {
            "id": file,
            "path": Tree(self).path(file),
            "version": saved["number"],
            "content": saved["content"],
            "picture": Image(picture["data"], picture["mime"]) if picture else None,
            "author": saved["author"],
            "saved_at": saved["saved_at"],
        }

    @reads
    def search(
        self,
        text: str = "",
        kind: Kind | None = None,
        owner: str | None = None,
        shared_with: str | None = None,
        changed_since: Time | None = None,
        in_trash: bool = False,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Page:
        """Find files and folders that you may see; all conditions must hold. Last changed first.

        Args:
            text: Words that the name or the latest content contain, in any case.
            kind: Only files or only folders.
            owner: Only items of the person with this address.
            shared_with: Only items shared, themselves, with this address or "everyone".
            changed_since: Only items changed then or later.
            in_trash: Whether to search the trash instead of the drive.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = [f"i.id <> {TOP}"], list[Any]()
        where.append(f"i.trashed_at IS {'NOT ' if in_trash else ''}NULL")
        for word in search_words(text):
            where.append("(instr(lower(i.name), lower(?)) OR instr(lower(v.content), lower(?)))")
            values += [word, word]
        conditions = (
            ("i.kind = ?", kind),
            ("i.owner = ?", owner),
            ("i.id IN (SELECT item_id FROM files_share WHERE grantee = ?)", shared_with),
            ("i.updated_at >= ?", changed_since),
        )
        for condition, value in conditions:
            if value is not None:
                where.append(condition)
                values.append(value)
        rows = self.db.all(
            f"{WHOLE} WHERE {' AND '.join(where)} ORDER BY i.updated_at DESC, i.id DESC", *values
        )
        # A trashed folder hides its content, and folders pass on rights, too.
        tree = Tree(self, whole=True)
        seen = [r for r in rows if tree.right(r["id"]) and (in_trash or not tree.trashed(r["id"]))]
        return {
            "total": len(seen),
            "items": [self._entry(row, tree) for row in seen[offset : offset + limit]],
        }

    # --- writing ---------------------------------------------------------------------------

    @writes
    def create_folder(self, name: Name, folder: int) -> Item:
        """Make a folder. It is yours.

        Args:
            name: Name of the new folder.
            folder: Number of the folder it is to be in.
        """
        self._folder(folder, "editor")
        return self._whole(self._add("folder", self._free(folder, name), folder))

    @writes
    def create_file(
        self, name: Name, folder: int, content: Body = "", picture: Image | None = None
    ) -> Item:
        """Make a file. It is yours.

        Args:
            name: Name of the new file, with its ending.
            folder: Number of the folder it is to be in.
            content: Its text.
            picture: Name of an image to put into it.
        """
        self._folder(folder, "editor")
        number = self._add("file", self._free(folder, name), folder)
        self._save(number, 1, content, self._keep(picture), "")
        return self._whole(number)

    @writes
    def write(
        self,
        file: int,
        content: Body,
        picture: Image | None = None,
        seen_version: int | None = None,
        note: Annotated[str, Field(max_length=500)] = "",
    ) -> Item:
        """Save a new version of a file; the old ones stay.

        Args:
            file: Number of the file.
            content: The whole new text.
            picture: Name of an image to put into it; the one it had is kept if left out.
            seen_version: The version that was read; refused if the file has changed since.
            note: What was changed.
        """
        row = self._file(file, "editor")
        if seen_version is not None and seen_version != row["version"]:
            raise ServiceError(
                "conflict",
                f"file {file} has version {row['version']}, not {seen_version}; read it again",
                "seen_version",
            )
        kept = self.db.value(
            "SELECT picture FROM files_version WHERE item_id = ? AND number = ?",
            file,
            row["version"],
        )
        self._save(file, row["version"] + 1, content, self._keep(picture) or kept, note)
        self.db.execute(
            "UPDATE files_item SET version = version + 1, updated_at = ? WHERE id = ?",
            self.now,
            file,
        )
        return self._whole(file)

    @writes
    def move(
        self,
        item: int,
        folder: int | None = None,
        name: Name | None = None,
        if_taken: Clash = "refuse",
    ) -> Item:
        """Move a file or folder, rename it, or both. Nothing is ever overwritten.

        Args:
            item: Number of the file or folder.
            folder: Number of the folder to move it to; where it is if left out.
            name: Its new name; the one it has if left out.
            if_taken: What to do where the name is taken: refuse, or put a number behind it.
        """
        row = self._item(item, "editor")
        self._not_top(item)
        target = row["folder_id"] if folder is None else folder
        if target != row["folder_id"]:
            demand(self, row["folder_id"], "editor", "item")
            self._folder(target, "editor")
        if any(around["id"] == item for around in Tree(self).line(target)):
            raise ServiceError("invalid", "a folder cannot be moved into itself", "folder")
        free = self._free(target, name or row["name"], if_taken, item)
        if (target, free) != (row["folder_id"], row["name"]):
            self.db.execute(
                "UPDATE files_item SET folder_id = ?, name = ?, updated_at = ? WHERE id = ?",
                target,
                free,
                self.now,
                item,
            )
        return self._whole(item)

    @writes
    def copy(
        self, file: int, folder: int, name: Name | None = None, if_taken: Clash = "refuse"
    ) -> Item:
        """Copy the latest version of a file. The copy is yours and not shared.

        Args:
            file: Number of the file.
            folder: Number of the folder for the copy.
            name: Name of the copy; that of the file if left out.
            if_taken: What to do where the name is taken: refuse, or put a number behind it.
        """
        row = self._file(file, "viewer")
        self._folder(folder, "editor")
        free = self._free(folder, name or row["name"], if_taken)
        saved = self.db.one(
            "SELECT content, picture FROM files_version WHERE item_id = ? AND number = ?",
            file,
            row["version"],
        )
        assert saved is not None
        number = self._add("file", free, folder)
        self._save(number, 1, saved["content"], saved["picture"], f"copy of file {file}")
        return self._whole(number)

    @writes
    def share(
        self, item: int, grantee: Grantee, role: Role = "viewer", expires_at: Time | None = None
    ) -> Item:
        """Share a file or folder, with all that is in it; or change how it is shared.

        Args:
            item: Number of the file or folder.
            grantee: Address of a person, or "everyone" for the whole company.
            role: What they may do.
            expires_at: Until when; for good if left out.
        """
        self._item(item, "owner")
        if expires_at is not None and expires_at <= self.now:
            raise ServiceError(
                "invalid", f"expected a time after {self.now}, got {expires_at}", "expires_at"
            )
        if grantee != EVERYONE:
            grantee = self._grantee(grantee)
        self.db.execute(
            "INSERT INTO files_share (item_id, grantee, role, granted_by, granted_at, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (item_id, grantee) DO UPDATE SET"
            " role = excluded.role, granted_by = excluded.granted_by,"
            " granted_at = excluded.granted_at, expires_at = excluded.expires_at",
            item,
            grantee,
            role,
            self._author(),
            self.now,
            expires_at,
        )
        return self._whole(item)

    @writes
    def unshare(self, item: int, grantee: Grantee) -> Item:
        """Take back a share of a file or folder. What folders around it give stays.

        Args:
            item: Number of the file or folder.
            grantee: Who it was shared with.
        """
        self._item(item, "owner")
        sql = "DELETE FROM files_share WHERE item_id = ? AND grantee = ?"
        if not self.db.execute(sql, item, grantee).rowcount:
            raise ServiceError(
                "not_found", f"item {item} itself is not shared with {grantee[:80]!r}", "grantee"
            )
        return self._whole(item)

    @writes
    def trash(self, item: int) -> Item:
        """Put a file or folder into the trash, with all that is in it.

        Args:
            item: Number of the file or folder.
        """
        self._item(item, "owner")
        self._not_top(item)
        self.db.execute("UPDATE files_item SET trashed_at = ? WHERE id = ?", self.now, item)
        return self._whole(item)

    @writes
    def restore(self, item: int, if_taken: Clash = "refuse") -> Item:
        """Take a file or folder out of the trash, back to where it was.

        Args:
            item: Number of the file or folder.
            if_taken: What to do where the name is taken by now: refuse, or put a number behind it.
        """
        row = self._known(item, "item")
        demand(self, item, "owner", "item")
        if row["trashed_at"] is None:
            raise ServiceError("conflict", f"item {item} is not in the trash", "item")
        around = Tree(self).trashed(row["folder_id"])
        if around is not None:
            raise ServiceError(
                "conflict", f"its folder {around} is in the trash; restore that first", "item"
            )
        free = self._free(row["folder_id"], row["name"], if_taken, item)
        self.db.execute(
            "UPDATE files_item SET trashed_at = NULL, name = ? WHERE id = ?", free, item
        )
        return self._whole(item)
