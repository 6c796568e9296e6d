#!/bin/bash
cd /srv/guild
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 6cc1a11..016dd95 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## Unreleased
+- Members have several addresses; files have version 4 (#64).
+- A migration happens as a whole or not at all (#37).
+
 ## 2.3.0 (2026-02-18)
 - `duplicates` and `merge` (#60).
 
diff --git a/README.md b/README.md
index 8974eaf..cf07dd2 100644
--- a/README.md
+++ b/README.md
@@ -13,15 +13,16 @@ ada@example.org
 
 | command | what it does |
 |---|---|
-| `add NAME [--email ADDRESS] [--joined DAY]` | adds a member and prints the number |
+| `add NAME [--email ADDRESS]... [--joined DAY]` | adds a member and prints the number |
+| `email NUMBER add\|remove\|prefer ADDRESS` | changes the addresses; the first one is preferred |
 | `show NUMBER` | prints all fields |
 | `list [TEXT]` | members whose name or address has the text |
 | `leave NUMBER DAY` | the member leaves; nothing is deleted |
 | `note NUMBER TEXT` | replaces the note |
-| `import FILE` | reads a CSV file: `name`, `email`, `joined`; who has the address is updated |
+| `import FILE` | reads a CSV file: `name`, `email`, `joined`; who has one of the addresses (separated by `;`) is updated |
 | `export [--json]` | writes all members |
-| `mailing` | the addresses that a mailing goes to |
-| `duplicates` | members that share an address |
+| `mailing [--all]` | the addresses that a mailing goes to: the preferred ones, or all |
+| `duplicates` | groups of members that share addresses |
 | `merge NUMBER OTHER` | the other one becomes part of the first and is gone |
 | `stats` | numbers |
 
diff --git a/guild/address.py b/guild/address.py
index b345d9b..dab3fd9 100644
--- a/guild/address.py
+++ b/guild/address.py
@@ -1,6 +1,7 @@
 """E-mail addresses."""
 
 import re
+from collections.abc import Iterable
 
 from guild.errors import GuildError
 
@@ -21,3 +22,28 @@ def checked(text: str) -> str:
     if text and not is_address(text):
         raise GuildError(f"no e-mail address: {text!r}")
     return text
+
+
+def unique(texts: Iterable[str]) -> tuple[str, ...]:
+    """Return texts without empty ones; of those that differ in capitals only the first stays."""
+    found: dict[str, str] = {}
+    for text in texts:
+        if text:
+            found.setdefault(text.casefold(), text)
+    return tuple(found.values())
+
+
+def all_checked(texts: Iterable[str]) -> tuple[str, ...]:
+    """Return addresses as they are kept.
+
+    Raises:
+        GuildError: One is no address.
+    """
+    return unique([checked(text) for text in texts])
+
+
+def split(text: str) -> tuple[tuple[str, ...], str]:
+    """Return the addresses in a text of old files, and what is no address there."""
+    parts = [part for part in re.split(r"[\s,;]+", text) if part]
+    others = " ".join(part for part in parts if not is_address(part))
+    return unique(part for part in parts if is_address(part)), others
diff --git a/guild/cli.py b/guild/cli.py
index fdc3992..8986e4c 100644
--- a/guild/cli.py
+++ b/guild/cli.py
@@ -4,6 +4,7 @@ import argparse
 import sys
 from collections.abc import Sequence
 
+from guild.address import checked
 from guild.duplicates import duplicates, merge
 from guild.errors import GuildError
 from guild.exporter import export_csv, export_json
@@ -34,11 +35,27 @@ def _add(members: Members, options: argparse.Namespace) -> None:
 
 def _show(members: Members, options: argparse.Namespace) -> None:
     member = members.get(options.number)
-    for field in ("number", "name", "email", "joined", "left_on", "note"):
-        if value := getattr(member, field):
+    fields = [("number", member.number), ("name", member.name)]
+    fields += [("email", address) for address in member.emails]
+    fields += [(field, getattr(member, field)) for field in ("joined", "left_on", "note")]
+    for field, value in fields:
+        if value:
             print(f"{field:<8} {value}")
 
 
+def _email(members: Members, options: argparse.Namespace) -> None:
+    member, address = members.get(options.number), checked(options.address)
+    if not address:
+        raise GuildError("an address is missing")
+    if member.has(address) == (options.change == "add"):
+        has = "has" if member.has(address) else "does not have"
+        raise GuildError(f"member {member.number} {has} {address}")
+    others = [each for each in member.emails if each.casefold() != address.casefold()]
+    kept = next((each for each in member.emails if each not in others), address)
+    emails = {"add": [*others, address], "remove": others, "prefer": [kept, *others]}
+    members.update(member.number, emails=emails[options.change])
+
+
 def _list(members: Members, options: argparse.Namespace) -> None:
     for member in members.find(options.text):
         left = f" (left {member.left_on})" if member.left_on else ""
@@ -67,7 +84,7 @@ def _export(members: Members, options: argparse.Namespace) -> None:
 
 
 def _mailing(members: Members, options: argparse.Namespace) -> None:
-    for address in recipients(members):
+    for address in recipients(members, options.all):
         print(address)
 
 
@@ -100,14 +117,18 @@ def _parser() -> argparse.ArgumentParser:
         sub.set_defaults(run=run)
         return sub
 
-    command("add", _add, "name", email="", joined="")
+    add = command("add", _add, "name", joined="")
+    add.add_argument("--email", action="append", default=[])
+    email = command("email", _email, "number")
+    email.add_argument("change", choices=["add", "remove", "prefer"])
+    email.add_argument("address")
     command("show", _show, "number")
     command("list", _list).add_argument("text", nargs="?", default="")
     command("leave", _leave, "number", "day")
     command("note", _note, "number", "text")
     command("import", _import, "csv")
     command("export", _export).add_argument("--json", action="store_true")
-    command("mailing", _mailing)
+    command("mailing", _mailing).add_argument("--all", action="store_true")
     command("duplicates", _duplicates)
     command("merge", _merge, "number", "other")
     command("stats", _stats)
diff --git a/guild/duplicates.py b/guild/duplicates.py
index dfa98f8..008cbe3 100644
--- a/guild/duplicates.py
+++ b/guild/duplicates.py
@@ -3,15 +3,20 @@
 from guild.errors import GuildError
 from guild.member import Member
 from guild.members import Members
+from guild.store import transaction
 
 
 def duplicates(members: Members) -> list[list[Member]]:
     """Return groups of members that share an address, by their first numbers."""
-    groups: dict[str, list[Member]] = {}
+    groups: list[list[Member]] = []
     for member in members.all():
-        if member.email:
-            groups.setdefault(member.email.casefold(), []).append(member)
-    return [group for group in groups.values() if len(group) > 1]
+        joined = [g for g in groups if any(other.has(each) for other in g for each in member.emails)]
+        groups = [group for group in groups if group not in joined]
+        whole = [each for group in joined for each in group] + [member]
+        groups.append(sorted(whole, key=lambda each: each.number))
+    return sorted(
+        (group for group in groups if len(group) > 1), key=lambda group: group[0].number
+    )
 
 
 def merge(members: Members, number: int, other: int) -> Member:
@@ -20,12 +25,11 @@ def merge(members: Members, number: int, other: int) -> Member:
         raise GuildError("a member cannot be merged with itself")
     kept, gone = members.get(number), members.get(other)
     notes = [note for note in (kept.note, gone.note) if note]
-    members.remove(other)
-    return members.update(
-        number,
-        email=kept.email or gone.email,
-        joined=min(day for day in (kept.joined, gone.joined, "9999-12-31") if day)
-        if kept.joined or gone.joined
-        else "",
-        note="\n".join(notes),
-    )
+    with transaction(members.connection):
+        members.remove(other)
+        return members.update(
+            number,
+            emails=(*kept.emails, *gone.emails),
+            joined=min((day for day in (kept.joined, gone.joined) if day), default=""),
+            note="\n".join(notes),
+        )
diff --git a/guild/exporter.py b/guild/exporter.py
index 3635009..cd1b640 100644
--- a/guild/exporter.py
+++ b/guild/exporter.py
@@ -15,10 +15,11 @@ def export_csv(members: Members, file: TextIO) -> None:
     writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore", lineterminator="\n")
     writer.writeheader()
     for member in members.all():
-        writer.writerow(asdict(member))
+        writer.writerow({**asdict(member), "email": "; ".join(member.emails)})
 
 
 def export_json(members: Members, file: TextIO) -> None:
     """Write all members as a JSON list."""
-    json.dump([asdict(member) for member in members.all()], file, indent=1, ensure_ascii=False)
+    content = [{**asdict(member), "email": member.email} for member in members.all()]
+    json.dump(content, file, indent=1, ensure_ascii=False)
     file.write("\n")
diff --git a/guild/importer.py b/guild/importer.py
index 291f6e3..c809710 100644
--- a/guild/importer.py
+++ b/guild/importer.py
@@ -4,8 +4,9 @@ import csv
 from dataclasses import dataclass, field
 from typing import TextIO
 
+from guild.address import all_checked
 from guild.errors import GuildError
-from guild.members import Members
+from guild.members import Members, normal_name
 
 
 @dataclass
@@ -36,18 +37,19 @@ def import_csv(members: Members, file: TextIO) -> Imported:
 
 
 def _import_row(members: Members, row: dict[str, str | None], done: Imported) -> None:
-    fields = {name: row.get(name) or "" for name in ("name", "email", "joined", "left_on", "note")}
-    email = fields["email"].strip()
-    known = members.with_email(email) if email else []
+    fields = {name: row.get(name) or "" for name in ("name", "joined", "left_on", "note")}
+    emails = all_checked((row.get("email") or "").split(";"))
+    known = members.with_email(*emails)
     if len(known) > 1:
-        raise GuildError(f"{len(known)} members have {email}")
+        name = normal_name(fields["name"])
+        named = [member for member in known if member.name == name]
+        if len(named) != 1:
+            raise GuildError(f"{len(known)} members have {' or '.join(emails)}")
+        known = named
     if known:
-        given = {name: value for name, value in fields.items() if value and name != "email"}
-        members.update(known[0].number, **given)
+        given = {name: value for name, value in fields.items() if value}
+        members.update(known[0].number, emails=(*known[0].emails, *emails), **given)
         done.updated += 1
         return
-    left_on = fields.pop("left_on")
-    member = members.add(**fields)
-    if left_on:
-        members.update(member.number, left_on=left_on)
+    members.add(emails=emails, **fields)
     done.added += 1
diff --git a/guild/mailing.py b/guild/mailing.py
index 5781268..03ed5ed 100644
--- a/guild/mailing.py
+++ b/guild/mailing.py
@@ -1,12 +1,19 @@
 """The recipients of mailings."""
 
+from guild.address import unique
 from guild.members import Members
 
 
-def recipients(members: Members) -> list[str]:
-    """Return the addresses of all active members by number; no address twice."""
-    found: dict[str, str] = {}
-    for member in members.all():
-        if member.is_active and member.email:
-            found.setdefault(member.email.casefold(), member.email)
-    return list(found.values())
+def recipients(members: Members, every: bool = False) -> list[str]:
+    """Return the addresses of all active members by number; no address twice.
+
+    They are the preferred ones, or every address of each member.
+    """
+    return list(
+        unique(
+            address
+            for member in members.all()
+            if member.is_active
+            for address in (member.emails if every else member.emails[:1])
+        )
+    )
diff --git a/guild/member.py b/guild/member.py
index 946d731..bd49f0d 100644
--- a/guild/member.py
+++ b/guild/member.py
@@ -6,18 +6,26 @@ from dataclasses import dataclass
 
 @dataclass(frozen=True)
 class Member:
-    """A member. Days are `YYYY-MM-DD`; `left_on` is empty for who is still a member."""
+    """A member. The first of the addresses is preferred. Days are `YYYY-MM-DD`; `left_on` is empty for who is still a member."""
 
     number: int
     name: str
-    email: str = ""
+    emails: tuple[str, ...] = ()
     joined: str = ""
     left_on: str = ""
     note: str = ""
 
     @classmethod
-    def of(cls, row: sqlite3.Row) -> "Member":
-        return cls(**dict(row))
+    def of(cls, row: sqlite3.Row, emails: tuple[str, ...]) -> "Member":
+        return cls(**dict(row), emails=emails)
+
+    @property
+    def email(self) -> str:
+        return self.emails[0] if self.emails else ""
+
+    def has(self, address: str) -> bool:
+        """Return whether an address is one of the member's, whatever its capitals."""
+        return address.casefold() in {email.casefold() for email in self.emails}
 
     @property
     def is_active(self) -> bool:
diff --git a/guild/members.py b/guild/members.py
index 4bbcf19..59b5238 100644
--- a/guild/members.py
+++ b/guild/members.py
@@ -1,14 +1,15 @@
 """All members of a file."""
 
 import sqlite3
+from collections.abc import Iterable
 from datetime import date
 
-from guild.address import checked
+from guild.address import all_checked
 from guild.errors import GuildError
 from guild.member import Member
 from guild.store import transaction
 
-_FIELDS = ("name", "email", "joined", "left_on", "note")
+_FIELDS = ("name", "joined", "left_on", "note")
 
 
 class Members:
@@ -17,13 +18,24 @@ class Members:
     def __init__(self, connection: sqlite3.Connection) -> None:
         self.connection = connection
 
-    def add(self, name: str, email: str = "", joined: str = "", note: str = "") -> Member:
+    def add(
+        self,
+        name: str,
+        emails: Iterable[str] = (),
+        joined: str = "",
+        note: str = "",
+        left_on: str = "",
+    ) -> Member:
         """Add a member."""
-        values = (_name(name), checked(email), _day(joined), note)
-        cursor = self.connection.execute(
-            "INSERT INTO members (name, email, joined, note) VALUES (?, ?, ?, ?)", values
-        )
-        return self.get(int(cursor.lastrowid or 0))
+        addresses = all_checked(emails)
+        values = (normal_name(name), _day(joined), note, _day(left_on))
+        with transaction(self.connection):
+            cursor = self.connection.execute(
+                "INSERT INTO members (name, joined, note, left_on) VALUES (?, ?, ?, ?)", values
+            )
+            number = int(cursor.lastrowid or 0)
+            self._write_emails(number, addresses)
+        return self.get(number)
 
     def get(self, number: int) -> Member:
         """Return the member of a number.
@@ -34,12 +46,19 @@ class Members:
         row = self.connection.execute("SELECT * FROM members WHERE number = ?", (number,)).fetchone()
         if row is None:
             raise GuildError(f"no member {number}")
-        return Member.of(row)
+        found = self.connection.execute(
+            "SELECT address FROM addresses WHERE member = ? ORDER BY position", (number,)
+        )
+        return Member.of(row, tuple(address for (address,) in found))
 
     def all(self) -> list[Member]:
         """Return all members by number, those who have left as well."""
+        emails: dict[int, list[str]] = {}
+        query = "SELECT member, address FROM addresses ORDER BY member, position"
+        for number, address in self.connection.execute(query):
+            emails.setdefault(number, []).append(address)
         rows = self.connection.execute("SELECT * FROM members ORDER BY number")
-        return [Member.of(row) for row in rows]
+        return [Member.of(row, tuple(emails.get(row["number"], ()))) for row in rows]
 
     def find(self, text: str) -> list[Member]:
         """Return the members whose name or address has a text, whatever its capitals."""
@@ -47,14 +66,16 @@ class Members:
         return [
             member
             for member in self.all()
-            if wanted in member.name.casefold() or wanted in member.email.casefold()
+            if any(wanted in each.casefold() for each in (member.name, *member.emails))
         ]
 
-    def with_email(self, email: str) -> list[Member]:
-        """Return the members with an address, whatever its capitals."""
-        return [member for member in self.all() if member.email.casefold() == email.casefold()]
+    def with_email(self, *emails: str) -> list[Member]:
+        """Return the members with one of some addresses, whatever their capitals."""
+        return [member for member in self.all() if any(map(member.has, emails))]
 
-    def update(self, number: int, **fields: str) -> Member:
+    def update(
+        self, number: int, *, emails: Iterable[str] | None = None, **fields: str
+    ) -> Member:
         """Change fields of a member.
 
         Raises:
@@ -63,8 +84,10 @@ class Members:
         self.get(number)
         if unknown := set(fields) - set(_FIELDS):
             raise GuildError(f"no field {min(unknown)!r}")
-        checks = {"name": _name, "email": checked, "joined": _day, "left_on": _day}
+        checks = {"name": normal_name, "joined": _day, "left_on": _day}
         with transaction(self.connection):
+            if emails is not None:
+                self._write_emails(number, all_checked(emails))
             for field, value in fields.items():
                 value = checks.get(field, str)(value)
                 self.connection.execute(
@@ -72,13 +95,20 @@ class Members:
                 )
         return self.get(number)
 
+    def _write_emails(self, number: int, emails: Iterable[str]) -> None:
+        self.connection.execute("DELETE FROM addresses WHERE member = ?", (number,))
+        self.connection.executemany(
+            "INSERT INTO addresses VALUES (?, ?, ?)",
+            [(number, position, address) for position, address in enumerate(emails)],
+        )
+
     def remove(self, number: int) -> None:
         """Delete a member; people who leave are not deleted."""
         self.get(number)
         self.connection.execute("DELETE FROM members WHERE number = ?", (number,))
 
 
-def _name(text: str) -> str:
+def normal_name(text: str) -> str:
     if not text.strip():
         raise GuildError("a member needs a name")
     return " ".join(text.split())
diff --git a/guild/schema.py b/guild/schema.py
index 680caf6..5fa2ec3 100644
--- a/guild/schema.py
+++ b/guild/schema.py
@@ -1,26 +1,56 @@
 """The tables of a file, and how older files become newer ones."""
 
 import sqlite3
+from collections.abc import Callable
 
+from guild.address import split
 from guild.errors import GuildError
 
-_FIRST = """
-CREATE TABLE members (
-    number INTEGER PRIMARY KEY AUTOINCREMENT,
-    name TEXT NOT NULL,
-    email TEXT NOT NULL DEFAULT '',
-    joined TEXT NOT NULL DEFAULT ''
-);
-"""
-_LEAVING = """
-ALTER TABLE members ADD COLUMN left_on TEXT NOT NULL DEFAULT '';
-CREATE INDEX members_by_name ON members (name);
-"""
-_NOTES = """
-ALTER TABLE members ADD COLUMN note TEXT NOT NULL DEFAULT '';
-CREATE INDEX members_by_email ON members (email);
-"""
-MIGRATIONS = (_FIRST, _LEAVING, _NOTES)
+
+def _first(connection: sqlite3.Connection) -> None:
+    connection.execute("""
+        CREATE TABLE members (
+            number INTEGER PRIMARY KEY AUTOINCREMENT,
+            name TEXT NOT NULL,
+            email TEXT NOT NULL DEFAULT '',
+            joined TEXT NOT NULL DEFAULT ''
+        )
+    """)
+
+
+def _leaving(connection: sqlite3.Connection) -> None:
+    connection.execute("ALTER TABLE members ADD COLUMN left_on TEXT NOT NULL DEFAULT ''")
+    connection.execute("CREATE INDEX members_by_name ON members (name)")
+
+
+def _notes(connection: sqlite3.Connection) -> None:
+    connection.execute("ALTER TABLE members ADD COLUMN note TEXT NOT NULL DEFAULT ''")
+    connection.execute("CREATE INDEX members_by_email ON members (email)")
+
+
+def _addresses(connection: sqlite3.Connection) -> None:
+    connection.execute("""
+        CREATE TABLE addresses (
+            member INTEGER NOT NULL REFERENCES members (number) ON DELETE CASCADE,
+            position INTEGER NOT NULL,
+            address TEXT NOT NULL,
+            PRIMARY KEY (member, position)
+        )
+    """)
+    for number, email, note in connection.execute("SELECT number, email, note FROM members").fetchall():
+        found, others = split(email)
+        for position, address in enumerate(found):
+            connection.execute("INSERT INTO addresses VALUES (?, ?, ?)", (number, position, address))
+        if others:
+            lines = [*([note] if note else []), f"e-mail: {others}"]
+            connection.execute(
+                "UPDATE members SET note = ? WHERE number = ?", ("\n".join(lines), number)
+            )
+    connection.execute("DROP INDEX members_by_email")
+    connection.execute("ALTER TABLE members DROP COLUMN email")
+
+
+MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _leaving, _notes, _addresses)
 VERSION = len(MIGRATIONS)
 
 
@@ -29,14 +59,23 @@ def version_of(connection: sqlite3.Connection) -> int:
 
 
 def migrate(connection: sqlite3.Connection) -> None:
-    """Bring a file to the version of this program.
+    """Bring a file to the version of this program, in one transaction.
 
     Raises:
         GuildError: The file is newer than the program.
     """
-    version = version_of(connection)
-    if version > VERSION:
-        raise GuildError(f"the file has version {version}; this program knows {VERSION}")
-    for number in range(version, VERSION):
-        connection.executescript(MIGRATIONS[number])
-        connection.execute(f"PRAGMA user_version = {number + 1}")
+    if version_of(connection) == VERSION:
+        return
+    try:
+        connection.execute("BEGIN IMMEDIATE")
+        # Another process may have been faster.
+        version = version_of(connection)
+        if version > VERSION:
+            raise GuildError(f"the file has version {version}; this program knows {VERSION}")
+        for step in MIGRATIONS[version:]:
+            step(connection)
+        connection.execute(f"PRAGMA user_version = {VERSION}")
+        connection.commit()
+    except BaseException:
+        connection.rollback()
+        raise
diff --git a/guild/stats.py b/guild/stats.py
index fa6eb87..7345561 100644
--- a/guild/stats.py
+++ b/guild/stats.py
@@ -10,5 +10,5 @@ def stats(members: Members) -> dict[str, int]:
     return {
         "members": len(active),
         "left": len(everybody) - len(active),
-        "without address": sum(not member.email for member in active),
+        "without address": sum(not member.emails for member in active),
     }
diff --git a/guild/store.py b/guild/store.py
index 4168fae..9ee3ad2 100644
--- a/guild/store.py
+++ b/guild/store.py
@@ -27,7 +27,10 @@ def open_store(path: Path | str) -> sqlite3.Connection:
 
 @contextmanager
 def transaction(connection: sqlite3.Connection) -> Iterator[None]:
-    """Do all of the block or nothing."""
+    """Do all of the block or nothing; one within another is a part of it."""
+    if connection.in_transaction:
+        yield
+        return
     connection.execute("BEGIN IMMEDIATE")
     try:
         yield
PATCH
