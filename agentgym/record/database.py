"""`run.db` as a file: its tables, its format version, its one writer; failures become RecordErrors.

SQLite in WAL mode with ``synchronous=NORMAL``: a commit is one append to the log without an
fsync. It outlives the process, not a power cut; readers never wait for the writer. Steps are
committed in groups: `run.journal` has those that the table `steps` does not have yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from agentgym.errors import RecordError
from agentgym.record.bounds import DEFENCES, QueryBounds, schema_entry, schema_made_by
from agentgym.record.folder import RunFolder
from agentgym.record.journal import COLUMNS, Journal, Value, read_journal

FORMAT = "agentgym.run/3"

LOG_BYTES = 4 << 20
"""How long the log grows before `Database.fold_log` moves it into the database file."""

JOURNAL_BYTES = 256 << 10
"""How long the journal grows: some hundred steps, which a reader reads in a few milliseconds."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL, seed INTEGER NOT NULL, trial INTEGER NOT NULL, agent TEXT NOT NULL,
    parent INTEGER REFERENCES episodes (id), parent_step INTEGER,
    state TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'running', 'done')),
    params TEXT, instruction TEXT, sandbox TEXT, first TEXT, verdict TEXT, error TEXT, log TEXT,
    audit TEXT, length INTEGER, -- the number of steps when it was judged
    reset_s REAL NOT NULL DEFAULT 0, duration_s REAL NOT NULL DEFAULT 0
);
CREATE TABLE steps (
    episode INTEGER NOT NULL REFERENCES episodes (id), step INTEGER NOT NULL,
    duration_s REAL NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, decision TEXT NOT NULL, observation TEXT NOT NULL,
    happenings TEXT NOT NULL,
    digest TEXT NOT NULL, -- of the other columns, see journal.py
    PRIMARY KEY (episode, step)
) WITHOUT ROWID;
CREATE TABLE checkpoints (
    episode INTEGER NOT NULL REFERENCES episodes (id), position INTEGER NOT NULL,
    id TEXT NOT NULL, phase TEXT NOT NULL, status TEXT NOT NULL, score REAL NOT NULL,
    weight REAL NOT NULL, message TEXT NOT NULL, gate INTEGER NOT NULL, depth INTEGER NOT NULL,
    bonus INTEGER NOT NULL, controllable INTEGER NOT NULL, step INTEGER, channels TEXT NOT NULL,
    PRIMARY KEY (episode, position)
);
"""

# Later opinions of what is recorded above, and what they need. A run that is older than these
# tables gets them from the first writer.
_HISTORY = """
CREATE TABLE IF NOT EXISTS gradings (
    id INTEGER PRIMARY KEY, episode INTEGER NOT NULL REFERENCES episodes (id),
    at TEXT NOT NULL, grader TEXT NOT NULL, version TEXT NOT NULL, verifier TEXT NOT NULL,
    rubric TEXT NOT NULL, trajectory TEXT NOT NULL, steps INTEGER NOT NULL, error TEXT NOT NULL,
    grades TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS past_verdicts (
    id INTEGER PRIMARY KEY, episode INTEGER NOT NULL REFERENCES episodes (id),
    at TEXT NOT NULL, why TEXT NOT NULL, replaced_by TEXT NOT NULL, verifier TEXT NOT NULL,
    verdict TEXT NOT NULL, error TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS endings (
    episode INTEGER PRIMARY KEY REFERENCES episodes (id), began_s REAL NOT NULL, ended_s REAL,
    evidence TEXT, state TEXT NOT NULL DEFAULT '', state_bytes INTEGER NOT NULL DEFAULT 0,
    unkept TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS setups (
    episode INTEGER PRIMARY KEY REFERENCES episodes (id), digest TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refused_replies (
    episode INTEGER PRIMARY KEY REFERENCES episodes (id), prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL
);
"""

# A reader's own `steps`: it stands before the table of that name and adds the journal's steps.
_READER = """
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE pending AS SELECT * FROM main.steps WHERE FALSE;
CREATE TEMP VIEW steps AS SELECT * FROM main.steps UNION ALL SELECT * FROM pending AS p
    WHERE NOT EXISTS (SELECT 1 FROM main.steps s WHERE s.episode = p.episode AND s.step = p.step);
"""

Values = Sequence[object]

_BESIDE = ("run.db-wal", "run.db-shm", "run.db-journal")
_PART = ("run.db.part", "run.db.part-wal", "run.db.part-shm", "run.db.part-journal")


class Database:
    """A connection to a run's database. The one that writes holds the run's lock.

    Args:
        folder: The run folder.
        readonly: False takes the lock.

    Attributes:
        path: The database file.
        settings: The run's settings as JSON.
    """

    def __init__(self, folder: Path, *, readonly: bool) -> None:
        self.path = folder / "run.db"
        _admit(folder, to_write=not readonly)
        with contextlib.ExitStack() as undo:
            self._lock = None if readonly else undo.enter_context(writer_lock(folder))
            self._connection = undo.enter_context(contextlib.closing(self._connect(readonly)))
            self._bounds = QueryBounds(self._connection, self.path)
            with self._reported():
                self._connection.executescript(DEFENCES)
            self._read_meta()
            self._journal = (
                None if readonly else undo.enter_context(contextlib.closing(Journal(folder)))
            )
            self._prepare()
            self._held = undo.pop_all()
        if not readonly:
            self._held.callback(self._gather_last_steps)

    def _connect(self, readonly: bool) -> sqlite3.Connection:
        address = f"file:{quote(str(self.path.absolute()))}?mode={'ro' if readonly else 'rw'}"
        if readonly and not os.access(self.path.parent, os.W_OK) and not self._log().exists():
            # A reader of a WAL database makes a file beside it; here it could not, and need not.
            address += "&immutable=1"
        with self._reported():
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)
        connection.row_factory = sqlite3.Row
        return connection

    def _log(self) -> Path:
        return self.path.with_name("run.db-wal")

    def _read_meta(self) -> None:
        found = self.rows("SELECT type, name, sql FROM main.sqlite_master")
        known = schema_made_by(_SCHEMA + _HISTORY)
        foreign = sorted({schema_entry(row) for row in found} - known)
        if not any(schema_entry(row) in known and row["name"] == "meta" for row in found):
            raise RecordError(f"{self.path} is a SQLite database but holds no agentgym run")
        meta = {row["key"]: row["value"] for row in self.rows("SELECT key, value FROM meta")}
        version = meta.get("format", "(none)")
        if version != FORMAT:
            raise RecordError(
                f"{self.path} has format {str(version)[:40]!r} and this agentgym reads {FORMAT!r}; "
                "open it with the version of agentgym that wrote it"
            )
        if foreign:
            # A view, a trigger or another table would have queries do what it says.
            kind, name, _ = foreign[0]
            raise RecordError(
                f"{self.path} is no record of a run: expected the tables that agentgym makes and "
                f"nothing else, found {kind} {name!r}"
            )
        if "settings" not in meta:
            raise RecordError(f"{self.path} is damaged: it has no settings")
        self.settings: str = meta["settings"]

    def _prepare(self) -> None:
        if self._journal is None:
            with self._reported():
                self._connection.executescript(_READER)
            return
        self.execute("PRAGMA journal_mode = WAL")
        self.execute("PRAGMA synchronous = NORMAL")
        self.execute("PRAGMA foreign_keys = ON")
        self.execute("PRAGMA wal_autocheckpoint = 0")
        with self._reported():
            self._connection.executescript(_HISTORY)
        # What a process that was killed had left in the journal.
        self.gather_steps()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.OperationalError as error:
            if self._bounds.exceeded:
                raise RecordError(
                    f"{self.path} is damaged: reading it takes more work than its size can need"
                ) from error
            raise RecordError(f"{self.path}: {error}; what was recorded before is kept") from error
        except sqlite3.IntegrityError as error:
            raise RecordError(f"{self.path}: refused: {error}") from error
        except sqlite3.DatabaseError as error:
            raise RecordError(f"{self.path} is damaged or no run database: {error}") from error
        except (OverflowError, UnicodeEncodeError) as error:
            raise RecordError(f"{self.path} cannot hold a value: {error}") from error

    def execute(self, statement: str, values: Values = ()) -> int:
        """Run one statement, committed by itself; return the id of the row it inserted."""
        with self._reported():
            self._bounds.begin()
            return self._connection.execute(statement, values).lastrowid or 0

    def execute_many(self, statement: str, rows: Iterable[Values]) -> None:
        """Run one statement for every row of values."""
        with self._reported():
            self._bounds.begin()
            self._connection.executemany(statement, rows)

    def rows(self, query: str, values: Values = ()) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with self._reported():
            self._bounds.begin()
            return self._bounds.collect(self._connection.execute(query, values))

    def add_step(self, *columns: Value) -> None:
        """Record a step: the columns of its row, the digest apart.

        Raises:
            RecordError: The disk is full; the step is not recorded, all before it are.
        """
        assert self._journal is not None, "a reader records nothing"
        if self._journal.size >= JOURNAL_BYTES:
            self.gather_steps()
        self._journal.append(*columns)

    def gather_steps(self) -> None:
        """Have `steps` hold every step recorded so far; call it before a query that reads them.

        The writer moves the journal's steps into the table. A reader lays them beside it: those
        that the writer moves meanwhile are in both, which does no harm, and none is in neither,
        because the journal is read before the table.
        """
        if self._journal is None:
            self.execute("DELETE FROM pending")
            self._insert_steps("pending")
        elif self._journal.size:
            with self.transaction():
                pass

    def _insert_steps(self, table: str) -> None:
        # A process killed after the commit and before it emptied the journal left them in both.
        places = ", ".join("?" * (len(COLUMNS) + 1))
        statement = f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO NOTHING"
        self.execute_many(statement, read_journal(self.path.parent))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements inside one commit, the journal's steps with them, or none."""
        self.execute("BEGIN IMMEDIATE")
        try:
            if self._journal is not None and self._journal.size:
                self._insert_steps("steps")
            yield
            self.execute("COMMIT")
        except BaseException:
            # SQLite has rolled back by itself where the disk was full.
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise
        if self._journal is not None and self._journal.size:
            self._journal.clear()

    def fold_log(self) -> None:
        """Move a long log into the database file: two fsyncs, so between episodes, not steps."""
        if self._log().stat().st_size >= LOG_BYTES:
            self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the connection and let go of the lock."""
        self._held.close()

    def _gather_last_steps(self) -> None:
        # Where the disk is full they stay in the journal, for readers and for the next writer.
        with contextlib.suppress(RecordError):
            self.gather_steps()


def _admit(folder: Path, *, to_write: bool) -> None:
    """Look at the files that SQLite will open by their names, before it does.

    Raises:
        RecordError: There is no database, or one of them is no regular file of this folder.
    """
    files = RunFolder(folder)
    try:
        found = [files.find(name, to_write=to_write) for name in ("run.db", *_BESIDE)]
    except OSError as error:
        raise RecordError(f"{folder} cannot be read: {error.strerror}") from error
    if found[0] is None:
        raise RecordError(f"{folder} is no run folder: it has no run.db")
    if found[-1] is not None:
        # SQLite would roll it back, and such a journal can name any file to be removed after.
        raise RecordError(
            f"{folder / 'run.db-journal'} belongs to no run: agentgym writes none; the record was "
            "changed by another program, so get it again from where it was made"
        )


def create_database(
    folder: Path, settings: str, plans: Sequence[tuple[str, int, int, str]]
) -> None:
    """Lay down a new run; a process that dies meanwhile leaves no run, not half of one.

    Args:
        folder: The run folder; made where it is absent.
        settings: The settings as JSON.
        plans: Task, seed, trial and agent of each episode.

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
            # What lies beside a database is a part of it to SQLite, and a new run has no part yet.
            for leftover in ("run.journal", *_BESIDE, *_PART):
                files.remove(leftover)
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                connection.executescript(_SCHEMA + _HISTORY)
                meta = [("format", FORMAT), ("settings", settings)]
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)
                connection.executemany(
                    "INSERT INTO episodes (task, seed, trial, agent) VALUES (?, ?, ?, ?)", plans
                )
                connection.execute("COMMIT")
                # From the start, so that no writer ever makes a `run.db-journal`.
                connection.execute("PRAGMA journal_mode = WAL")
            part.rename(folder / "run.db")
    except (OSError, sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise RecordError(f"{folder}: a run cannot be created here: {error}") from error


@contextlib.contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the right to write a run; the kernel lets go of it when the process dies.

    Raises:
        RecordError: Another process holds it, or the lock file cannot be written.
    """
    path = folder / "run.lock"
    try:
        file = RunFolder(folder).open_to_write("run.lock")
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
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)
