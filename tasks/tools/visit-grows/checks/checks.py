"""Checks the final visit, and the mails to Mateo after he changed his mind."""

from __future__ import annotations

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence

TITLE = "visit of granite"
SENDS = ("forms_send_mail", "mail_send", "mail_reply", "mail_forward", "mail_send_draft")


def one_visit(
    evidence: Evidence, start: str, end: str, room: int, people: list[int]
) -> CheckResult:
    """There is one meeting with this title, time, room and these people."""
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


def told_once(evidence: Evidence, email: str, days: list[str]) -> CheckResult:
    """There is at most one mail between two changes, and exactly one after the last.

    A mail about a day that he had given up by then is one mail more than necessary: `days` are
    those that he asked for, at first and with each change.
    """
    counts = [0]
    for call in evidence.calls:
        if call.tool.startswith("event "):
            counts.append(0)
        elif call.actor == "agent" and call.tool in SENDS:
            mails = {change.rowid for change in call.changed if change.table == "mail_message"}
            sent = [mail for mail in mails if _went_to(evidence, mail, email)]
            wanted = days[min(len(counts), len(days)) - 1]
            for day in (day for mail in sent for day in _days(evidence, mail) if day != wanted):
                message = f"a mail has {day}, after he had asked for {wanted}"
                return CheckResult(CheckStatus.FAIL, message)
            counts[-1] += len(sent)
    if counts[-1] != 1 or max(counts) > 1:
        message = f"expected one mail after the last change, at most one before each; got {counts}"
        return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "one mail after the last change of mind")


def _days(evidence: Evidence, mail: Any) -> list[str]:
    """Return the days in the form that a mail was made of."""
    tables = evidence.tables_after
    return [
        value["value"]
        for form in tables.rows("forms_filled", message_id=mail)
        for value in tables.rows("forms_value", filled_id=form["id"], field="day")
    ]


def _went_to(evidence: Evidence, mail: Any, email: str) -> bool:
    tables = evidence.tables_after
    to = [row["email"] for row in tables.rows("mail_recipient", message_id=mail)]
    return email in to and bool(tables.rows("mail_message", id=mail, folder_id=2))
