#!/bin/bash
set -euo pipefail
cd /srv/guild
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## 2.4.0 (2026-03-20)
+- E-mail addresses in a list, `guild email`, `mailing --all` (#64).
+- Files have version 4.
+
 ## 2.3.0 (2026-02-18)
 - `duplicates` and `merge` (#60).
 
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -25,6 +25,10 @@ ada@example.org
 | `merge NUMBER OTHER` | the other one becomes part of the first and is gone |
 | `stats` | numbers |
 
+Members have any number of e-mail addresses; the first is the preferred one. `add` takes `--email` several times,
+`email NUMBER add|remove|prefer ADDRESS` changes the list, and `mailing --all` goes to all addresses. In CSV files they are
+separated by `;`.
+
 Errors are one line on stderr and exit code 1.
 
 Files have a version (`PRAGMA user_version`). Older ones are migrated when they are opened; newer ones are refused.
diff --git a/guild/address.py b/guild/address.py
--- a/guild/address.py
+++ b/guild/address.py
@@ -1,6 +1,7 @@
 """E-mail addresses."""
 
 import re
+from collections.abc import Iterable
 
 from guild.errors import GuildError
 
@@ -21,3 +22,22 @@ def checked(text: str) -> str:
     if text and not is_address(text):
         raise GuildError(f"no e-mail address: {text!r}")
     return text
+
+
+def checked_all(texts: Iterable[str]) -> tuple[str, ...]:
+    """Return addresses in their order, without empty ones and those that differ in capitals only.
+
+    Raises:
+        GuildError: One is no address.
+    """
+    found: dict[str, str] = {}
+    for text in texts:
+        if address := checked(text):
+            found.setdefault(address.casefold(), address)
+    return tuple(found.values())
+
+
+def split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
+    """Return the addresses in a free text, and what is none."""
+    parts = [part for part in re.split(r"[,;\s]+", text) if part]
+    return checked_all(filter(is_address, parts)), tuple(part for part in parts if not is_address(part))
diff --git a/guild/cli.py b/guild/cli.py
--- a/guild/cli.py
+++ b/guild/cli.py
@@ -29,16 +29,37 @@ def main(arguments: Sequence[str]) -> int:
 
 
 def _add(members: Members, options: argparse.Namespace) -> None:
-    print(members.add(options.name, options.email, options.joined).number)
+    print(members.add(options.name, emails=options.email, joined=options.joined).number)
 
 
 def _show(members: Members, options: argparse.Namespace) -> None:
     member = members.get(options.number)
-    for field in ("number", "name", "email", "joined", "left_on", "note"):
-        if value := getattr(member, field):
+    shown = [("number", member.number), ("name", member.name)]
+    shown += [("email", address) for address in member.emails]
+    shown += [(field, getattr(member, field)) for field in ("joined", "left_on", "note")]
+    for field, value in shown:
+        if value:
             print(f"{field:<8} {value}")
 
 
+def _email(members: Members, options: argparse.Namespace) -> None:
+    member, address = members.get(options.number), options.address.strip()
+    others = [each for each in member.emails if each.casefold() != address.casefold()]
+    if options.what == "add":
+        if member.has(address):
+            raise GuildError(f"member {member.number} has {address} already")
+        if not address:
+            raise GuildError("no e-mail address: ''")
+        emails = [*member.emails, address]
+    elif not member.has(address):
+        raise GuildError(f"member {member.number} has no address {address}")
+    elif options.what == "remove":
+        emails = others
+    else:
+        emails = [each for each in member.emails if each not in others] + others
+    members.update(member.number, emails=emails)
+
+
 def _list(members: Members, options: argparse.Namespace) -> None:
     for member in members.find(options.text):
         left = f" (left {member.left_on})" if member.left_on else ""
@@ -67,7 +88,7 @@ def _export(members: Members, options: argparse.Namespace) -> None:
 
 
 def _mailing(members: Members, options: argparse.Namespace) -> None:
-    for address in recipients(members):
+    for address in recipients(members, options.all):
         print(address)
 
 
@@ -100,14 +121,17 @@ def _parser() -> argparse.ArgumentParser:
         sub.set_defaults(run=run)
         return sub
 
-    command("add", _add, "name", email="", joined="")
+    command("add", _add, "name", joined="").add_argument("--email", action="append", default=[])
     command("show", _show, "number")
     command("list", _list).add_argument("text", nargs="?", default="")
     command("leave", _leave, "number", "day")
     command("note", _note, "number", "text")
     command("import", _import, "csv")
     command("export", _export).add_argument("--json", action="store_true")
-    command("mailing", _mailing)
+    command("mailing", _mailing).add_argument("--all", action="store_true")
+    email = command("email", _email, "number")
+    email.add_argument("what", choices=("add", "remove", "prefer"))
+    email.add_argument("address")
     command("duplicates", _duplicates)
     command("merge", _merge, "number", "other")
     command("stats", _stats)
diff --git a/guild/duplicates.py b/guild/duplicates.py
--- a/guild/duplicates.py
+++ b/guild/duplicates.py
@@ -3,15 +3,32 @@
 from guild.errors import GuildError
 from guild.member import Member
 from guild.members import Members
+from guild.store import transaction
 
 
 def duplicates(members: Members) -> list[list[Member]]:
-    """Return groups of members that share an address, by their first numbers."""
-    groups: dict[str, list[Member]] = {}
-    for member in members.all():
-        if member.email:
-            groups.setdefault(member.email.casefold(), []).append(member)
-    return [group for group in groups.values() if len(group) > 1]
+    """Return groups of members that share an address, also through others, by their first numbers."""
+    everybody = members.all()
+    by_address: dict[str, list[int]] = {}
+    for at, member in enumerate(everybody):
+        for address in member.emails:
+            by_address.setdefault(address.casefold(), []).append(at)
+    seen: set[int] = set()
+    groups = []
+    for at in range(len(everybody)):
+        if at in seen:
+            continue
+        group, todo = set(), [at]
+        while todo:
+            one = todo.pop()
+            if one not in group:
+                group.add(one)
+                for address in everybody[one].emails:
+                    todo += by_address[address.casefold()]
+        seen |= group
+        if len(group) > 1:
+            groups.append([everybody[one] for one in sorted(group)])
+    return groups
 
 
 def merge(members: Members, number: int, other: int) -> Member:
@@ -20,12 +37,12 @@ def merge(members: Members, number: int, other: int) -> Member:
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
+    days = [day for day in (kept.joined, gone.joined) if day]
+    with transaction(members.connection):
+        members.remove(other)
+        return members.update(
+            number,
+            emails=[*kept.emails, *gone.emails],
+            joined=min(days, default=""),
+            note="\n".join(notes),
+        )
diff --git a/guild/exporter.py b/guild/exporter.py
--- a/guild/exporter.py
+++ b/guild/exporter.py
@@ -15,10 +15,10 @@ def export_csv(members: Members, file: TextIO) -> None:
     writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore", lineterminator="\n")
     writer.writeheader()
     for member in members.all():
-        writer.writerow(asdict(member))
+        writer.writerow(asdict(member) | {"email": "; ".join(member.emails)})
 
 
 def export_json(members: Members, file: TextIO) -> None:
     """Write all members as a JSON list."""
-    json.dump([asdict(member) for member in members.all()], file, indent=1, ensure_ascii=False)
+    json.dump([asdict(member) | {"email": member.email} for member in members.all()], file, indent=1, ensure_ascii=False)
     file.write("\n")
diff --git a/guild/importer.py b/guild/importer.py
--- a/guild/importer.py
+++ b/guild/importer.py
@@ -4,8 +4,11 @@ import csv
 from dataclasses import dataclass, field
 from typing import TextIO
 
+from guild.address import checked_all
 from guild.errors import GuildError
+from guild.member import Member
 from guild.members import Members
+from guild.store import transaction
 
 
 @dataclass
@@ -29,25 +32,43 @@ def import_csv(members: Members, file: TextIO) -> Imported:
     done = Imported()
     for row in rows:
         try:
-            _import_row(members, row, done)
+            with transaction(members.connection):
+                known = _import_row(members, row)
+            if known:
+                done.updated += 1
+            else:
+                done.added += 1
         except GuildError as error:
             done.problems.append(f"line {rows.line_num}: {error}")
     return done
 
 
-def _import_row(members: Members, row: dict[str, str | None], done: Imported) -> None:
-    fields = {name: row.get(name) or "" for name in ("name", "email", "joined", "left_on", "note")}
-    email = fields["email"].strip()
-    known = members.with_email(email) if email else []
-    if len(known) > 1:
-        raise GuildError(f"{len(known)} members have {email}")
-    if known:
-        given = {name: value for name, value in fields.items() if value and name != "email"}
-        members.update(known[0].number, **given)
-        done.updated += 1
-        return
+def _import_row(members: Members, row: dict[str, str | None]) -> bool:
+    """Add or update a member; return whether it was known."""
+    fields = {name: row.get(name) or "" for name in ("name", "joined", "left_on", "note")}
+    emails = checked_all((row.get("email") or "").split(";"))
+    member = _owner(members, fields["name"], emails)
+    if member is not None:
+        given = {name: value for name, value in fields.items() if value}
+        members.update(member.number, emails=[*member.emails, *emails], **given)
+        return True
     left_on = fields.pop("left_on")
-    member = members.add(**fields)
+    added = members.add(**fields, emails=emails)
     if left_on:
-        members.update(member.number, left_on=left_on)
-    done.added += 1
+        members.update(added.number, left_on=left_on)
+    return False
+
+
+def _owner(members: Members, name: str, emails: tuple[str, ...]) -> Member | None:
+    """Return the member whom a row belongs to; None for a new one.
+
+    Raises:
+        GuildError: It could be several.
+    """
+    known = [member for member in members.all() if any(map(member.has, emails))]
+    if len(known) < 2:
+        return known[0] if known else None
+    named = [member for member in known if member.name == " ".join(name.split())]
+    if len(named) != 1:
+        raise GuildError(f"{len(known)} members have {', '.join(emails)}")
+    return named[0]
diff --git a/guild/mailing.py b/guild/mailing.py
--- a/guild/mailing.py
+++ b/guild/mailing.py
@@ -3,10 +3,11 @@
 from guild.members import Members
 
 
-def recipients(members: Members) -> list[str]:
-    """Return the addresses of all active members by number; no address twice."""
+def recipients(members: Members, all_addresses: bool = False) -> list[str]:
+    """Return the preferred addresses of all active members by number, or all; no address twice."""
     found: dict[str, str] = {}
     for member in members.all():
-        if member.is_active and member.email:
-            found.setdefault(member.email.casefold(), member.email)
+        if member.is_active:
+            for address in member.emails if all_addresses else member.emails[:1]:
+                found.setdefault(address.casefold(), address)
     return list(found.values())
diff --git a/guild/member.py b/guild/member.py
--- a/guild/member.py
+++ b/guild/member.py
@@ -10,14 +10,24 @@ class Member:
 
     number: int
     name: str
-    email: str = ""
+    emails: tuple[str, ...] = ()
     joined: str = ""
     left_on: str = ""
     note: str = ""
 
     @classmethod
     def of(cls, row: sqlite3.Row) -> "Member":
-        return cls(**dict(row))
+        fields = dict(row)
+        return cls(**fields | {"emails": tuple(fields["emails"].splitlines())})
+
+    @property
+    def email(self) -> str:
+        """The preferred address; empty if there is none."""
+        return self.emails[0] if self.emails else ""
+
+    def has(self, address: str) -> bool:
+        """Return whether an address is one of the member's, whatever its capitals."""
+        return address.casefold() in map(str.casefold, self.emails)
 
     @property
     def is_active(self) -> bool:
diff --git a/guild/members.py b/guild/members.py
--- a/guild/members.py
+++ b/guild/members.py
@@ -1,14 +1,15 @@
 """All members of a file."""
 
 import sqlite3
+from collections.abc import Iterable
 from datetime import date
 
-from guild.address import checked
+from guild.address import checked_all
 from guild.errors import GuildError
 from guild.member import Member
 from guild.store import transaction
 
-_FIELDS = ("name", "email", "joined", "left_on", "note")
+_FIELDS = ("name", "joined", "left_on", "note")
 
 
 class Members:
@@ -17,13 +18,15 @@ class Members:
     def __init__(self, connection: sqlite3.Connection) -> None:
         self.connection = connection
 
-    def add(self, name: str, email: str = "", joined: str = "", note: str = "") -> Member:
+    def add(
+        self, name: str, email: str = "", joined: str = "", note: str = "", emails: Iterable[str] = ()
+    ) -> Member:
         """Add a member."""
-        values = (_name(name), checked(email), _day(joined), note)
-        cursor = self.connection.execute(
-            "INSERT INTO members (name, email, joined, note) VALUES (?, ?, ?, ?)", values
-        )
-        return self.get(int(cursor.lastrowid or 0))
+        values, addresses = (_name(name), _day(joined), note), checked_all([email, *emails])
+        with transaction(self.connection):
+            cursor = self.connection.execute("INSERT INTO members (name, joined, note, emails) VALUES (?, ?, ?, ?)", (*values, "\n".join(addresses)))
+            number = int(cursor.lastrowid or 0)
+        return self.get(number)
 
     def get(self, number: int) -> Member:
         """Return the member of a number.
@@ -47,24 +50,29 @@ class Members:
         return [
             member
             for member in self.all()
-            if wanted in member.name.casefold() or wanted in member.email.casefold()
+            if wanted in member.name.casefold() or any(wanted in address.casefold() for address in member.emails)
         ]
 
     def with_email(self, email: str) -> list[Member]:
         """Return the members with an address, whatever its capitals."""
-        return [member for member in self.all() if member.email.casefold() == email.casefold()]
+        return [member for member in self.all() if member.has(email)]
 
-    def update(self, number: int, **fields: str) -> Member:
+    def update(self, number: int, *, emails: Iterable[str] | None = None, **fields: str) -> Member:
         """Change fields of a member.
 
         Raises:
             GuildError: There is no such member, or a value is refused.
         """
-        self.get(number)
+        member = self.get(number)
+        if "email" in fields:
+            emails = [fields.pop("email"), *member.emails[1:]] if emails is None else emails
+        addresses = None if emails is None else checked_all(emails)
         if unknown := set(fields) - set(_FIELDS):
             raise GuildError(f"no field {min(unknown)!r}")
-        checks = {"name": _name, "email": checked, "joined": _day, "left_on": _day}
+        checks = {"name": _name, "joined": _day, "left_on": _day}
         with transaction(self.connection):
+            if addresses is not None:
+                self.connection.execute("UPDATE members SET emails = ? WHERE number = ?", ("\n".join(addresses), number))
             for field, value in fields.items():
                 value = checks.get(field, str)(value)
                 self.connection.execute(
@@ -75,7 +83,8 @@ class Members:
     def remove(self, number: int) -> None:
         """Delete a member; people who leave are not deleted."""
         self.get(number)
-        self.connection.execute("DELETE FROM members WHERE number = ?", (number,))
+        with transaction(self.connection):
+            self.connection.execute("DELETE FROM members WHERE number = ?", (number,))
 
 
 def _name(text: str) -> str:
diff --git a/guild/schema.py b/guild/schema.py
--- a/guild/schema.py
+++ b/guild/schema.py
@@ -1,26 +1,50 @@
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
+        )""")
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
+def _emails(connection: sqlite3.Connection) -> None:
+    """Addresses are lines of one column; what is no address becomes a line of the note."""
+    connection.execute("ALTER TABLE members ADD COLUMN emails TEXT NOT NULL DEFAULT ''")
+    rows = connection.execute("SELECT number, email, note FROM members WHERE email <> ''").fetchall()
+    for number, text, note in rows:
+        addresses, others = split(text)
+        lines = [note] if note else []
+        if others:
+            lines.append("e-mail: " + " ".join(others))
+        connection.execute(
+            "UPDATE members SET emails = ?, note = ? WHERE number = ?",
+            ("\n".join(addresses), "\n".join(lines), number),
+        )
+    connection.execute("DROP INDEX members_by_email")
+    connection.execute("ALTER TABLE members DROP COLUMN email")
+
+
+MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _leaving, _notes, _emails)
 VERSION = len(MIGRATIONS)
 
 
@@ -29,7 +53,7 @@ def version_of(connection: sqlite3.Connection) -> int:
 
 
 def migrate(connection: sqlite3.Connection) -> None:
-    """Bring a file to the version of this program.
+    """Bring a file to the version of this program, in one transaction.
 
     Raises:
         GuildError: The file is newer than the program.
@@ -37,6 +61,14 @@ def migrate(connection: sqlite3.Connection) -> None:
     version = version_of(connection)
     if version > VERSION:
         raise GuildError(f"the file has version {version}; this program knows {VERSION}")
-    for number in range(version, VERSION):
-        connection.executescript(MIGRATIONS[number])
-        connection.execute(f"PRAGMA user_version = {number + 1}")
+    if version == VERSION:
+        return
+    connection.execute("BEGIN IMMEDIATE")
+    try:
+        for number in range(version_of(connection), VERSION):
+            MIGRATIONS[number](connection)
+        connection.execute(f"PRAGMA user_version = {VERSION}")
+    except BaseException:
+        connection.rollback()
+        raise
+    connection.commit()
diff --git a/guild/stats.py b/guild/stats.py
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
--- a/guild/store.py
+++ b/guild/store.py
@@ -27,7 +27,10 @@ def open_store(path: Path | str) -> sqlite3.Connection:
 
 @contextmanager
 def transaction(connection: sqlite3.Connection) -> Iterator[None]:
-    """Do all of the block or nothing."""
+    """Do all of the block or nothing; a block within another one belongs to it."""
+    if connection.in_transaction:
+        yield
+        return
     connection.execute("BEGIN IMMEDIATE")
     try:
         yield
PATCH
