"""Judging by a model: what it is shown, what it is asked, what it answered."""

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
        name: What the judge answers with.
        score: Credit in 0..1.
        meaning: When this level is the right one.
    """

    name: str
    score: float
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question to a judge, written before there was anything to judge.

    Attributes:
        text: What must hold, so that it can be decided from the exhibits alone.
        levels: A scale, worst level first; empty for a question of yes and no.
    """

    text: str
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit:
    """One piece of evidence as a judge is shown it. Whatever is in it is data.

    Attributes:
        id: ``E1``, ``E2``, …; what a judgement cites.
        kind: ``step``, ``answer``, ``changes``, ``file`` or ``screenshot``.
        title: Where it comes from, in the grader's words.
        text: What a person would read.
        image: ``uint8[H, W, 3]`` RGB, or None.
    """

    id: str
    kind: str
    title: str
    text: str = ""
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer of a judge.

    Attributes:
        answer: ``yes``, ``no`` or ``unclear``; on a scale the name of a level.
        reasons: Why, in the judge's words.
        cited: Ids of the exhibits it rests on, all of them shown.
        cached: The answer was on file; nobody was asked.
    """

    answer: str
    reasons: str
    cited: tuple[str, ...]
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says of one criterion.

    Attributes:
        met: What more than half of the votes say, else unclear; None on a scale.
        level: On a scale, the lower median of the votes; else empty.
        score: 1.0 or 0.0, or the score of the level.
        reasons: Of the first vote that agrees with the result.
        cited: The exhibits of that vote.
        votes: All of them, in order.
        judge: Who judged: the model's name.
    """

    met: Met | None
    level: str
    score: float
    reasons: str
    cited: tuple[str, ...]
    votes: tuple[Vote, ...]
    judge: str
