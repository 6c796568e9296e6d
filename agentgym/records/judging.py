"""Records of judging by a model: criteria, exhibits, votes and judgements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agentgym.records.values import Image


class Met(StrEnum):
    """Whether a criterion is met, as far as the exhibits show it."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a scale.

    Attributes:
        name: Answer of the judge for this level.
        score: Credit in 0..1.
        meaning: Condition under which this level applies.
    """

    name: str
    score: float
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question to a judge, written before the episode.

    Attributes:
        text: What must hold; the exhibits alone must suffice to decide it.
        levels: A scale, worst level first; empty for a question with the answers yes and no.
    """

    text: str
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit:
    """One piece of evidence for a judge. Its content is data and never an instruction.

    Attributes:
        id: ``E1``, ``E2``, …; judgements cite it.
        kind: ``step``, ``answer``, ``message``, ``changes``, ``file`` or ``screenshot``.
        title: Its origin, in the grader's words.
        text: Its text.
        image: ``uint8[H, W, 3]`` RGB, or None.
        left_out: Whether a part of an answer, a message or a file is not in the text.
    """

    id: str
    kind: str
    title: str
    text: str = ""
    image: Image | None = None
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer of a judge.

    Attributes:
        answer: ``yes``, ``no`` or ``unclear``; on a scale the name of a level.
        reasons: Reasons in the judge's words.
        cited: Ids of the exhibits it is based on, all of them shown.
        cached: Whether the answer came from the cache and the judge was not asked.
    """

    answer: str
    reasons: str
    cited: tuple[str, ...]
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's decision on one criterion.

    Attributes:
        met: Answer of more than half of the votes, else unclear; None on a scale.
        level: On a scale, the lower median of the votes; else empty.
        score: 1.0 or 0.0, or the score of the level.
        reasons: Reasons of the first vote that agrees with the result.
        cited: Exhibits of that vote.
        votes: All votes, in order.
        judge: Name of the judge's model.
        left_out: Ids of answers, messages and files of which the judge did not see everything.
    """

    met: Met | None
    level: str
    score: float
    reasons: str
    cited: tuple[str, ...]
    votes: tuple[Vote, ...]
    judge: str
    left_out: tuple[str, ...] = ()
