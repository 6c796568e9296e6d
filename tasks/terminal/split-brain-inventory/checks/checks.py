"""Compare the merged database and the report with the merge that the generator did by the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.csv_lines import plain_lines
from agentgym.verify.subprocess_reader import ask

MERGED = "/srv/stock/merged.db"
REPORT = "/srv/stock/conflicts.csv"
READER = Path(__file__).with_name("reader.py")
FIELDS = ("title", "price_cents", "on_hand", "active")
MOST_BYTES = 4 * 2**20
# Column, whether it must have a value, place in the key.
ITEM = [
    ["active", True, 0],
    ["on_hand", True, 0],
    ["price_cents", True, 0],
    ["sku", False, 1],
    ["title", True, 0],
]
_KNOWN: WeakKeyDictionary[FileTree, Any] = WeakKeyDictionary()


def rows(evidence: Evidence, fields: list[str]) -> CheckResult:
    """These fields are right in every row; credit is for what the half merge had wrong.

    What was right before and is wrong now counts against it.
    """
    gold, found = _gold(evidence), _database(evidence)["item"]
    if found is None:
        return _fail("there is no ordinary table item")
    seen = {row[0]: dict(zip(FIELDS, row[1:], strict=True)) for row in found}
    if len(seen) != len(found) or seen.keys() - gold["item"].keys():
        return _fail("there are items that nobody has, or one of them twice")

    def values(items: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
        return {sku: row[name] for sku, row in items.items()}

    mended = wrong = broken = 0
    example = ""
    for name in fields:
        now, before = values(seen, name), values(gold["half"], name)
        for sku, value in values(gold["item"], name).items():
            right, was_right = _same(now.get(sku), value), _same(before.get(sku), value)
            mended += right and not was_right
            wrong += not was_right
            broken += was_right and not right
            if not right and not example:
                example = f"; {name} of {sku} is {now.get(sku)!r:.40}, expected {value!r}"
    status = CheckStatus.FAIL if example else CheckStatus.PASS
    message = f"{mended} of {wrong} values put right, {broken} made wrong{example}"
    return CheckResult(status, message, mended / (wrong + broken))


def conflicts(evidence: Evidence) -> CheckResult:
    """The report lists the conflicts; partial credit is the Jaccard index of its lines."""
    wanted = evidence.gold("conflicts.csv").decode().splitlines()
    text = _regular(evidence, REPORT).decode("utf-8", "replace")
    seen = [line.rstrip() for line in plain_lines(text) if line.strip()]
    if seen == wanted:
        return CheckResult(CheckStatus.PASS, f"all {len(wanted) - 1} conflicts")
    if not seen or seen[0] != wanted[0]:
        return _fail(f"the header is {seen[:1]}, expected {wanted[0]!r}")
    have, need = set(seen[1:]), set(wanted[1:])
    share = len(have & need) / (len(have | need) + len(seen) - 1 - len(have))
    message = f"{len(need - have)} conflicts missing, {len(have - need)} wrong"
    message += "" if have - need or need - have else "; not in the right order"
    return CheckResult(CheckStatus.FAIL, message, min(share, 0.9))


def tables(evidence: Evidence) -> CheckResult:
    """The database has the two tables and no others, and the items have their key."""
    seen = _database(evidence)
    made = seen["made"]
    if made != ["decision", "item"]:
        return _fail(f"it has {made[:6]}")
    if sorted([n, held and not key, key] for n, held, key in seen.get("item made", [])) != ITEM:
        return _fail(f"item is made of {seen.get('item made')!r:.120}, not as it was")
    return CheckResult(CheckStatus.PASS, f"it has {made}")


def decisions_kept(evidence: Evidence) -> CheckResult:
    """The storekeeper's decisions, which are written down nowhere else, are still there."""
    found = _database(evidence)["decision"]
    kept = found is not None and sorted(map(tuple, found), key=repr) == sorted(
        map(tuple, _gold(evidence)["decision"]), key=repr
    )
    status = CheckStatus.PASS if kept else CheckStatus.FAIL
    return CheckResult(status, "the decisions are there" if kept else "the decisions are not there")


def _database(evidence: Evidence) -> Any:
    """Return what the reader finds; the checks of one episode ask it once."""
    if evidence.after not in _KNOWN:
        files = {"merged.db": _regular(evidence, MERGED)}
        if evidence.after.stat(f"{MERGED}-wal", follow=False) is not None:
            files["merged.db-wal"] = _regular(evidence, f"{MERGED}-wal")
        _KNOWN[evidence.after] = ask(READER, {}, files, what=MERGED)
    return _KNOWN[evidence.after]


def _regular(evidence: Evidence, path: str) -> bytes:
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    return evidence.after.read(path, max_bytes=MOST_BYTES)


def _same(seen: object, wanted: object) -> bool:
    return type(seen) is type(wanted) and seen == wanted


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("stock.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
