"""Checks of csv-to-sqlite: the database is read in a clean room and compared row by row.

The file comes from the agent, and what a database holds can make its reader do any amount of work:
`reader.py` does it inside the room's limits, and only where a table is nothing but stored rows.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

READER = Path(__file__).with_name("reader.py")
ANSWER = "/tmp/answer.json"

COLUMNS = {
    "customer": "id, name, email, phone, country, joined",
    "product": "sku, title, price_cents, active",
    "purchase": "id, customer_id, placed, status",
    "line": "purchase_id, position, sku, quantity, price_cents",
    "reject": "source, record, reason",
}


def _read(evidence: Evidence, path: str, *order: str) -> Any:
    """Return what `reader.py` finds in the database, with its write-ahead log where it has one.

    Raises:
        GuestFileError: The database cannot be read, or not within the room's limits.
    """
    log = evidence.after.stat(f"{path}-wal", follow=False)
    room = evidence.room([path, f"{path}-wal"] if log and log.kind == "file" else [path])
    room.write("/tmp/reader.py", READER.read_bytes())
    argv = ["/usr/bin/python3", "-IS", "/tmp/reader.py", ANSWER, path, *order]
    done = room.run(argv, timeout_s=8)
    if done.exit_code != 0:
        last = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise GuestFileError(f"{path} cannot be read, exit code {done.exit_code}: {last}")
    return json.loads(room.read(ANSWER))


def rows(evidence: Evidence, path: str, table: str) -> CheckResult:
    """A table holds exactly the true rows, types included; partial credit is the Jaccard index."""
    expected = {repr(tuple(row)) for row in json.loads(evidence.gold("tables.json"))[table]}
    most = 4 * len(expected) + 1_000
    found = _read(evidence, path, "rows", table, COLUMNS[table], str(most))
    seen = set(found)  # the reader gives each row's repr, which keeps 1, 1.0 and '1' apart
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
        query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        expected = {
            f"{kind} {name}": " ".join(sql.split()) for kind, name, sql in model.execute(query)
        }
    found = _read(evidence, path, "schema")
    if found == expected:
        return CheckResult(CheckStatus.PASS, "the schema is the one that was given")
    odd = sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))
    return CheckResult(CheckStatus.FAIL, f"not as in schema.sql: {', '.join(odd)}")
