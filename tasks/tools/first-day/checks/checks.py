"""Checks everybody whom the agent ever invited, withdrawn invitations included."""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence

INVITES = {"calendar_create": "people", "calendar_invite": "add"}


def invited_only(evidence: Evidence, people: list[int]) -> CheckResult:
    """No call of the agent's invited anybody else to a meeting."""
    for call in evidence.calls:
        if call.actor != "agent" or not call.ok or call.tool not in INVITES:
            continue
        others = {int(p) for p in call.arguments.get(INVITES[call.tool]) or []} - set(people)
        if others:
            message = f"{call.tool} invited {sorted(others)}; expected nobody but {people}"
            return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "nobody else was invited")
