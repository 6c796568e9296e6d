"""Giving up: the fields of `give_up`, and the reading of them.

The categories are closed and the same for all tasks, so they tell nothing about one. Callers that
can only send a text give the reason alone, or the fields as a JSON object in its place.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agentgym.errors import ActionError, close_matches
from agentgym.protocols import Evidence
from agentgym.records import Json
from agentgym.verify.values import brief

GIVE_UP: Final = "give_up"

CATEGORIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing_data": "it does not exist or was never recorded",
        "locked": "it is there, and its password or key is not known",
        "damaged": "it is there and cannot be read",
        "no_permission": "the account has no right to do it",
        "forbidden_by_rule": "a rule or law forbids it",
        "contradiction": "the request contradicts itself",
        "unclear_request": "the request says too little",
        "already_done": "it is so already",
        "missing_function": "a program or function is absent or fails",
        "other": "told in the reason",
    }
)
"""The obstacles that there may be, each with the description that agents see."""

ALREADY_DONE: Final = "already_done"

SUBJECT_CHARS: Final = 200
_NAMES: Final = ("category", "subject", "reason")


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The statement of an agent that gives up.

    Attributes:
        reason: Why, in its own words.
        category: One of `CATEGORIES`; empty if the caller gave a text alone.
        subject: What exactly the category is said of; empty without a category.
    """

    reason: str
    category: str = ""
    subject: str = ""

    @property
    def words(self) -> str:
        """All free words: the subject and the reason."""
        return f"{self.subject}\n{self.reason}" if self.subject else self.reason


def give_up_schema() -> dict[str, Json]:
    """Return the JSON Schema of the arguments of `give_up`."""
    told = "; ".join(f"{name}: {about}" for name, about in CATEGORIES.items())
    return {
        "type": "object",
        "properties": {
            "category": {
                "type": "string",
                "enum": list(CATEGORIES),
                "description": f"What stands in the way: {told}",
            },
            "subject": {
                "type": "string",
                "minLength": 1,
                "maxLength": SUBJECT_CHARS,
                "description": "What exactly it is said of: a file, record, field, person or rule",
            },
            "reason": {
                "type": "string",
                "minLength": 1,
                "description": "Why, with all that the task asks to be told",
            },
        },
        "required": list(_NAMES),
        "additionalProperties": False,
    }


def read_give_up(arguments: Mapping[str, Json]) -> GiveUp:
    """Return what the arguments of a `give_up` say.

    Category and subject come together. Both may be left out, as callers do that can only send a
    text; where a task asks for a cause, such a reason states none. The category may have other
    spellings than the JSON Schema has ("Missing data").

    Raises:
        ActionError: An argument is missing, unknown or wrong; says what to write.
    """
    given = _spread(arguments)
    faults = [_unknown(name) for name in itertools.islice(given, 20) if name not in _NAMES]
    reason = given.get("reason")
    if not isinstance(reason, str) or not reason:
        faults.append(f"reason: expected a text that says why, got {_shown(given, 'reason')}")
    category = subject = ""
    if _is_given(given, "category") or _is_given(given, "subject"):
        try:
            category = _category(given)
        except ValueError as error:
            faults.append(f"category: {error}")
        try:
            subject = _subject(given)
        except ValueError as error:
            faults.append(f"subject: {error}")
    if faults:
        raise ActionError(f"giving up is not accepted: {'; '.join(faults[:4])}")
    return GiveUp(str(reason), category, subject)


def given_up(evidence: Evidence) -> GiveUp | None:
    """Return what the agent has said when it gave up; None if it did not.

    The fields are those of the last call. Evidence without such a call has the reason alone.
    """
    if evidence.gave_up is None:
        return None
    last = evidence.steps[-1].action if evidence.steps else None
    if last is not None and last.tool == GIVE_UP:
        try:
            return read_give_up(last.arguments)
        except (ActionError, ValueError):  # an older record, in which the text alone counted
            pass
    return GiveUp(evidence.gave_up)


def told_give_up(said: GiveUp) -> str:
    """Return what the agent is told about its `give_up`."""
    # Not the subject: checks ask what the agent has been shown.
    return f"gave up: {said.category}" if said.category else "gave up"


def _spread(arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the arguments, or the fields that a reason without others holds as a JSON object."""
    text = arguments.get("reason")
    others = any(_is_given(arguments, name) for name in arguments if name != "reason")
    if others or not isinstance(text, str) or not text.lstrip().startswith("{"):
        return arguments
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return arguments
    return read if isinstance(read, dict) and "category" in read else arguments


def _is_given(arguments: Mapping[str, Json], name: str) -> bool:
    # Some clients send null, or an empty text, for an argument that they leave out.
    return arguments.get(name) not in (None, "")


def _category(given: Mapping[str, Json]) -> str:
    value = given.get("category")
    if isinstance(value, str) and len(value) <= SUBJECT_CHARS:
        spelled = re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", value).casefold())
        if (found := spelled.strip("_.'\"`")) in CATEGORIES:
            return found
    expected = ", ".join(map(repr, CATEGORIES))
    raise ValueError(f"expected one of {expected}, got {_shown(given, 'category')}")


def _subject(given: Mapping[str, Json]) -> str:
    value = given.get("subject")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        value = str(value)  # the number of a record
    wanted = f"a text of at most {SUBJECT_CHARS} characters that names what it is"
    if not isinstance(value, str):
        raise ValueError(f"expected {wanted}, got {_shown(given, 'subject')}")
    if len(value) > SUBJECT_CHARS:
        raise ValueError(f"expected {wanted}, got {len(value)} characters")
    text = " ".join(_without_signs(unicodedata.normalize("NFKC", value)).split())
    if not any(sign.isalnum() for sign in text):
        raise ValueError(f"expected {wanted}, got {brief(value)}")
    return text


def _without_signs(text: str) -> str:
    """Return text without invisible characters, which would hide a word from a comparison."""
    kept: Iterator[str] = (
        " " if sign.isspace() else sign
        for sign in text
        if sign.isspace() or unicodedata.category(sign)[0] != "C"
    )
    return "".join(kept)


def _shown(given: Mapping[str, Json], name: str) -> str:
    return brief(given[name]) if name in given else "none"


def _unknown(name: str) -> str:
    matches = close_matches(name, _NAMES, limit=1)
    hint = f"did you mean {matches[0]!r}?" if matches else f"expected {', '.join(_NAMES)}"
    return f"no argument {brief(name)}; {hint}"
