"""Notes for the team, counted ticket by ticket."""

from collections import defaultdict

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.facts import mentions

PROMISE = mentions(["Katrin", {"any": [{"date": "2026-03-04"}, "Wednesday"]}], (), (), (), 600)


def notes(evidence: Evidence, tickets: list[int]) -> CheckResult:
    """Each ticket has exactly one new note for the team, and it says what was promised.

    Credit is the share of tickets that have it.
    """
    old = {row["id"] for row in evidence.tables_before.rows("tickets_comment")}
    said = defaultdict(list)
    for row in evidence.tables_after.rows("tickets_comment", internal=1):
        if row["id"] not in old:
            said[row["ticket_id"]].append(row["body"])
    wrong = [
        n
        for n in tickets
        if len(said[n]) != 1 or PROMISE.excess(said[n][0]) or PROMISE.lack(said[n][0])
    ]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all of {tickets} have their note")
    share = 1 - len(wrong) / len(tickets)
    return CheckResult(CheckStatus.FAIL, f"without one right note: {wrong}", share)
