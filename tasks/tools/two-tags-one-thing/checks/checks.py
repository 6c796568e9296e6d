"""Tickets under either of several tags, counted from the tables."""

import re

from agentgym import CheckResult, CheckStatus, Evidence


def numbers(evidence: Evidence, tags: list[str], since: str, until: str) -> CheckResult:
    """The answer is how many tickets were opened in a time, and how many are not closed.

    The first number alone is worth half; the second counts for nothing without it.
    """
    tables = evidence.tables_before
    tagged = {row["ticket_id"] for tag in tags for row in tables.rows("tickets_tag", tag=tag)}
    meant = [
        row
        for row in tables.rows("tickets_ticket")
        if row["id"] in tagged and since <= row["created_at"] < until
    ]
    live = [row for row in meant if row["status"] in ("open", "pending")]
    wanted = (len(meant), len(live))
    found = re.fullmatch(r"\s*(\d+)\s*[,;]\s*(\d+)\s*\.?\s*", evidence.answer or "")
    if not found:
        return CheckResult(CheckStatus.FAIL, f"answered {evidence.answer!r}, expected two numbers")
    seen = (int(found[1]), int(found[2]))
    said = f"answered {seen}, expected {wanted}"
    if seen == wanted:
        return CheckResult(CheckStatus.PASS, said)
    return CheckResult(CheckStatus.FAIL, said, 0.5 if seen[0] == wanted[0] else 0.0)
