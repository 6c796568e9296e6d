"""Checks that the agent has read the invoices of both years."""

from agentgym import CheckResult, CheckStatus, Evidence


def read_both(evidence: Evidence) -> CheckResult:
    """Calls showed an invoice from the list of last year and one from this year's."""
    shown = str([call.result for call in evidence.calls if call.actor == "agent"])
    missing = [number for number in ("INV-65453", "INV-59799") if number not in shown]
    said = f"never seen: {missing}" if missing else "both lists were read"
    return CheckResult(CheckStatus.FAIL if missing else CheckStatus.PASS, said)
