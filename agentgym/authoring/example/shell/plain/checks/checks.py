"""Checks of this task: they run on the host and read the agent's files from outside."""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence


def holds_number(evidence: Evidence, path: str, gold: str) -> CheckResult:
    """The file holds the number that the setup left as gold, and nothing else."""
    seen = evidence.after.read(path, max_bytes=1000).strip()
    expected = evidence.gold(gold).strip()
    status = CheckStatus.PASS if seen == expected else CheckStatus.FAIL
    return CheckResult(status, f"{path} holds {seen[:80]!r}, expected {expected!r}")
