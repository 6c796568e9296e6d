"""Checks of csv-to-sqlite: a copy of the database is read on the host and compared row by row.

The file comes from the agent, so only real tables are read, with a limit on what a query may cost.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agentgym import CheckResult, CheckStatus, Evidence

COLUMNS = {
    "customer": "id, name, email, phone, country, joined",
    "product": "sku, title, price_cents, active",
    "purchase": "id, customer_id, placed, status",
    "line": "purchase_id, position, sku, quantity, price_cents",
    "reject": "source, record, reason",
}


@contextmanager
def _opened(evidence: Evidence, path: str) -> Iterator[sqlite3.Connection]:
    """Open a throw-away copy of the database, with its write-ahead log where it has one."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(evidence.after.read(path))
        if evidence.after.stat(f"{path}-wal"):
            Path(f"{copy}-wal").write_bytes(evidence.after.read(f"{path}-wal"))
        with closing(sqlite3.connect(copy)) as connection:
            ticks = iter(range(2_000))
            connection.set_progress_handler(lambda: next(ticks, None) is None, 100_000)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection


def _definitions(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what was created, by kind and name, with the white space evened out."""
    query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return {
        f"{kind} {name}": " ".join(sql.split()) for kind, name, sql in connection.execute(query)
    }


def rows(evidence: Evidence, path: str, table: str) -> CheckResult:
    """A table holds exactly the true rows, types included; partial credit is the Jaccard index."""
    try:
        with _opened(evidence, path) as connection:
            if not _definitions(connection).get(f"table {table}", "").startswith("CREATE TABLE"):
                return CheckResult(CheckStatus.FAIL, f"{path} has no table {table}")
            found = connection.execute(f"SELECT {COLUMNS[table]} FROM {table}").fetchall()
    except sqlite3.Error as error:
        return CheckResult(CheckStatus.FAIL, f"{path}: {error}")
    expected = {repr(tuple(row)) for row in json.loads(evidence.gold("tables.json"))[table]}
    seen = {repr(row) for row in found}  # repr keeps 1, 1.0 and '1' apart
    if seen == expected and len(found) == len(expected):
        return CheckResult(CheckStatus.PASS, f"all {len(expected)} rows of {table} are right")
    missing, extra = sorted(expected - seen), sorted(seen - expected)
    message = f"{table}: {len(missing)} rows missing, {len(extra)} wrong"
    message += f"; expected {missing[0]}" if missing else ""
    message += f"; found {extra[0]}" if extra else ""
    twice = len(found) - len(seen)  # possible where the key was left out of the schema
    message += f"; {twice} rows there twice" if twice else ""
    share = len(seen & expected) / (len(seen | expected) + twice)
    return CheckResult(CheckStatus.FAIL, message, share)


def schema(evidence: Evidence, path: str) -> CheckResult:
    """The database has the tables of schema.sql, constraints included, and nothing else."""
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(evidence.before.read("/srv/migration/schema.sql").decode())
        expected = _definitions(model)
    try:
        with _opened(evidence, path) as connection:
            found = _definitions(connection)
    except sqlite3.Error as error:
        return CheckResult(CheckStatus.FAIL, f"{path}: {error}")
    if found == expected:
        return CheckResult(CheckStatus.PASS, "the schema is the one that was given")
    odd = sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))
    return CheckResult(CheckStatus.FAIL, f"not as in schema.sql: {', '.join(odd)}")
