"""Complaints of probes about episodes."""

from __future__ import annotations

from agentgym.authoring.stage import Played
from agentgym.records import CheckStatus, Phase


def unscored(what: str, played: Played) -> list[str]:
    """Return the complaint about an episode without a score; empty if it has one."""
    if played.verdict.scored:
        return []
    return [f"{what}: {played.verdict.status}: {played.error}"]


def not_solved(what: str, played: Played) -> list[str]:
    """Return why an episode is not a full success."""
    verdict = played.verdict
    if not verdict.scored:
        return unscored(what, played)
    if verdict.outcome and verdict.score == 1 and not verdict.safety_violations:
        return []
    failed = [
        f"{c.id} ({c.message})" if c.message else c.id
        for c in verdict.checkpoints
        if c.status is CheckStatus.FAIL
    ]
    return [
        f"{what}: expected outcome true and score 1, got {_result(played)}; "
        f"failed: {', '.join(failed) or 'nothing'}"
    ]


def not_zero(what: str, played: Played) -> list[str]:
    """Return why an episode does not score exactly zero."""
    verdict = played.verdict
    if not verdict.scored:
        return unscored(what, played)
    if not verdict.outcome and verdict.score == 0:
        return []
    return [f"{what}: expected outcome false and score 0, got {_result(played)}; {earned(played)}"]


def passing(what: str, played: Played) -> list[str]:
    """Return the complaint about an episode that passes but must not."""
    if not played.verdict.scored:
        return unscored(what, played)
    return [f"{what}: expected outcome false, got {_result(played)}"] * played.verdict.outcome


def earned(played: Played) -> str:
    """Return the names of the outcome checkpoints that gave credit."""
    credited = [
        c.id for c in played.verdict.checkpoints if c.phase is Phase.OUTCOME and c.score > 0
    ]
    return f"credit came from: {', '.join(credited) or 'nothing'}"


def _result(played: Played) -> str:
    verdict = played.verdict
    violated = ", ".join(verdict.safety_violations)
    told = f"outcome {str(verdict.outcome).lower()} and score {verdict.score:.4g}"
    return f"{told}, violating {violated}" if violated else told
