"""The migrated tables against the rows that the generator knows to be true."""

from __future__ import annotations

import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.in_place import read_in_place
from agentgym.verify.subprocess_reader import ask

DATABASE = "/srv/library/library.db"
MOST_BYTES = 16 * 2**20
TABLES = {
    "meta": ["key", "value"],
    "migration": ["version", "state"],
    "patron": ["card"],
    "loan": ["barcode", "out_at"],
    "member": ["id", "card", "name", "fines_cents", "touched"],
    "lending": ["id", "member_id", "barcode", "out_at", "due_on", "back_at", "touched"],
}


def members(evidence: Evidence) -> CheckResult:
    """The members are the true ones; credit for those that came over or were brought up to date."""
    seen = [row[1:] for row in _tables(evidence)["member"] or []]
    return _credit(evidence, "members", seen)


def lendings(evidence: Evidence) -> CheckResult:
    """The lendings are the true ones, each of the right member."""
    tables = _tables(evidence)
    cards = {row[0]: row[1] for row in tables["member"] or []}
    seen = [[cards.get(row[1]), *row[2:]] for row in tables["lending"] or []]
    return _credit(evidence, "lendings", seen)


def finished(evidence: Evidence) -> CheckResult:
    """The old tables are gone, the version is said, and receipts lead to their lending."""
    tables = _tables(evidence)
    left = [name for name in ("patron", "loan") if tables[name] is not None]
    if left:
        return CheckResult(CheckStatus.FAIL, f"still there: {', '.join(left)}")
    extra = {*tables["made"]} - {*TABLES} - {"sqlite_sequence"}
    if more := sorted(name for name in extra if not name.startswith("sqlite_stat")):
        return CheckResult(CheckStatus.FAIL, f"no table of schema 7: {more[0]!r:.80}")
    if ["schema_version", "7"] not in (tables["meta"] or []):
        return CheckResult(CheckStatus.FAIL, "meta does not say schema_version 7")
    seen = {(row[0], row[2], row[3]) for row in tables["lending"] or []}
    lost = [row for row in _gold(evidence)["ids"] if tuple(row) not in seen]
    if lost:
        message = f"{len(lost)} lendings have another id than on the receipt, e.g. {lost[0]}"
        return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "old tables gone, ids kept")


def nothing_lost(evidence: Evidence) -> CheckResult:
    """Every person and every loan is in some table, old or new."""
    tables, gold = _tables(evidence), _gold(evidence)
    people = {row[0] for row in tables["patron"] or []} | {r[1] for r in tables["member"] or []}
    loans = {(row[0], _iso(row[1])) for row in tables["loan"] or []}
    loans |= {(row[2], row[3]) for row in tables["lending"] or []}
    lost = sorted({row[0] for row in gold["members"]} - people)
    lost += sorted(f"{b} of {at}" for b, at in {(r[1], r[2]) for r in gold["lendings"]} - loans)
    if lost:
        return CheckResult(CheckStatus.FAIL, f"{len(lost)} lost for good, for example {lost[0]}")
    return CheckResult(CheckStatus.PASS, f"{len(people)} people and {len(loans)} loans are there")


def rest(evidence: Evidence) -> CheckResult:
    """The new tables have their constraints, and what else is in the database is as it was."""
    seen, before = _tables(evidence), _tables(evidence, evidence.before)
    for name in ("member", "lending", "meta", "migration"):
        if seen["made"].get(name) != before["made"][name]:
            return CheckResult(CheckStatus.FAIL, f"table {name} is not made as it was")
    if odd := sorted({*map(tuple, seen["acts"])} ^ {*map(tuple, before["acts"])}):
        return CheckResult(CheckStatus.FAIL, f"{odd[0][1]!r:.80} came or went: {odd[0][0]}")
    lost = [row for row in before["meta"] if row not in (seen["meta"] or [])]
    earlier = [row for row in before["migration"] if row[0] < 7]  # the last one was never true
    lost += [row for row in earlier if row not in (seen["migration"] or [])]
    if lost:
        return CheckResult(CheckStatus.FAIL, f"gone or changed: {lost[0]!r:.120}")
    return CheckResult(CheckStatus.PASS, "constraints and other tables are as they were")


def _credit(evidence: Evidence, name: str, found: list[Any]) -> CheckResult:
    """Credit the rows that were missing or stale at the start; wrong ones count against it."""
    gold = _gold(evidence)
    true, start, seen = _typed(gold[name]), _typed(gold["at_start"][name]), _typed(found)
    if seen == true:
        return CheckResult(CheckStatus.PASS, f"all {true.total()} {name} are right")
    todo, wrong, missing = true - start, seen - true, true - seen
    message = f"{name}: {missing.total()} missing or stale, {wrong.total()} wrong or doubled"
    message += f", for example {min(missing or wrong):.120}"
    share = (seen & todo).total() / (todo.total() + wrong.total())
    return CheckResult(CheckStatus.FAIL, message, score=min(share, 0.95))


def _typed(rows: list[Any]) -> Counter[str]:
    """Count rows by what equality overlooks, too: 1 is not 1.0."""
    return Counter(repr(tuple(row)) for row in rows)


def _iso(text: object) -> str:
    """Return an old time in the new spelling."""
    old = str(text)
    return f"{old[6:10]}-{old[3:5]}-{old[:2]}{old[10:]}"


def _tables(evidence: Evidence, tree: FileTree | None = None) -> Any:
    """Return the rows of every table, None for one that is not there, and how each was made.

    Raises:
        GuestFileError: The database cannot be read.
    """
    tree = tree or evidence.after
    files = {"db": read_in_place(tree, DATABASE, max_bytes=MOST_BYTES)}
    for suffix in ("-wal", "-journal"):
        stat = tree.stat(DATABASE + suffix)
        if stat is not None and stat.kind == "file":
            files[f"db{suffix}"] = tree.read(DATABASE + suffix, max_bytes=MOST_BYTES)
    if not files["db"].startswith(b"SQLite format 3\0"):
        raise GuestFileError(f"{DATABASE}: is no SQLite database")
    return json.loads(_read(tuple(sorted(files.items()))))


@functools.lru_cache(maxsize=2)
def _read(files: tuple[tuple[str, bytes], ...]) -> str:
    """Read a database once for all the checks of a grading."""
    return json.dumps(
        ask(Path(__file__).with_name("reader.py"), TABLES, dict(files), what=DATABASE)
    )


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("truth.json"))
