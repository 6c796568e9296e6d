"""All members of a file."""

import sqlite3
from datetime import date

from guild.address import checked
from guild.errors import GuildError
from guild.member import Member
from guild.store import transaction

_FIELDS = ("name", "email", "joined", "left_on", "note")


class Members:
    """The members of an open file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def add(self, name: str, email: str = "", joined: str = "", note: str = "") -> Member:
        """Add a member."""
        values = (_name(name), checked(email), _day(joined), note)
        cursor = self.connection.execute(
            "INSERT INTO members (name, email, joined, note) VALUES (?, ?, ?, ?)", values
        )
        return self.get(int(cursor.lastrowid or 0))

    def get(self, number: int) -> Member:
        """Return the member of a number.

        Raises:
            GuildError: No member has the number.
        """
        row = self.connection.execute("SELECT * FROM members WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise GuildError(f"no member {number}")
        return Member.of(row)

    def all(self) -> list[Member]:
        """Return all members by number, those who have left as well."""
        rows = self.connection.execute("SELECT * FROM members ORDER BY number")
        return [Member.of(row) for row in rows]

    def find(self, text: str) -> list[Member]:
        """Return the members whose name or address has a text, whatever its capitals."""
        wanted = text.casefold()
        return [
            member
            for member in self.all()
            if wanted in member.name.casefold() or wanted in member.email.casefold()
        ]

    def with_email(self, email: str) -> list[Member]:
        """Return the members with an address, whatever its capitals."""
        return [member for member in self.all() if member.email.casefold() == email.casefold()]

    def update(self, number: int, **fields: str) -> Member:
        """Change fields of a member.

        Raises:
            GuildError: There is no such member, or a value is refused.
        """
        self.get(number)
        if unknown := set(fields) - set(_FIELDS):
            raise GuildError(f"no field {min(unknown)!r}")
        checks = {"name": _name, "email": checked, "joined": _day, "left_on": _day}
        with transaction(self.connection):
            for field, value in fields.items():
                value = checks.get(field, str)(value)
                self.connection.execute(
                    f"UPDATE members SET {field} = ? WHERE number = ?", (value, number)
                )
        return self.get(number)

    def remove(self, number: int) -> None:
        """Delete a member; people who leave are not deleted."""
        self.get(number)
        self.connection.execute("DELETE FROM members WHERE number = ?", (number,))


def _name(text: str) -> str:
    if not text.strip():
        raise GuildError("a member needs a name")
    return " ".join(text.split())


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise GuildError(f"no day: {text!r}") from None
