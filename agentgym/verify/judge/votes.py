"""Combine many votes into one judgement.

A criterion is met if more than half of all votes say yes, and not met if more than half say no.
Anything else, including a tie, is unclear. On a scale the lower median counts: for an even number
of votes, the lower of the two middle ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.records import Criterion, Judgement, Met, Vote


def count(criterion: Criterion, votes: Sequence[Vote], judge: str) -> Judgement:
    """Return the judgement of the votes, at least one."""
    if criterion.levels:
        order = [level.name for level in criterion.levels]
        ranks = sorted(order.index(vote.answer) for vote in votes)
        level = criterion.levels[ranks[(len(ranks) - 1) // 2]]
        met, answer, score = None, level.name, level.score
    else:
        answers = [vote.answer for vote in votes]
        met = next((m for m in (Met.YES, Met.NO) if 2 * answers.count(m) > len(votes)), Met.UNCLEAR)
        answer, score = met.value, float(met is Met.YES)
    speaker = next((vote for vote in votes if vote.answer == answer), votes[0])
    return Judgement(
        met=met,
        level=answer if criterion.levels else "",
        score=score,
        reasons=speaker.reasons,
        cited=speaker.cited,
        votes=tuple(votes),
        judge=judge,
    )
