"""Bounds of what a judge is asked: the criterion, its votes and its passages."""

from __future__ import annotations

from agentgym.errors import VerifierError
from agentgym.records import Criterion

MOST_VOTES = 25


def check_question(criterion: Criterion, votes: int, top_k: int) -> None:
    """Refuse an invalid question.

    Raises:
        VerifierError: The text is empty, or the scale or a limit is invalid.
    """
    if not isinstance(criterion.text, str) or not criterion.text.strip():
        raise VerifierError(f"criterion: expected text, got {criterion.text!r}")
    for name, value, least, most in (("votes", votes, 1, MOST_VOTES), ("top_k", top_k, 0, 100)):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise VerifierError(f"{name}: expected {least} to {most}, got {value!r}")
    levels = criterion.levels
    if not levels:
        return
    scores = [level.score for level in levels]
    if len(levels) < 2 or len({level.name for level in levels}) < len(levels):
        raise VerifierError("levels: expected at least two, with names that differ")
    if sorted(set(scores)) != scores or not scores[0] >= 0 or not scores[-1] <= 1:
        raise VerifierError(f"levels: expected scores that rise within 0..1, got {scores}")
