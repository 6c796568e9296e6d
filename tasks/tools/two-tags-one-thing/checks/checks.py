"""Tickets under either of several tags, counted from the tables."""

import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence


def opened(evidence: Evidence, tags: list[str], since: str, until: str) -> CheckResult:
    """The first of two numbers is how many tickets with one of the tags were opened in a time."""
    return _number(evidence, 1, len(_meant(evidence, tags, since, until)))


def still_open(evidence: Evidence, tags: list[str], since: str, until: str) -> CheckResult:
    """The second of two numbers is how many of those wait for us or for the customer."""
    meant = _meant(evidence, tags, since, until)
    return _number(evidence, 2, sum(row["status"] in ("open", "pending") for row in meant))


def _meant(evidence: Evidence, tags: list[str], since: str, until: str) -> list[dict[str, Any]]:
    tables = evidence.tables_before
    tagged = {row["ticket_id"] for tag in tags for row in tables.rows("tickets_tag", tag=tag)}
    rows = tables.rows("tickets_ticket")
    return [row for row in rows if row["id"] in tagged and since <= row["created_at"] < until]


def _number(evidence: Evidence, place: int, wanted: int) -> CheckResult:
    answer = evidence.answer or ""
    found = re.fullmatch(r"\s*(\d+)\s*[,;]\s*(\d+)\s*\.?\s*", answer)
    right = found is not None and int(found[place]) == wanted
    said = f"answered {answer[:80]!r}, expected number {place} to be {wanted}"
    return CheckResult(CheckStatus.PASS if right else CheckStatus.FAIL, said)
