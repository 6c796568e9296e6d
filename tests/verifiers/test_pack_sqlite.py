"""The pack `sqlite`: databases that never end, lie or break are fails, in time."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import Folder, Link, evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_pack

PACK = load_pack(Path(__file__).parents[2] / "verifiers" / "sqlite")
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
SLOW = "'" + "a" * 40_000 + "' LIKE '" + "%a" * 2_000 + "b'"


def database(folder: Path, sql: str) -> bytes:
    path = folder / "made.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
        connection.commit()
    return path.read_bytes()


def run(check: str, files: Mapping[str, Any], **arguments: Any) -> CheckResult:
    try:
        found = PACK.checks[check](evidence(files), path="/d", **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(found, CheckResult)
    return found


HOSTILE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a view without end": (f"CREATE VIEW t AS {ENDLESS};", "query", {"rows": [[1]]}),
    "a view in a common table expression's clothes": (
        "CREATE VIEW w AS SELECT 1 AS x;"
        "CREATE VIEW t AS WITH w AS (SELECT 1 AS x) SELECT * FROM w;",
        "query", {"rows": [[1]]}),
    "a generated column": ("CREATE TABLE t (a, x AS (a)); INSERT INTO t (a) VALUES (1);",
                           "query", {"rows": [[1]]}),
    "a virtual table": ("CREATE VIRTUAL TABLE t USING fts5(x); INSERT INTO t VALUES (1);",
                        "row_count", {"table": "t", "at_least": 1}),
    "a comment before the virtual table": ("CREATE /* TABLE */ VIRTUAL TABLE t USING fts5(x);",
                        "row_count", {"table": "t", "at_least": 0}),
    "a check without end": (f"CREATE TABLE t (x CHECK (x = 1 OR {SLOW}));"
                            "PRAGMA ignore_check_constraints = ON;"
                            "INSERT INTO t SELECT 2 FROM json_each('[1,2,3,4,5]');",
                            "sound", {}),
    "a column that is not there": ("CREATE TABLE t (y);", "query", {"rows": [[1]]}),
    "too many rows": (f"CREATE TABLE t AS {ENDLESS} LIMIT 30000;", "query", {"rows": [[1]]}),
    "a schema that is no SQL": ("CREATE TABLE t (x); PRAGMA writable_schema = ON;"
                                "UPDATE sqlite_master SET sql = 'CREATE TABLE t (((';",
                                "sound", {}),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("sql", "check", "arguments"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_databases_are_fails_in_time(
    sql: str, check: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    if check == "query":
        arguments = {"sql": "SELECT x FROM t", **arguments}
    found = run(check, {"/d": database(tmp_path, sql)}, **arguments)
    assert found.status is CheckStatus.FAIL
    assert len(found.message) < 600


def test_what_is_still_in_the_write_ahead_log_counts(tmp_path: Path) -> None:
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (7)")
        connection.commit()
        files = {"/d": path.read_bytes(), "/d-wal": (tmp_path / "made.db-wal").read_bytes()}
    arguments: dict[str, Any] = {"sql": "SELECT x FROM t", "rows": [[7]]}
    assert run("query", files, **arguments).status is CheckStatus.PASS
    assert run("query", {"/d": files["/d"]}, **arguments).status is CheckStatus.FAIL


def test_the_database_is_read_from_a_copy_and_links_are_followed(tmp_path: Path) -> None:
    data = database(tmp_path, "CREATE TABLE t (x); INSERT INTO t VALUES (x'00ff'), ('é'), (NULL);")
    files = {"/d": Link("real"), "/real": data, "/d-wal": Folder()}
    found = run("query", files, sql="SELECT x FROM t LIMIT 2", rows=[[{"bytes": "00ff"}], ["é"]])
    assert found.status is CheckStatus.PASS, found


@pytest.mark.timeout(60)
def test_damage_anywhere_is_a_fail_or_harmless(tmp_path: Path) -> None:
    data = database(tmp_path, "CREATE TABLE t (x); INSERT INTO t VALUES ('one'), ('two');")
    dice = random.Random(7)
    for _ in range(12):
        broken = bytearray(data)
        for _ in range(dice.choice([1, 4, 64])):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        run("sound", {"/d": bytes(broken)})
        run("query", {"/d": bytes(broken)}, sql="SELECT x FROM t", rows=[["one"], ["two"]])


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("query", {"sql": "SELEC 1", "rows": []}, "expected a SELECT"),
        ("query", {"sql": "SELECT FROM", "rows": []}, "sql: near"),
        ("query", {"sql": "SELECT 1; SELECT 2", "rows": []}, "one statement"),
        ("query", {"sql": "DELETE FROM t", "rows": []}, "expected a SELECT"),
        ("query", {"sql": "SELECT 1", "rows": [1]}, "list of lists"),
        ("query", {"sql": "SELECT nowhere(1)", "rows": []}, "no such function"),
        ("table", {"table": "t", "references": {"a": "b"}}, "references.a"),
        ("table", {"table": "t", "unique": ["a"]}, "unique"),
        ("row_count", {"table": "t", "at_least": 1.5}, "at_least"),
        ("lacks", {"text": "ab"}, "three characters"),
    ],
)
def test_mistakes_of_the_author_are_found_before_any_episode(
    check: str, arguments: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        dry_run(f"sqlite.{check}", PACK.checks[check], {"path": "/d", **arguments})


def test_a_query_that_writes_is_refused(tmp_path: Path) -> None:
    data = database(tmp_path, "CREATE TABLE t (x);")
    sql = "WITH w AS (SELECT 1) INSERT INTO t SELECT * FROM w"
    assert run("query", {"/d": data}, sql=sql, rows=[]).status is CheckStatus.FAIL
