"""Checks today's mails, whether written today or sent from Friday's drafts, wherever they lie."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence

SUBJECT = "your contract in 2026"
DRAFTS = 3
OWN = ("erik.pinto@fairlead.example", "office@fairlead.example")


def no_drafts(evidence: Evidence) -> CheckResult:
    """No draft has the subject."""
    left = [
        row["id"]
        for row in evidence.tables_after.rows("mail_message", folder_id=DRAFTS)
        if row["subject"].strip().casefold() == SUBJECT
    ]
    if left:
        return CheckResult(CheckStatus.FAIL, f"still drafts: {left}")
    return CheckResult(CheckStatus.PASS, "no draft is left")


def nobody_twice(evidence: Evidence, emails: list[str]) -> CheckResult:
    """Today's mails went to these addresses only, one to each, and to one at a time."""
    counts = Counter[str]()
    for mail, to in _today(evidence):
        if len(to) != 1 or to[0] not in emails:
            return CheckResult(CheckStatus.FAIL, f"mail {mail['id']} went to {to}")
        counts[to[0]] += 1
    twice = [email for email, n in counts.items() if n > 1]
    if twice:
        return CheckResult(CheckStatus.FAIL, f"more than one mail to {', '.join(twice)}")
    return CheckResult(CheckStatus.PASS, f"{len(counts)} got one mail each")


def _today(evidence: Evidence) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return what was sent today, each with all its recipients."""
    tables = evidence.tables_after
    old = {mail["id"] for mail in evidence.tables_before.rows("mail_message") if mail["sent_at"]}
    return [
        (mail, [row["email"] for row in tables.rows("mail_recipient", message_id=mail["id"])])
        for mail in tables.rows("mail_message")
        if mail["sent_at"] and mail["sender"] in OWN and mail["id"] not in old
    ]
