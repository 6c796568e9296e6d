"""Raises the failures of SQLite as RecordErrors."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

from agentgym.errors import DiskFullError, RecordError
from agentgym.record.bounds import QueryBounds


class Reported:
    """A context in which every failure of a database is raised as a RecordError.

    A full disk is a DiskFullError. The context is entered for every statement, so it is no
    generator.

    Args:
        path: The database file, for messages.

    Attributes:
        bounds: Bounds of the connection, None before it is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.bounds: QueryBounds | None = None

    def __enter__(self) -> None:
        """Do nothing: only the end matters."""

    def __exit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise the failure of the body as a RecordError, if it has one to report."""
        if error is None or isinstance(error, sqlite3.ProgrammingError):
            return
        if told := self._told(error):
            kind = DiskFullError if _is_full(error) else RecordError
            raise kind(f"{self._path}{told}") from error

    def _told(self, error: BaseException) -> str:
        """Return what a message says after the path; empty for any other error."""
        if isinstance(error, sqlite3.OperationalError):
            if self.bounds is not None and self.bounds.exceeded:
                return " is damaged: reading it takes more work than its size can need"
            return f": {error}; what was recorded before is kept"
        if isinstance(error, sqlite3.IntegrityError):
            return f": refused: {error}"
        if isinstance(error, sqlite3.DatabaseError):
            return f" is damaged or no run database: {error}"
        if isinstance(error, OverflowError | UnicodeEncodeError):
            return f" cannot hold a value: {error}"
        return ""


def _is_full(error: BaseException) -> bool:
    # On a full disk, the index of the log in shared memory fails to grow, too.
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode in (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_SHMSIZE,
    )
