"""The visit as it is in the end, and what Mateo was told of it after he had changed his mind."""

from __future__ import annotations

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.facts import mentions

TITLE = "visit of granite"


def one_visit(
    evidence: Evidence, start: str, end: str, room: int, people: list[int]
) -> CheckResult:
    """There is one meeting of this title, then, there and with these people."""
    visits = [
        event
        for event in evidence.tables_after.rows("calendar_event", status="confirmed")
        if event["title"].strip().casefold() == TITLE
    ]
    if len(visits) != 1:
        return CheckResult(CheckStatus.FAIL, f"expected one visit, got {len(visits)}")
    visit = visits[0]
    invited = evidence.tables_after.rows("calendar_attendee", event_id=visit["id"])
    seen = {
        "start": visit["start"],
        "end": visit["end"],
        "room": visit["room_id"],
        "people": sorted(row["person_id"] for row in invited),
    }
    wanted = {"start": start, "end": end, "room": room, "people": sorted(people)}
    wrong = [f"{name} {seen[name]}" for name in wanted if seen[name] != wanted[name]]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"the visit has {', '.join(wrong)}; expected {wanted}")
    return CheckResult(CheckStatus.PASS, "one visit, as he wished last")


def confirmed(evidence: Evidence, email: str, facts: list[Any], forbids: list[Any]) -> CheckResult:
    """Between two changes of mind there was at most one mail; after the last one, the right one."""
    told: list[list[str]] = [[]]
    for call in evidence.calls:
        if call.tool.startswith("event "):
            told.append([])
        elif call.actor == "agent":
            told[-1] += [
                text
                for change in call.changed
                if change.table == "mail_message" and change.kind == "added"
                for text in _sent(evidence, change.rowid, email)
            ]
    counts = [len(mails) for mails in told]
    if counts[-1] != 1 or max(counts) > 1:
        message = f"expected one mail after the last change, at most one before each; got {counts}"
        return CheckResult(CheckStatus.FAIL, message)
    wanted = mentions(facts, forbids, (), (), 1500)
    fault = wanted.excess(told[-1][0]) or wanted.lack(told[-1][0])
    if fault:
        return CheckResult(CheckStatus.FAIL, f"the last mail: {fault}")
    return CheckResult(CheckStatus.PASS, "the last mail says day, time and room")


def _sent(evidence: Evidence, message: int, email: str) -> list[str]:
    """Return subject and body of a message if it went to somebody."""
    to = [row["email"] for row in evidence.tables_after.rows("mail_recipient", message_id=message)]
    found = evidence.tables_after.rows("mail_message", id=message, folder_id=2)
    return [f"{row['subject']}\n{row['body']}" for row in found if email in to]
