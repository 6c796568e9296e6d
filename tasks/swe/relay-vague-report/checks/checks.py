"""Giving up is right here (docs/swe.md)."""

from collections.abc import Sequence

from agentgym import CheckResult, Evidence
from agentgym.swe.native import judge_declined


def declined(
    evidence: Evidence,
    root: str,
    shown: Sequence[str],
    true: Sequence[object],
    false: str,
) -> CheckResult:
    """The agent looked, changed nothing and gave up for the right reason."""
    return judge_declined(evidence, root, shown, true, false)
