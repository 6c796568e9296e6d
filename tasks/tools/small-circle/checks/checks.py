"""Checks the members of a new channel and the mentions in it."""

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables

ME = 1


def members(evidence: Evidence, name: str, larger: str, office: str) -> CheckResult:
    """All members of the larger channel from this office are in it; credit is their share."""
    wanted, found = _concerned(evidence, larger, office), _people(evidence.tables_after, name)
    if wanted <= found:
        return CheckResult(CheckStatus.PASS, f"people {sorted(found)}")
    share = len(found & wanted) / len(wanted)
    said = f"people {sorted(found)}, expected {sorted(wanted)}"
    return CheckResult(CheckStatus.FAIL, said, share)


def nobody_else(evidence: Evidence, name: str, larger: str, office: str) -> CheckResult:
    """Nobody else is in the channel, except the agent's own colleague."""
    others = _people(evidence.tables_after, name) - _concerned(evidence, larger, office) - {ME}
    said = f"not concerned: people {sorted(others)}" if others else "only those concerned"
    return CheckResult(CheckStatus.FAIL if others else CheckStatus.PASS, said)


def mentioned(evidence: Evidence, name: str, handle: str) -> CheckResult:
    """A message in the channel mentions a person."""
    after = evidence.tables_after
    numbers = [
        mention["person_id"]
        for message in _messages(after, name)
        for mention in after.rows("chat_mention", message_id=message["id"])
    ]
    found = [after.one("contacts_person", id=number)["handle"] for number in numbers]
    right = handle in found
    said = f"mentioned {found}, expected {handle!r}"
    return CheckResult(CheckStatus.PASS if right else CheckStatus.FAIL, said)


def _concerned(evidence: Evidence, larger: str, office: str) -> set[int]:
    before = evidence.tables_before
    there = {p["id"] for p in before.rows("contacts_person", office=office, status="active")}
    return (_people(before, larger) & there) - {ME}


def _messages(tables: Tables, name: str) -> list[dict[str, Any]]:
    channel = tables.one("chat_channel", name=name)
    return tables.rows("chat_message", channel_id=channel["id"], deleted=0) if channel else []


def _people(tables: Tables, name: str) -> set[int]:
    channel = tables.one("chat_channel", name=name)
    rows = tables.rows("chat_member", channel_id=channel["id"]) if channel else []
    return {row["person_id"] for row in rows}
