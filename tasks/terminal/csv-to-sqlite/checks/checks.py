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


def _read(evidence: Evidence, path: str, what: str) -> Any:
    """Return the rows of a table or the schema, as `reader.py` finds it in the database.

    It reads everything at once, the write-ahead log included where there is one, so that one room
    does for all checks.

    Raises:
        GuestFileError: The database cannot be read, or not within the room's limits.
    """
    log = evidence.after.stat(f"{path}-wal", follow=False)
    files = [path, f"{path}-wal"] if log and log.kind == "file" else [path]
    room = evidence.room(files, shared=True)
    room.write("/tmp/reader.py", READER.read_bytes())
    argv = ["/usr/bin/python3", "-IS", "/tmp/reader.py", ANSWER, path]
    order = {table: (COLUMNS[table], _most(rows)) for table, rows in _gold(evidence).items()}
    done = room.run(argv, stdin=json.dumps(order).encode(), timeout_s=120)
    if done.exit_code != 0:
        last = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise GuestFileError(f"{path} cannot be read, exit code {done.exit_code}: {last}")
    answer = json.loads(room.read(ANSWER))[what]
    if "problem" in answer:
        raise GuestFileError(f"{path} cannot be read: {answer['problem']}")
    return answer["found"]


def _gold(evidence: Evidence) -> dict[str, list[list[Any]]]:
    tables: dict[str, list[list[Any]]] = json.loads(evidence.gold("tables.json"))
    return {table: tables[table] for table in COLUMNS}


def _most(rows: list[list[Any]]) -> int:
    """Return the number of rows from which on a table is not read to its end."""
    return 4 * len(rows) + 1_000


def rows(evidence: Evidence, path: str, table: str) -> CheckResult:
    """A table holds exactly the true rows, types included; partial credit is the Jaccard index."""
    expected = {repr(tuple(row)) for row in _gold(evidence)[table]}
    found = _read(evidence, path, table)
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
