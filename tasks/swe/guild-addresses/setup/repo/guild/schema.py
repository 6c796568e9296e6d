"""The tables of a file, and how older files become newer ones."""

import sqlite3

from guild.errors import GuildError

_FIRST = """
CREATE TABLE members (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    email TEXT NOT NULL DEFAULT '',
    joined TEXT NOT NULL DEFAULT ''
);
"""
_LEAVING = """
ALTER TABLE members ADD COLUMN left_on TEXT NOT NULL DEFAULT '';
CREATE INDEX members_by_name ON members (name);
"""
_NOTES = """
ALTER TABLE members ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE INDEX members_by_email ON members (email);
"""
MIGRATIONS = (_FIRST, _LEAVING, _NOTES)
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to the version of this program.

    Raises:
        GuildError: The file is newer than the program.
    """
    version = version_of(connection)
    if version > VERSION:
        raise GuildError(f"the file has version {version}; this program knows {VERSION}")
    for number in range(version, VERSION):
        connection.executescript(MIGRATIONS[number])
        connection.execute(f"PRAGMA user_version = {number + 1}")
