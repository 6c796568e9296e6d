"""Validation of a judge's answers: an answer that does not fit the schema does not count.

Complaints quote nothing of the answer, which may quote an exhibit: complaints are sent back to the
judge outside of every delimiter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.records import Criterion, Exhibit, Met, Vote

_FIELDS = frozenset({"reasons", "cited", "answer", "scores", "id", "relevance"})

T = TypeVar("T", bound=BaseModel)


class UnusableAnswerError(ValueError):
    """Raised if the answer does not fit the schema; its text tells the judge why."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Answer(_Strict):
    reasons: str = Field(min_length=1)
    cited: list[str]
    answer: str


class _Score(_Strict):
    id: str
    relevance: int = Field(ge=0, le=10)


class _Scores(_Strict):
    scores: list[_Score]


def read_vote(value: object, criterion: Criterion, exhibits: Sequence[Exhibit]) -> Vote:
    """Read a decision.

    Raises:
        UnusableAnswerError: A field is missing or wrong, or an unknown exhibit is cited.
    """
    answer = _validate(_Answer, value)
    known = [level.name for level in criterion.levels] or [met.value for met in Met]
    if answer.answer not in known:
        raise UnusableAnswerError(f"'answer' must be one of: {', '.join(known)}")
    shown = [exhibit.id for exhibit in exhibits]
    if strangers := len(set(answer.cited) - set(shown)):
        raise UnusableAnswerError(
            f"{strangers} of the cited ids are not exhibits; they are {', '.join(shown) or 'none'}"
        )
    lowest = criterion.levels[0].name if criterion.levels else None
    credits_something = answer.answer not in (Met.NO, Met.UNCLEAR, lowest)
    if credits_something and not answer.cited and shown:
        raise UnusableAnswerError("'cited' is empty; cite the exhibits that show it")
    return Vote(answer.answer, answer.reasons, tuple(dict.fromkeys(answer.cited)))


def read_relevance(value: object, screens: Sequence[Exhibit]) -> dict[str, int]:
    """Read the relevance of screenshots by id.

    Raises:
        UnusableAnswerError: Not every screenshot has exactly one score.
    """
    scores = _validate(_Scores, value).scores
    ids = [exhibit.id for exhibit in screens]
    if sorted(score.id for score in scores) != sorted(ids):
        raise UnusableAnswerError(f"score each of these exactly once: {', '.join(ids)}")
    return {score.id: score.relevance for score in scores}


def _validate(model: type[T], value: object) -> T:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        known = [part for part in first["loc"] if part in _FIELDS or isinstance(part, int)]
        where = ".".join(map(str, known)) or "the object"
        raise UnusableAnswerError(f"it does not fit the schema: {where}: {first['type']}") from None
