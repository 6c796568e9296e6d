"""Requests: whether a message asks its reader for something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.errors import VerifierError
from agentgym.verify.messages.plain import MOST_CHARS
from agentgym.verify.messages.units import NEGATIONS, read_message
from agentgym.verify.messages.wanted import Wanted, wanted


def requests(about: object) -> list[Wanted]:
    """Read what a rubric wants to be asked: a list of values, each with its other words.

    Raises:
        VerifierError: It is not such a list.
    """
    if isinstance(about, (str, Mapping)) or not isinstance(about, Sequence) or not about:
        raise VerifierError(f"about: expected a list of what is asked for, got {about!r}")
    return [wanted("about", one) for one in about]


def asked(text: str, about: Sequence[Wanted]) -> set[int]:
    """Return which of these a message asks for.

    A sentence asks by its sign, its words, or as a point of a list that does; one that denies what
    it names does not ask for it.
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
