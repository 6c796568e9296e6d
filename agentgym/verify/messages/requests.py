"""Requests: whether a message asks its reader for something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.errors import VerifierError
from agentgym.verify.messages.plain import MOST_CHARS
from agentgym.verify.messages.units import NEGATIONS, read_message
from agentgym.verify.messages.wanted import Wanted, wanted


def requests(about: object) -> list[Wanted]:
    """Read what a rubric expects a message to ask for: a list of values, each with its synonyms.

    Raises:
        VerifierError: The argument is not such a list.
    """
    if isinstance(about, (str, Mapping)) or not isinstance(about, Sequence) or not about:
        raise VerifierError(f"about: expected a list of what is asked for, got {about!r}")
    return [wanted("about", one) for one in about]


def asked(text: str, about: Sequence[Wanted]) -> set[int]:
    """Return the indexes of the values that a message asks for.

    A sentence asks by its question mark, by its words, or as a point of a list that asks. A
    sentence that denies a value does not ask for it.
    """
    found = set()
    for unit in read_message(text[:MOST_CHARS]).units:
        if not unit.asks:
            continue
        for number, one in enumerate(about):
            for start, _ in one.spans(unit.tokens):
                segment = unit.tokens[start].segment
                before = [t for t in unit.tokens[:start] if t.segment == segment]
                if "?" in unit.text or not any(t.text in NEGATIONS for t in before):
                    found.add(number)
    return found
