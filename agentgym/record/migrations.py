"""The format versions of a run, and the migrations from older ones.

All changes of the format are here. A new run is created with the first version's tables and every
later migration, so a new run and a migrated one cannot differ. Migrations add and rename; they
remove no recorded data. A writer migrates a run in one transaction; a reader migrates a copy in
memory and leaves the folder unchanged.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym.errors import RecordError
from agentgym.record.folder import RunFolder

_FORMAT_3: Final = """
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
    digest TEXT NOT NULL, -- of the other columns, see step_rows.py
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

# Gradings and replaced verdicts, and their evidence. The first runs of format 3 lack these.
_FORMAT_3_LATER: Final = """
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

# NULL in a new column: the value is not known.
_FORMAT_4: Final = """
ALTER TABLE steps RENAME COLUMN happenings TO events;
ALTER TABLE steps ADD COLUMN generations TEXT;
ALTER TABLE refused_replies ADD COLUMN generations TEXT;
ALTER TABLE episodes ADD COLUMN episode_group TEXT;
ALTER TABLE episodes ADD COLUMN metadata TEXT;
"""

# Until format 5 every branch held copies of the steps before it, and every prompt was whole.
_FORMAT_5: Final = """
ALTER TABLE episodes ADD COLUMN shared INTEGER NOT NULL DEFAULT 0; -- steps read from the parent
ALTER TABLE episodes ADD COLUMN forked INTEGER NOT NULL DEFAULT 0;
"""

_COPIED_BYTES: Final = 512 << 20
"""The largest database of an older format that a reader copies into memory."""


@dataclass(frozen=True, slots=True)
class _Migration:
    """A migration from the previous format to the next one.

    Attributes:
        format: The next format.
        script: SQL statements.
        rows: Function that changes rows afterwards; gets the connection and the run folder.
    """

    format: str
    script: str
    rows: Callable[[sqlite3.Connection, Path], None]


def _to_format_4(connection: sqlite3.Connection, folder: Path) -> None:
    _rename_setting(connection, "stand_ins", "image_fallbacks")
    # Format 3 kept its newest steps in a file of its own.
    places = ", ".join("?" * 10)
    connection.executemany(
        "INSERT INTO steps (episode, step, duration_s, prompt_tokens, completion_tokens,"
        f" cached_tokens, decision, observation, events, digest) VALUES ({places})"
        " ON CONFLICT DO NOTHING",
        _journal(folder),
    )


def _rename_setting(connection: sqlite3.Connection, old: str, new: str) -> None:
    for (text,) in connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchall():
        try:
            settings = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            return  # reading the settings reports what is wrong with them
        if isinstance(settings, dict) and old in settings:
            settings = {(new if name == old else name): item for name, item in settings.items()}
            values = (json.dumps(settings, separators=(",", ":")),)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'settings'", values)


def _no_rows(connection: sqlite3.Connection, folder: Path) -> None:
    """Change no rows."""


_MIGRATIONS: Final = (
    _Migration("agentgym.run/4", _FORMAT_4, _to_format_4),
    _Migration("agentgym.run/5", _FORMAT_5, _no_rows),
)

FORMAT: Final = _MIGRATIONS[-1].format
"""Format that is written."""

FORMATS: Final = ("agentgym.run/3", *(migration.format for migration in _MIGRATIONS))
"""Formats that can be read, the oldest first."""


def schema_of(format: str) -> str:
    """Return the statements that create the tables of a format."""
    later = (m.script for m in _MIGRATIONS[: FORMATS.index(format)])
    return "".join((_FORMAT_3, _FORMAT_3_LATER, *later))


def migrate(connection: sqlite3.Connection, format: str, folder: Path) -> None:
    """Migrate a run to the format that is written, wholly or, if killed, not at all.

    Args:
        connection: Connection to its database, in autocommit mode. Its tables were checked against
            the format, so no foreign trigger runs here.
        format: Present format of the run, one of `FORMATS`.
        folder: The run folder.

    Raises:
        RecordError: The journal of the run is damaged or cannot be read.
        sqlite3.Error: The database is damaged, or the disk is full.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        # A run of format 3 has only those of these tables that it needed.
        _run(connection, _FORMAT_3_LATER)
        for migration in _MIGRATIONS[FORMATS.index(format) :]:
            _run(connection, migration.script)
            migration.rows(connection, folder)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (FORMAT,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def copied(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return a copy of a run's database in memory, which a reader can migrate.

    Raises:
        RecordError: The database is too large to copy.
    """
    pages, size = (
        connection.execute(f"PRAGMA {n}").fetchone()[0] for n in ("page_count", "page_size")
    )
    if pages * size > _COPIED_BYTES:
        raise RecordError(
            f"{path} is of an older format and has {pages * size} bytes, more than is converted in "
            "memory; convert it once: agentgym eval --resume --out " + str(path.parent)
        )
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    copy.row_factory = connection.row_factory
    return copy


def _run(connection: sqlite3.Connection, script: str) -> None:
    # `executescript` would commit first.
    for statement in filter(None, map(str.strip, script.split(";"))):
        connection.execute(statement)


# --- the journal of format 3 ---------------------------------------------------------------

JOURNAL: Final = "run.journal"
_JOURNAL_BYTES: Final = 8 << 20
_JOURNAL_KINDS: Final = (int, int, float, int, int, int, str, str, str)


def _journal(folder: Path) -> list[tuple[Any, ...]]:
    """Return the rows of `run.journal`, each with its digest.

    A line is a row of the table `steps`, with tabs between its columns; the last column is the
    SHA-256 of the others. Everything after an incomplete line was never recorded.
    """
    path = folder / JOURNAL
    try:
        lines = RunFolder(folder).read(JOURNAL, _JOURNAL_BYTES).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    rows: list[tuple[Any, ...]] = []
    for line in lines:
        text, _, digest = line.decode("ascii", "replace").rpartition("\t")
        if not text.isascii() or hashlib.sha256(text.encode()).hexdigest() != digest:
            break
        try:
            columns = zip(_JOURNAL_KINDS, text.split("\t"), strict=True)
            rows.append((*(kind(value) for kind, value in columns), digest))
        except ValueError as error:
            raise RecordError(f"{path} is damaged: line {len(rows) + 1}: {error}") from error
    return rows
