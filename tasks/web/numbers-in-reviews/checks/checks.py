"""Checks which reviews are hidden."""

import re

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.records import Json


def hidden(evidence: Evidence, prefix: str) -> CheckResult:
    """All published reviews with a telephone number are hidden."""
    wanted = _wanted(evidence, prefix)
    after = evidence.tables_after
    done = {n for n in wanted if after.rows("shop_review", id=n, status="hidden")}
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} reviews are hidden")
    told = f"still published: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence, prefix: str) -> CheckResult:
    """Every other review has the status that it had."""
    wanted = _wanted(evidence, prefix)
    for status in ("published", "hidden"):
        before = {r["id"] for r in evidence.tables_before.rows("shop_review", status=status)}
        after = {r["id"] for r in evidence.tables_after.rows("shop_review", status=status)}
        if wrong := (before ^ after) - wanted:
            return CheckResult(CheckStatus.FAIL, f"other reviews that changed: {sorted(wrong)}")
    return CheckResult(CheckStatus.PASS, "the others are as they were")


def _wanted(evidence: Evidence, prefix: str) -> set[Json]:
    number = re.compile(rf"{prefix} 555 \d")
    rows = evidence.tables_before.rows("shop_review", status="published")
    return {row["id"] for row in rows if number.search(str(row["text"])[:500])}
