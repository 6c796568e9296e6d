"""The hidden tests decide (docs/swe.md)."""

from pathlib import Path

from agentgym import CheckResult, Evidence
from agentgym.swe.native import judge_issue


def resolved(evidence: Evidence) -> CheckResult:
    """The failing tests pass, and the others still do."""
    return judge_issue(evidence, Path(__file__).parent)
