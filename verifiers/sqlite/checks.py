"""Check pack `sqlite`: contents of SQLite databases.

Channel: state (the final files, read from outside). A process with limits reads a copy of the
database with its write-ahead log or journal. It executes no view, trigger, virtual table or
generated column: a check that expects a table and finds one of these fails. A database of more than
64 MiB, or one that takes more than eight seconds or a gibibyte of memory to read, is a fail.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Bounds, Comparison, brief, result

_READS = re.compile(r"(SELECT|WITH|VALUES)\b", re.IGNORECASE)
_READER = Path(__file__).with_name("reader.py")
_DATABASE_BYTES = 64 * 2**20
_MAGIC = b"SQLite format 3\0"
_SUFFIXES = ("", "-wal", "-journal")


def query(
    evidence: Evidence,
    path: str,
    sql: str,
    rows: Sequence[Sequence[Any]],
    tolerance: float = 0.0,
    any_order: bool = False,
) -> CheckResult:
    """A query returns these rows.

    Channel: state. 1 equals 1.0 and not '1'. TOML has no NULL, so replace it in `sql`:
    ``coalesce(x, '-')``. A blob is ``{ bytes = "00ff" }``.

    Example:
        use = "sqlite.query"
        with = { path = "/srv/a.db", sql = "SELECT sku, sum(n) FROM line", rows = [["a1", 3]] }

    Args:
        evidence: Evidence of the episode.
        path: The database.
        sql: One reading statement; only ordinary tables.
        rows: The expected rows.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Accept the rows in any order.
    """
    compare = Comparison(tolerance, any_order)
    if not all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows):
        raise VerifierError(f"rows: expected a list of lists of cells, got {rows!r}")
    _check_sql(sql)
    seen = _ask(evidence, path, what="query", sql=sql)
    fault = compare.difference(seen, [list(row) for row in rows])
    return result(not fault, f"{path}: {fault or f'the {len(seen)} rows expected'}")


def table(
    evidence: Evidence,
    path: str,
    table: str,
    columns: Mapping[str, str] | None = None,
    primary_key: Sequence[str] = (),
    not_null: Sequence[str] = (),
    unique: Sequence[Sequence[str]] = (),
    references: Mapping[str, str] | None = None,
) -> CheckResult:
    """An ordinary table has these columns and constraints; it may have more constraints.

    Channel: state.

    Example:
        use = "sqlite.table"
        with = { path = "/srv/a.db", table = "line", references = { sku = "product.sku" } }

    Args:
        evidence: Evidence of the episode.
        path: The database.
        table: Name of the table.
        columns: Declared type by column, all of them, in any order; absent: any columns.
        primary_key: Its columns in order; empty: not checked.
        not_null: Columns that may hold no NULL.
        unique: Groups of columns that are unique together, by constraint or index.
        references: "table.column" that a column refers to.
    """
    for name, other in (references or {}).items():
        if not re.fullmatch(r"[^.]+\.[^.]+", str(other)):
            raise VerifierError(f"references.{name}: expected 'table.column', got {other!r}")
    if any(isinstance(group, str) for group in unique):
        raise VerifierError(f"unique: expected lists of columns, got {unique!r}")
    seen = _ask(evidence, path, what="table", table=table)
    kinds = {name: kind.upper() for name, kind in (columns or {}).items()}
    if columns is not None and seen["columns"] != kinds:
        odd = sorted(
            n for n in {*kinds, *seen["columns"]} if kinds.get(n) != seen["columns"].get(n)
        )
        was, wanted = seen["columns"].get(odd[0]), kinds.get(odd[0])
        return result(False, f"{table}: column {odd[0]!r} is {was!r}, expected {wanted!r}")
    uniques = [set(group) for group in (*seen["unique"], seen["primary_key"])]
    refers = {(name, f"{other}.{target}") for name, other, target in seen["references"]}
    faults = [f"primary key is {seen['primary_key']}"] * (
        bool(primary_key) and list(primary_key) != seen["primary_key"]
    )
    faults += [f"{name!r} may be NULL" for name in not_null if name not in seen["not_null"]]
    faults += [f"{list(group)} is not unique" for group in unique if set(group) not in uniques]
    faults += [
        f"{n!r} refers not to {o}" for n, o in (references or {}).items() if (n, o) not in refers
    ]
    return result(not faults, f"{table}: {'; '.join(faults) or 'is declared as expected'}")


def sound(evidence: Evidence, path: str) -> CheckResult:
    """SQLite's integrity check finds no fault, and every foreign key refers to a row.

    Channel: state.

    Example:
        use = "sqlite.sound"
        with = { path = "/srv/shop.db" }
    """
    faults = _ask(evidence, path, what="sound")
    said = "; ".join(brief(fault) for fault in faults[:3])
    return result(not faults, f"{path}: {said or 'integrity and foreign keys hold'}")


def row_count(
    evidence: Evidence, path: str, table: str, at_least: int, at_most: int | None = None
) -> CheckResult:
    """An ordinary table has this number of rows.

    Channel: state.

    Example:
        use = "sqlite.row_count"
        with = { path = "/srv/shop.db", table = "customer", at_least = 120, at_most = 120 }

    Args:
        evidence: Evidence of the episode.
        path: The database.
        table: Name of the table.
        at_least: Minimum number of rows.
        at_most: Maximum number; absent: no limit.
    """
    bounds = Bounds(at_least, at_most)
    seen = _ask(evidence, path, what="count", table=table)
    return result(bounds.hold(seen), f"{table}: {seen} rows, expected {bounds}")


def lacks(evidence: Evidence, path: str, text: str) -> CheckResult:
    """A text does not occur in the bytes of a database: rows, free pages, log or journal.

    Channel: state. Deleting a row leaves its bytes until VACUUM. Text that crosses the edge of a
    page, or in another encoding than UTF-8 and UTF-16, is not found.

    Example:
        use = "sqlite.lacks"
        with = { path = "/srv/shop.db", text = "{{password}}" }
    """
    if not isinstance(text, str) or len(text) < 3:
        raise VerifierError(f"text: expected at least three characters, got {text!r}")
    needles = [text.encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be")]
    for name, data in _files(evidence, path).items():
        if any(needle in data for needle in needles):
            return result(False, f"{path}{name.removeprefix('db')}: still holds the text")
    return result(True, f"{path}: does not hold the text")


def _check_sql(sql: object) -> None:
    """Refuse text that is not a single reading statement."""
    if not isinstance(sql, str) or not _READS.match(sql.lstrip()):
        raise VerifierError(f"sql: expected a SELECT, got {sql!r}")
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute(f"EXPLAIN {sql}")
        except (sqlite3.Error, sqlite3.Warning) as error:
            if not str(error).startswith(("no such table", "no such column")):
                raise VerifierError(f"sql: {error}") from None


def _ask(evidence: Evidence, path: str, **order: Any) -> Any:
    files = _files(evidence, path)
    if not files["db"].startswith(_MAGIC):
        raise GuestFileError(f"{path}: is no SQLite database")
    return ask(_READER, order, files, what=path)


def _files(evidence: Evidence, path: str) -> dict[str, bytes]:
    """Return the database and the files that SQLite keeps beside it."""
    found = {"db": evidence.after.read(path, max_bytes=_DATABASE_BYTES)}
    for suffix in _SUFFIXES[1:]:
        stat = evidence.after.stat(path + suffix)
        if stat is not None and stat.kind == "file":
            found["db" + suffix] = evidence.after.read(path + suffix, max_bytes=_DATABASE_BYTES)
    return found
