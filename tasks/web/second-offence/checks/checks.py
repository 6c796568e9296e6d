"""Checks which posts are hidden and who is suspended."""

import json
from datetime import datetime, timedelta

from agentgym import CheckResult, CheckStatus, Evidence

_NOW = datetime(2026, 3, 2)


def hidden(evidence: Evidence) -> CheckResult:
    """All posts with private data are hidden, for the reason that was asked for."""
    wanted = set(_right(evidence)["posts"])
    rows = evidence.tables_after.rows("forum_post", status="hidden")
    done = {row["id"] for row in rows if str(row["reason"])[:99].strip(" .") == "Rule 2"} & wanted
    told = f"{len(done)} of {len(wanted)} posts are hidden as asked for"
    if done == wanted:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def suspended(evidence: Evidence, days: int) -> CheckResult:
    """Whoever was suspended before is suspended, for so many days and for this reason."""
    wanted = set(_right(evidence)["again"])
    until = (_NOW + timedelta(days=days)).date().isoformat()
    after = evidence.tables_after
    log = {
        str(row["target"])
        for row in after.rows("forum_log", what=f"suspended for {days} days")
        if str(row["reason"])[:99].strip(" .") == "Rule 2, again"
    }
    done = {
        user
        for user in wanted
        for row in after.rows("forum_user", id=user)
        if str(row["suspended_until"])[:10] == until and f"user {row['handle']}" in log
    }
    told = f"{len(done)} of {len(wanted)} members are suspended as asked for"
    if done == wanted:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def no_other(evidence: Evidence) -> CheckResult:
    """No other post was hidden, and no other member was suspended."""
    right, before, after = _right(evidence), evidence.tables_before, evidence.tables_after
    old, new = (
        {row["id"] for row in tables.rows("forum_post", status="hidden")}
        for tables in (before, after)
    )
    wrong = [f"post {number}" for number in (old ^ new) - set(right["posts"])]
    until = {row["id"]: row["suspended_until"] for row in before.rows("forum_user")}
    wrong += [
        f"user {row['id']}"
        for row in after.rows("forum_user")
        if row["id"] not in right["again"] and until.get(row["id"]) != row["suspended_until"]
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"that should have stayed: {wrong[:9]}")
    return CheckResult(CheckStatus.PASS, "no other post and no other member")


def _right(evidence: Evidence) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads(evidence.gold("right.json"))
    return found
