"""Contacts: the people of the company and outside it, their addresses, and groups of them.

Colleagues come from the staff directory; only their notes can be changed here. Deleted or merged
people stay in the table, because other services refer to people by number.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from agentgym.services import Service, ServiceError, reads, writes
from agentgym.services.arguments import Email, Limit, Offset, search_words

from .people import DOMAIN
from .seeding import fill
from .shapes import Entry, FullGroup, Group, Kind, Name, People, Text, Zone

_PERSON = (
    "p.id, p.name, p.email, p.phone, p.company, p.department, p.role, p.office, p.timezone,"
    " p.kind, p.status, p.handle"
)
_THERE = "p.status IN ('active', 'left')"


class Contacts(Service):
    """The address book."""

    after = ("tickets",)
    seen = {
        "contacts_person": (
            "name",
            "email",
            "phone",
            "company",
            "role",
            "timezone",
            "note",
            "status",
        ),
        "contacts_alias": ("email", "person_id"),
        "contacts_group": ("name", "note"),
        "contacts_member": ("group_id", "person_id"),
    }

    def fill(self, rng: random.Random) -> None:
        """Create the company, its customers and its suppliers."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def whoami(self) -> Entry:
        """Show the colleague whose mail, calendar, chat and address book these are."""
        return self._whole(1)

    @reads
    def search(
        self,
        text: str = "",
        kind: Kind | None = None,
        department: str | None = None,
        company: str | None = None,
        status: Literal["active", "left"] | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> People:
        """Find people; all conditions must hold. Sorted by name.

        Args:
            text: Words that name, an address, company, role or handle contain, in any case.
            kind: Only colleagues, or only people outside.
            department: Only colleagues of this department.
            company: Only people of this company, exactly as it is written.
            status: Only those who are there (active), or who have left.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = [_THERE], list[Any]()
        for word in search_words(text):
            columns = "p.name || ' ' || p.email || ' ' || p.company || ' ' || p.role"
            where.append(
                f"(instr(lower({columns} || ' ' || coalesce(p.handle, '')), lower(?)) OR EXISTS"
                " (SELECT 1 FROM contacts_alias a WHERE a.person_id = p.id AND"
                " instr(lower(a.email), lower(?))))"
            )
            values += [word, word]
        wanted = {"kind": kind, "department": department, "company": company, "status": status}
        for column, value in wanted.items():
            if value is not None:
                where.append(f"p.{column} = ?")
                values.append(value)
        condition = " AND ".join(where)
        total = self.db.value(f"SELECT count(*) FROM contacts_person p WHERE {condition}", *values)
        found = f"SELECT {_PERSON} FROM contacts_person p WHERE {condition} ORDER BY p.name, p.id"
        people = self.db.all(f"{found} LIMIT ? OFFSET ?", *values, limit, offset)
        return {"total": total, "people": people}

    @reads
    def get(self, person: int) -> Entry:
        """Show a person with other addresses, groups and note.

        Args:
            person: Number of the person.
        """
        self._person(person)
        return self._whole(person)

    @reads
    def find_address(self, email: Email) -> Entry:
        """Say whose an e-mail address is; old ones count.

        Args:
            email: The address.
        """
        owner = self._owner(email)
        if owner is None:
            raise ServiceError("not_found", f"nobody has the address {email!r}", "email")
        return self._whole(owner)

    @reads
    def list_groups(self, text: str = "") -> list[Group]:
        """List groups, each of which has an address that reaches its members.

        Args:
            text: What name or address contain, in any case.
        """
        return [
            self._group(number)
            for number in self.db.column(
                "SELECT id FROM contacts_group WHERE instr(lower(name), lower(?1))"
                " OR instr(lower(email), lower(?1)) ORDER BY name",
                text,
            )
        ]

    @reads
    def get_group(self, group: int) -> FullGroup:
        """Show a group with its members.

        Args:
            group: Number of the group.
        """
        return self._full_group(group)

    # --- changing --------------------------------------------------------------------------

    @writes
    def create(
        self,
        name: Name,
        email: Email,
        company: Name,
        role: Text = "",
        phone: Text = "",
        timezone: Zone = "UTC",
        note: Text = "",
    ) -> Entry:
        """Enter somebody outside the company.

        Args:
            name: Given name and family name.
            email: Main e-mail address.
            company: Where they work.
            role: What they do there.
            phone: Phone number.
            timezone: Where they are.
            note: Anything else.
        """
        email = email.lower()
        self._unused(email)
        number = self.db.insert(
            "contacts_person",
            name=name,
            email=email,
            company=company,
            role=role,
            phone=phone,
            timezone=timezone,
            note=note,
            kind="outside",
            status="active",
            updated_at=self.now,
        )
        return self._whole(number)

    @writes
    def update(
        self,
        person: int,
        name: Name | None = None,
        email: Email | None = None,
        company: Name | None = None,
        role: Text | None = None,
        phone: Text | None = None,
        timezone: Zone | None = None,
        status: Literal["active", "left"] | None = None,
        note: Text | None = None,
    ) -> Entry:
        """Change an entry. Of colleagues only the note: the rest is the staff directory's.

        A new e-mail address leaves the old one as another address of that person.

        Args:
            person: Number of the person.
            name: Given name and family name.
            email: Main e-mail address.
            company: Where they work.
            role: What they do there.
            phone: Phone number.
            timezone: Where they are.
            status: Whether they are there or have left.
            note: Anything else; replaces what is there.
        """
        row = self._person(person)
        email = email and email.lower()
        wanted = {"name": name, "email": email, "company": company, "role": role, "phone": phone}
        wanted |= {"timezone": timezone, "status": status, "note": note}
        changes: dict[str, Any] = {k: v for k, v in wanted.items() if v is not None and v != row[k]}
        fixed = sorted(changes.keys() - {"note"})
        if row["kind"] == "colleague" and fixed:
            raise ServiceError(
                "forbidden",
                f"{row['name']} is a colleague; {', '.join(fixed)} is for the staff directory",
                fixed[0],
            )
        if "email" in changes:
            own = self.db.value(
                "SELECT person_id FROM contacts_alias WHERE email = ?", changes["email"]
            )
            if own == person:
                self.db.execute("DELETE FROM contacts_alias WHERE email = ?", changes["email"])
            else:
                self._unused(changes["email"])
            self.db.insert("contacts_alias", email=row["email"], person_id=person)
        if changes:
            self._change(person, **changes)
        return self._whole(person)

    @writes
    def delete(self, person: int) -> bool:
        """Delete the entry of somebody outside, who also leaves all groups.

        Args:
            person: Number of the person.
        """
        self._outsider(person, "person")
        self.db.execute("DELETE FROM contacts_alias WHERE person_id = ?", person)
        self.db.execute("DELETE FROM contacts_member WHERE person_id = ?", person)
        self._change(person, status="deleted")
        return True

    @writes
    def merge(self, person: int, into: int) -> Entry:
        """Merge a duplicate into the entry that stays; this cannot be undone.

        Addresses and groups move over, and what the entry that stays does not know is filled in.

        Args:
            person: Number of the duplicate.
            into: Number of the entry that stays.
        """
        row, stays = self._outsider(person, "person"), self._outsider(into, "into")
        if person == into:
            raise ServiceError("invalid", "an entry cannot be merged into itself", "into")
        db = self.db
        db.execute("UPDATE contacts_alias SET person_id = ? WHERE person_id = ?", into, person)
        if row["email"] != stays["email"]:
            db.insert("contacts_alias", email=row["email"], person_id=into)
        db.execute(
            "INSERT OR IGNORE INTO contacts_member (group_id, person_id)"
            " SELECT group_id, ? FROM contacts_member WHERE person_id = ?",
            into,
            person,
        )
        db.execute("DELETE FROM contacts_member WHERE person_id = ?", person)
        notes = [note for note in (stays["note"], row["note"]) if note]
        filled = {k: stays[k] or row[k] for k in ("role", "phone", "customer_id")}
        self._change(into, note="\n".join(dict.fromkeys(notes)), **filled)
        self._change(person, status="merged", merged_into=into)
        return self._whole(into)

    @writes
    def create_group(self, name: Name, members: list[int], note: Text = "") -> FullGroup:
        """Make a group; its address is made from its name.

        Args:
            name: Name of the group.
            members: Numbers of people.
            note: What it is for.
        """
        letters = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
        local = "-".join(letters.split())[:60]
        if not local:
            raise ServiceError("invalid", "expected a name with letters a to z or digits", "name")
        email = f"{local}@{DOMAIN}"
        if self._owner(email) or self.db.value(
            "SELECT 1 FROM contacts_group WHERE email = ? OR name = ?", email, name
        ):
            raise ServiceError("conflict", f"name or address {email!r} is taken", "name")
        number = self.db.insert("contacts_group", name=name, email=email, note=note)
        self._add(number, members, "members")
        return self._full_group(number)

    @writes
    def change_group(
        self, group: int, add: list[int] | None = None, remove: list[int] | None = None
    ) -> FullGroup:
        """Add and remove members of a group that is not kept by the staff directory.

        Args:
            group: Number of the group.
            add: Numbers of people to add; who is in it already stays.
            remove: Numbers of people to remove; who is not in it is left out.
        """
        if self._group(group)["managed"]:
            raise ServiceError(
                "forbidden", "this group is kept by the staff directory; make one of your own"
            )
        self._add(group, add or [], "add")
        for person in remove or ():
            self.db.execute(
                "DELETE FROM contacts_member WHERE group_id = ? AND person_id = ?", group, person
            )
        return self._full_group(group)

    # --- rules -----------------------------------------------------------------------------

    def _person(self, number: int, field: str = "person") -> dict[str, Any]:
        row = self.db.one("SELECT * FROM contacts_person WHERE id = ?", number)
        if row is None or row["status"] == "deleted":
            raise ServiceError("not_found", f"no person {number}; search finds them", field)
        if row["status"] == "merged":
            raise ServiceError(
                "not_found", f"person {number} was merged into {row['merged_into']}", field
            )
        return row

    def _outsider(self, number: int, field: str) -> dict[str, Any]:
        row = self._person(number, field)
        if row["kind"] == "colleague":
            raise ServiceError(
                "forbidden", f"{row['name']} is a colleague, kept by the staff directory", field
            )
        return row

    def _owner(self, email: str) -> int | None:
        owner: int | None = self.db.value(
            "SELECT person_id FROM contacts_address WHERE lower(email) = lower(?)"
            " ORDER BY person_id",
            email,
        )
        return owner

    def _unused(self, email: str) -> None:
        owner = self._owner(email)
        if owner is not None:
            raise ServiceError("conflict", f"{email!r} is the address of person {owner}", "email")
        if self.db.value("SELECT 1 FROM contacts_group WHERE lower(email) = lower(?)", email):
            raise ServiceError("conflict", f"{email!r} is the address of a group", "email")

    def _change(self, number: int, **values: Any) -> None:
        sets = "".join(f"{column} = ?, " for column in values)
        self.db.execute(
            f"UPDATE contacts_person SET {sets}updated_at = ? WHERE id = ?",
            *values.values(),
            self.now,
            number,
        )

    def _add(self, group: int, people: list[int], field: str) -> None:
        for person in people:
            self._person(person, field)
            self.db.execute(
                "INSERT OR IGNORE INTO contacts_member (group_id, person_id) VALUES (?, ?)",
                group,
                person,
            )

    def _group(self, number: int) -> Group:
        row = self.db.one(
            "SELECT g.*, (SELECT count(*) FROM contacts_member m WHERE m.group_id = g.id) AS size"
            " FROM contacts_group g WHERE g.id = ?",
            number,
        )
        if row is None:
            raise ServiceError("not_found", f"no group {number}; see list_groups", "group")
        return {**row, "managed": bool(row["managed"])}

    def _full_group(self, number: int) -> FullGroup:
        members = self.db.all(
            f"SELECT {_PERSON} FROM contacts_person p JOIN contacts_member m ON m.person_id = p.id"
            " WHERE m.group_id = ? ORDER BY p.name, p.id",
            number,
        )
        return {**self._group(number), "members": members}

    def _whole(self, number: int) -> Entry:
        row = self.db.one(
            f"SELECT {_PERSON}, p.manager_id, p.customer_id, p.note, p.updated_at"
            " FROM contacts_person p WHERE p.id = ?",
            number,
        )
        assert row is not None
        aliases = self.db.column(
            "SELECT email FROM contacts_alias WHERE person_id = ? ORDER BY email", number
        )
        groups = self.db.column(
            "SELECT g.name FROM contacts_group g JOIN contacts_member m ON m.group_id = g.id"
            " WHERE m.person_id = ? ORDER BY g.name",
            number,
        )
        return {**row, "aliases": aliases, "groups": groups}
