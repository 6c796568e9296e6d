"""Checks the decisions about reports by the posts that they are about."""

import re
from datetime import date, timedelta

from agentgym import CheckResult, CheckStatus, Evidence

_ADVERTISES = re.compile(r"300 euros a day|watches|casino")
_BAD = re.compile(
    r"300 euros a day|watches|casino|idiot|clown|too stupid|Call me about|My order is"
)
_TODAY = date(2026, 3, 2)


def decided(evidence: Evidence, status: str) -> CheckResult:
    """All reports that should have a status have it."""
    wanted = {n for n, right in _right(evidence).items() if right == status}
    rows = evidence.tables_after.rows("forum_flag", status=status)
    done = wanted & {row["id"] for row in rows}
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} reports are {status}")
    told = f"not {status}: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def nothing_wrong(evidence: Evidence) -> CheckResult:
    """No report has the other decision."""
    right = _right(evidence)
    rows = evidence.tables_after.rows("forum_flag")
    wrong = [r["id"] for r in rows if r["status"] not in ("open", right.get(r["id"], r["status"]))]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"decided wrongly: {wrong}")
    return CheckResult(CheckStatus.PASS, "no decision is wrong")


def suspended(evidence: Evidence, days: int) -> CheckResult:
    """Those who have advertised are suspended for so long, and nobody else is."""
    wanted = set()
    for flag in evidence.tables_before.rows("forum_flag", status="open"):
        post = evidence.tables_before.one("forum_post", id=flag["post_id"])
        if post is not None and _ADVERTISES.search(str(post["body"])[:5000]):
            wanted.add(post["author_id"])
    until = [str(_TODAY + timedelta(days=days + extra)) for extra in (0, 1)]
    rows = evidence.tables_after.rows("forum_user")
    done = {row["id"] for row in rows if str(row["suspended_until"])[:10] in until}
    others = {row["id"] for row in rows if row["suspended_until"]} - wanted
    if others or done != wanted:
        told = f"suspended for {days} days: {sorted(done)}, expected {sorted(wanted)}"
        return CheckResult(CheckStatus.FAIL, told)
    return CheckResult(CheckStatus.PASS, f"{len(done)} members are suspended for {days} days")


def _right(evidence: Evidence) -> dict[object, str]:
    """Return the right decision of every open report."""
    right: dict[object, str] = {}
    for flag in evidence.tables_before.rows("forum_flag", status="open"):
        post = evidence.tables_before.one("forum_post", id=flag["post_id"])
        bad = post is not None and _BAD.search(str(post["body"])[:5000])
        right[flag["id"]] = "upheld" if bad else "rejected"
    return right
