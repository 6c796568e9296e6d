"""Answers of cheats: a text as it is, or a form filled in with what a text holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from agentgym.env.answer import submit_tool
from agentgym.records import Action, Json
from agentgym.surfaces.calls import sample_call
from agentgym.task.answer import Answer, AnswerField, AnswerForm
from agentgym.verify.answer_values import read_value

_MOST_WORDS: Final = 20_000
_MOST_FOUND: Final = 100
_STAND_INS: Final = {
    "person": "Ada Quist",
    "name": "Ada Quist",
    "date": "2026-03-02",
    "datetime": "2026-03-02T09:00",
}
"""Values of types that a draw from the schema rarely meets."""
_WORD: Final = re.compile(r"[\w./:@+-]{1,64}")
_NAME: Final = re.compile(r"\b[^\W\d_a-z][^\W\d_]+ [^\W\d_a-z][^\W\d_]+")


def claim(answer: Answer, text: str, turn: int = 0) -> Action:
    """Return a `submit` that claims what a text holds.

    Args:
        answer: The answer that the task asks for.
        text: What the cheat knows or says.
        turn: Which of the values that fit a field it takes, so that several cheats differ.
    """
    if not isinstance(answer, AnswerForm):
        return Action("submit", {"answer": text} if answer == "text" else {})
    drawn = dict(sample_call([submit_tool(answer)], np.random.default_rng(turn)).arguments)
    for field in answer.field:
        found = list(_fitting(field, text))
        if found:
            drawn[field.name] = found if field.list else found[turn % len(found)]
        elif field.type in _STAND_INS:
            drawn[field.name] = [] if field.list else _STAND_INS[field.type]
    return Action("submit", drawn)


def _fitting(field: AnswerField, text: str) -> Iterator[Json]:
    one = field.model_copy(update={"list": False})
    seen: set[Any] = set()
    for value in _candidates(field, text):
        try:
            read = read_value(one, value)
        except ValueError:
            continue
        if read not in seen:
            seen.add(read)
            yield read
        if len(seen) >= _MOST_FOUND:
            return


def _candidates(field: AnswerField, text: str) -> Iterator[Json]:
    if field.type == "choice":
        yield from field.choices
    elif field.type == "yes_no":
        yield from (True, False)
    elif field.type == "person":
        yield from _NAME.findall(text)
    else:
        yield from _WORD.findall(text)[:_MOST_WORDS]
