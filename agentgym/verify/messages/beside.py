"""Parts of an account beside its facts: those that only thank or greet, and neutral words.

A neutral word is not a figure or a name. It carries no claim, and neither denies nor limits what is
said.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from agentgym.verify.messages.events import OTHERS, event, weighs
from agentgym.verify.messages.units import NEGATIONS, Token, Unit
from agentgym.verify.messages.words import words

_LONG: Final = 8
_LIMITS: Final = frozenset((
    "has", "have", "had", "was", "were", "been", "will", "can", "could", "may", "must", "might",
    "would", "should", "too", "because", "else", "exception", "possible", "enough",
))  # fmt: skip
_PLACES: Final = frozenset((
    "in", "at", "on", "by", "from", "to", "for", "with", "without", "under", "until", "before",
    "after", "during",
))  # fmt: skip


def take_beside(
    unit: Unit,
    listed: frozenset[str],
    people: frozenset[str],
    capitals: frozenset[str],
    *,
    is_fixed: bool,
) -> None:
    """Account for the parts of a sentence that only thank, greet or regret, and for neutral words.

    A part between two signs that states what is expected may have a neutral word, or two if it is
    long: "28 days *ahead*".

    Args:
        unit: The sentence; what it states is accounted for.
        listed: Stems of the words that the message may use.
        people: Stems of the names of people whom the message may address.
        capitals: Words of the message that have a capital inside a sentence.
        is_fixed: Whether the text is given, so that it has no words of the writer's own.
    """
    known = words()
    free = known.function | known.light | known.report | known.feelings | listed | people
    _take_copula(unit)
    for _, some in itertools.groupby(unit.tokens, key=lambda token: token.segment):
        part = list(some)
        left = [token for token in part if not token.taken]
        more = [token for token in left if token.stem not in free]
        if not left or any(map(_limits, left)):
            continue
        if any(weighs(token) or _names(token, capitals) for token in more):
            continue
        if len(left) == len(part):
            things = [
                t for t in left if t.stem not in known.function | known.light | known.feelings
            ]
            states = bool(things) and any(token.text in ("is", "are") for token in left)
            taken = left if len(more) <= 1 and not states and _is_talk(left, people) else []
        else:
            few = len(more) <= 1 + (len(part) >= _LONG) and not is_fixed
            taken = more if few and not _adds(part, more) else []
        for token in taken:
            token.taken = True


def _take_copula(unit: Unit) -> None:
    """Account for "will be" before an expected figure: "it will be 1,358.88 euros"."""
    tokens = unit.tokens
    for place in range(len(tokens) - 2):
        verb, other, value = tokens[place : place + 3]
        is_value = value.figure is not None and value.taken
        if (verb.text, other.text) == ("will", "be") and is_value:
            verb.taken = other.taken = True


def _is_talk(part: Sequence[Token], people: frozenset[str]) -> bool:
    """Return whether a whole part is about feelings, and names people only to address them."""
    felt = words().feelings - words().function
    names = [place for place, token in enumerate(part) if token.stem in people]
    addresses = names == list(range(len(part) - len(names), len(part)))
    is_talk = addresses and any(token.stem in felt for token in part)
    return is_talk and not event(" ".join(token.text for token in part))


def _limits(token: Token) -> bool:
    """Return whether a token is a figure, or a word that denies, limits, or tells of others."""
    known = words()
    return (
        token.figure is not None
        or token.text in NEGATIONS | OTHERS | _LIMITS
        or token.stem in known.hedges | known.pointed
    )


def _names(token: Token, capitals: frozenset[str]) -> bool:
    return token.text in capitals or not token.text.isascii()


def _adds(part: Sequence[Token], more: Sequence[Token]) -> bool:
    """Return whether words add a place, a time or a deed to what a part states."""
    light, before = words().light - _PLACES, ""
    some = {id(token) for token in more}
    for token in part:
        if id(token) in some and before in _PLACES:
            return True
        if token.stem not in light:
            before = token.text
    return bool(event(" ".join(token.text for token in part)))
