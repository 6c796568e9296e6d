"""Opens files."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guild.errors import GuildError
from guild.schema import migrate


def open_store(path: Path | str) -> sqlite3.Connection:
    """Open a file, which is made or migrated if need be. Each statement is a transaction by itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise GuildError(f"{path}: {error}") from error
    except GuildError:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of the block or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
