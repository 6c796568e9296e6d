"""Compare the three clean tables with those the generator computed from its own values.

The rows are compared as multisets, whatever their order or quoting, with the overlap as
partial credit; header, encoding, line ends and order are one check of their own.
"""

from __future__ import annotations

import csv
import io
from collections import Counter

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.in_place import read_in_place

FOLDER = "/srv/clean"
MOST_BYTES = 2**20
NAMES = ("orders.csv", "rejected.csv", "totals.csv")


def order_ids(evidence: Evidence) -> CheckResult:
    """Check which orders `orders.csv` holds."""
    seen = Counter(row[:1] for row in _rows(_read(evidence, "orders.csv")))
    true = Counter(row[:1] for row in _rows(evidence.gold("orders.csv")))
    return _overlap(seen, true)


def rows(evidence: Evidence, name: str) -> CheckResult:
    """Check whole rows of one table."""
    seen = Counter(_rows(_read(evidence, name)))
    return _overlap(seen, Counter(_rows(evidence.gold(name))))


def layout(evidence: Evidence) -> CheckResult:
    """Check what the rows alone do not show, on files whose number of lines is about right."""
    for name in NAMES:
        data, gold = _read(evidence, name), evidence.gold(name)
        header = gold.split(b"\n", 1)[0]
        if data.split(b"\n", 1)[0] != header:
            return _fail(f"{name} must begin with the line {header.decode()!r}, not {data[:60]!r}")
        if b"\r" in data:  # the last line may have no line end: nothing follows it
            return _fail(f"{name}: has other line ends than LF")
        seen = _rows(data)
        if seen != sorted(seen):
            return _fail(f"{name} is not sorted")
        if len(seen) < len(_rows(gold)) / 2:
            return _fail(f"{name} has {len(seen)} rows, about {len(_rows(gold))} are expected")
    return CheckResult(CheckStatus.PASS, "headers, line ends and order are right")


def _read(evidence: Evidence, name: str) -> bytes:
    return read_in_place(evidence.after, f"{FOLDER}/{name}", max_bytes=MOST_BYTES)


def _rows(data: bytes) -> list[tuple[str, ...]]:
    """Return the rows below the header, blanks around fields dropped; none if it is no CSV."""
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    try:
        return [tuple(field.strip() for field in row) for row in reader if row][1:]
    except csv.Error:
        return []


def _overlap(seen: Counter[tuple[str, ...]], true: Counter[tuple[str, ...]]) -> CheckResult:
    """Credit the overlap of two multisets; only equality passes."""
    if seen == true:
        return CheckResult(CheckStatus.PASS, f"all {true.total()} rows are right")
    common, missing, wrong = seen & true, true - seen, seen - true
    message = f"{missing.total()} of {true.total()} missing, {wrong.total()} wrong"
    if wrong:
        message += f", for example {next(iter(wrong))!r}"
    return CheckResult(CheckStatus.FAIL, message, score=common.total() / (seen | true).total())


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
