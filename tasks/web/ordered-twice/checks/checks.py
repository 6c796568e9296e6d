"""Checks which orders were cancelled."""

import json

from agentgym import CheckResult, CheckStatus, Evidence


def cancelled(evidence: Evidence) -> CheckResult:
    """The second order of every pair that was a mistake is cancelled."""
    wanted = _second(evidence)
    rows = evidence.tables_after.rows("shop_order", status="cancelled")
    done = wanted & {row["id"] for row in rows}
    told = f"{len(done)} of {len(wanted)} orders are cancelled"
    if done == wanted:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence) -> CheckResult:
    """Every other order is as it was."""
    wrong = set()
    # Whatever is moved on leaves one of these.
    for status in ("paid", "packed", "shipped", "cancelled"):
        old, new = (
            {row["id"] for row in tables.rows("shop_order", status=status)}
            for tables in (evidence.tables_before, evidence.tables_after)
        )
        wrong |= old ^ new
    wrong -= _second(evidence)
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"{len(wrong)} orders should have stayed")
    return CheckResult(CheckStatus.PASS, "every other order is as it was")


def _second(evidence: Evidence) -> set[object]:
    return set(json.loads(evidence.gold("second.json")))
