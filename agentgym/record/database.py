"""The file `run.db`: its format version and its single writer; failures become RecordErrors.

SQLite runs in WAL mode with ``synchronous=NORMAL``: a commit is one append to the log without an
fsync. A commit survives the death of the process, but perhaps not a power cut; readers never wait
for the writer. A separate file for the newest steps was measured and dropped: see `docs/record.md`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agentgym.errors import RecordError
from agentgym.record.bounds import DEFENCES, QueryBounds, Spent, schema_entry, schema_made_by
from agentgym.record.failures import Reported
from agentgym.record.folder import RunFolder
from agentgym.record.migrations import FORMAT, FORMATS, JOURNAL, copied, migrate, schema_of

LOCK: Final = "run.lock"
"""The file whose lock the writer of a run holds."""

LOG_BYTES = 4 << 20
"""Size in bytes at which the end of a transaction moves the log into the database file."""

_WRITER_CACHE_KB = 2048

Values = Sequence[object]

_BESIDE = ("run.db-wal", "run.db-shm", "run.db-journal")
_PART = ("run.db.part", "run.db.part-wal", "run.db.part-shm", "run.db.part-journal")


class Database:
    """A connection to a run's database; the writing connection holds the run's lock.

    Any thread may use it; one statement, or one transaction, runs at a time.

    Args:
        folder: The run folder.
        readonly: False to write, which takes the lock.

    Attributes:
        path: The database file.
        settings: The run's settings as JSON.
    """

    def __init__(self, folder: Path, *, readonly: bool) -> None:
        self.path = folder / "run.db"
        self._turn, self._reported = threading.RLock(), Reported(self.path)
        self._log = self.path.with_name("run.db-wal")
        _admit(folder, to_write=not readonly)
        with contextlib.ExitStack() as undo:
            self._lock = None if readonly else undo.enter_context(writer_lock(folder))
            self._connection = undo.enter_context(contextlib.closing(self._connect(readonly)))
            self._bound()
            with self._reported:
                self._connection.executescript(DEFENCES)
            meta = self._read_meta()
            if meta["format"] != FORMAT:
                if readonly:
                    self._copy(undo)
                with self._reported:
                    migrate(self._connection, meta["format"], folder)
                    if readonly:
                        self._connection.execute("PRAGMA query_only = ON")
                meta = self._read_meta()
            self.settings: str = meta["settings"]
            if not readonly:
                self._prepare()
            self._held = undo.pop_all()

    def _copy(self, undo: contextlib.ExitStack) -> None:
        """Replace the connection with one to a copy in memory, which can be migrated."""
        with self._reported:
            self._connection = copied(self._connection, self.path)
            undo.enter_context(contextlib.closing(self._connection))
            self._bound()
            self._connection.executescript(DEFENCES)

    def _bound(self) -> None:
        self._bounds = self._reported.bounds = QueryBounds(self._connection, self.path)

    def _connect(self, readonly: bool) -> sqlite3.Connection:
        place = quote(os.fsencode(self.path.absolute()))  # which may be no UTF-8
        address = f"file:{place}?mode={'ro' if readonly else 'rw'}"
        if readonly and not os.access(self.path.parent, os.W_OK) and not self._log.exists():
            # A reader of a WAL database creates a file beside it; here it could not, and need not.
            address += "&immutable=1"
        with self._reported:
            connection = sqlite3.connect(
                address, uri=True, isolation_level=None, timeout=30, check_same_thread=False
            )
        connection.row_factory = sqlite3.Row
        return connection

    def _read_meta(self) -> dict[str, str]:
        rows = self.rows("SELECT type, name, sql FROM sqlite_master")
        found = set(map(schema_entry, rows))
        readable = {format: schema_made_by(schema_of(format)) for format in FORMATS}
        if not any(name == "meta" for _, name, _ in found & readable[FORMAT]):
            raise RecordError(f"{self.path} is a SQLite database but holds no agentgym run")
        meta = {row["key"]: row["value"] for row in self.rows("SELECT key, value FROM meta")}
        version = meta.get("format", "(none)")
        if version not in readable:
            raise RecordError(
                f"{self.path} has format {str(version)[:40]!r} and this agentgym reads "
                f"{' and '.join(map(repr, FORMATS))}; open it with the version of agentgym that "
                "wrote it, or a later one"
            )
        if foreign := sorted(found - readable[version]):
            # A view, a trigger or another table could change what queries do.
            kind, name, _ = foreign[0]
            raise RecordError(
                f"{self.path} is not the record of a run: expected the tables that agentgym makes "
                f"and nothing else, found {kind} {name!r}"
            )
        if "settings" not in meta:
            raise RecordError(f"{self.path} is damaged: it has no settings")
        return meta

    def _prepare(self) -> None:
        self.execute("PRAGMA journal_mode = WAL")
        self.execute("PRAGMA synchronous = NORMAL")
        self.execute("PRAGMA foreign_keys = ON")
        # It appends, and reads hardly anything again.
        self.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KB}")
        self.execute("PRAGMA wal_autocheckpoint = 0")
        # The next write after a fold shortens the log; else each transaction would fold it again.
        self.execute("PRAGMA journal_size_limit = 0")
        # A migrated run has the steps of this file in its table.
        with contextlib.suppress(OSError):
            RunFolder(self.path.parent).remove(JOURNAL)

    def execute(self, statement: str, values: Values = ()) -> int:
        """Run and commit one statement; return the id of the inserted row."""
        with self._turn, self._reported:
            self._bounds.begin()
            return self._connection.execute(statement, values).lastrowid or 0

    def execute_many(self, statement: str, rows: Iterable[Values]) -> None:
        """Run one statement for every row of values."""
        with self._turn, self._reported:
            self._bounds.begin()
            self._connection.executemany(statement, rows)

    def rows(
        self, query: str, values: Values = (), spent: Spent | None = None
    ) -> list[sqlite3.Row]:
        """Return all rows of a query.

        Args:
            query: The query.
            values: Values of its parameters.
            spent: What the queries that belong to it have spent; the bounds hold for all of them.
        """
        with self._turn, self._reported:
            self._bounds.begin(spent)
            return self._bounds.collect(self._connection.execute(query, values))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the statements inside together, or not at all; an inner one is a part of it."""
        with self._turn:
            if self._connection.in_transaction:
                yield
                return
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back if the disk was full.
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise
            self._fold_log()

    def _fold_log(self) -> None:
        """Move a long log into the database file: two fsyncs, so not after single steps."""
        if self._log.stat().st_size >= LOG_BYTES:
            self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the connection and release the lock."""
        self._held.close()


def _admit(folder: Path, *, to_write: bool) -> None:
    """Check the files that SQLite will open by name, before it opens them.

    Raises:
        RecordError: The database is missing, or a file is not a regular file of this folder.
    """
    files = RunFolder(folder)
    try:
        found = [files.find(name, to_write=to_write) for name in ("run.db", *_BESIDE)]
    except OSError as error:
        raise RecordError(f"{folder} cannot be read: {error.strerror}") from error
    if found[0] is None:
        raise RecordError(f"{folder} is not a run folder: it has no run.db")
    if found[-1] is not None:
        # SQLite would roll it back, and such a journal can name any file to remove afterwards.
        raise RecordError(
            f"{folder / 'run.db-journal'} belongs to no run: agentgym writes none; the record was "
            "changed by another program, so get it again from where it was made"
        )


PLAN_COLUMNS = ("task", "seed", "trial", "agent", "episode_group", "metadata")


def create_database(folder: Path, settings: str, plans: Iterable[Values]) -> None:
    """Create a new run; if the process dies meanwhile, there is no run rather than half of one.

    Args:
        folder: The run folder; created if it is absent.
        settings: The settings as JSON.
        plans: The `PLAN_COLUMNS` of each episode.

    Raises:
        RecordError: The folder holds a run already or cannot be written.
    """
    files = RunFolder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with writer_lock(folder):
            if files.find("run.db") is not None:
                raise RecordError(
                    f"{folder} already holds a run; resume it or choose another folder"
                )
            part = folder / "run.db.part"
            # SQLite treats files beside a database as its parts, and a new run has no part yet.
            for leftover in (JOURNAL, *_BESIDE, *_PART):
                files.remove(leftover)
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                connection.executescript(schema_of(FORMAT))
                meta = [("format", FORMAT), ("settings", settings)]
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)
                connection.executemany(
                    f"INSERT INTO episodes ({', '.join(PLAN_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?)",
                    plans,
                )
                connection.execute("COMMIT")
                # From the start, so that no writer ever creates a `run.db-journal`.
                connection.execute("PRAGMA journal_mode = WAL")
            part.rename(folder / "run.db")
    except (OSError, sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise RecordError(f"{folder}: a run cannot be created here: {error}") from error


@contextlib.contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the lock for writing a run; the kernel releases it when the process dies.

    Raises:
        RecordError: Another process holds it, or the lock file cannot be written.
    """
    path = folder / LOCK
    try:
        file = RunFolder(folder).open_to_write(LOCK)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(file, 32, 0).decode("ascii", "replace") or "another process"
            raise RecordError(
                f"{folder} is being written by process {holder}; wait for it to end, or end it"
            ) from error
        if not _leads_to(folder, file):
            # Its holder has removed it since it was opened, and the next one locks a new file.
            raise RecordError(f"{path} was removed by another process; try again")
        # The lock holds without the number of its holder, which a full disk does not take.
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def _leads_to(folder: Path, file: int) -> bool:
    """Return whether the lock file of a folder is the one that is open."""
    seen, opened = RunFolder(folder).find(LOCK), os.fstat(file)
    return seen is not None and (seen.st_dev, seen.st_ino) == (opened.st_dev, opened.st_ino)
