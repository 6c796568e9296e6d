"""Handling of a judge without a usable answer: an outage, or an effect of the exhibits.

An agent's text may make a model refuse, babble or run out of context. This must not leave the
episode unscored. The judge therefore gets a reduced set of exhibits, then an empty control. If it
answers only the control, the exhibits are the cause and the criterion is not met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentgym.errors import VerifierError
from agentgym.records import Criterion, Exhibit, Judgement, Met, Vote
from agentgym.verify.judge.exhibits import cut, is_written, shortened
from agentgym.verify.judge.votes import count

REDUCED_CHARS = 6_000
MOST_REDUCED = 40
_LEAST_CHARS = 60
_TITLE_CHARS = 120

WITHHELD_CHARS = 1_000
"""Length from which a text that made a judge write without end is not shown to it again."""

CONTROL = (Exhibit("E1", "answer", "The agent ended the episode with an empty answer"),)


class UnansweredError(VerifierError):
    """Raised if the endpoint works but the answer is unusable; the exhibits may be the cause."""


class LateAnswerError(UnansweredError):
    """Raised if the answer is not complete in time: the server is slow, or writes without end."""


class FailedAnswerError(UnansweredError):
    """Raised if the server keeps failing: it is down, or cannot read what stands in an exhibit."""


def reduced(exhibits: Sequence[Exhibit]) -> list[Exhibit]:
    """Return exhibits without pictures, the longest texts cut to about `REDUCED_CHARS` in all.

    If there are very many, the first and the last are kept, with their old ids.
    """
    half = MOST_REDUCED // 2
    few = len(exhibits) <= MOST_REDUCED
    kept = list(exhibits) if few else [*exhibits[:half], *exhibits[-half:]]
    limit = _limit([len(exhibit.text) for exhibit in kept])
    smaller = [_smaller(exhibit, limit) for exhibit in kept]
    if not few and any(is_written(exhibit) for exhibit in exhibits[half:-half]):
        smaller[half] = replace(smaller[half], left_out=True)
    return smaller


def blamed(criterion: Criterion, votes: int, judge: str, problem: UnansweredError) -> Judgement:
    """Return the judgement for exhibits that prevent the judge's answer: not met."""
    worst = criterion.levels[0].name if criterion.levels else Met.NO.value
    told = (
        "the judge refused, or gave no usable answer about what was left, whole or shortened, and "
        f"answers about an empty exhibit: {problem}; see docs/judging.md"
    )
    return count(criterion, [Vote(worst, told, ())] * votes, judge)


def withheld(exhibit: Exhibit) -> Exhibit:
    """Return an exhibit without its content, which kept the judge from answering before."""
    told = "[left out: about it, whole or shortened, you gave no answer in time]"
    smaller = replace(exhibit, title=cut(exhibit.title, _TITLE_CHARS), image=None)
    return shortened(smaller, told)


def _limit(sizes: Sequence[int]) -> int:
    """Return the length at which to cut: short texts stay whole, long ones share the rest."""
    left, limit = REDUCED_CHARS, REDUCED_CHARS
    for place, size in enumerate(sorted(sizes)):
        limit = left // (len(sizes) - place)
        if size > limit:
            break
        left -= size
    return max(limit, _LEAST_CHARS)


def _smaller(exhibit: Exhibit, limit: int) -> Exhibit:
    text = cut(exhibit.text, limit)
    if exhibit.image is not None:
        text = f"{text}\n[the picture is left out]".lstrip("\n")
    smaller = replace(exhibit, title=cut(exhibit.title, _TITLE_CHARS), image=None)
    return shortened(smaller, text)
