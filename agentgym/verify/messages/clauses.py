"""Clauses: the parts of a sentence that can be asserted or asked one by one.

A clause ends at a sign, before a conjunction with a subject behind it, and where a saved reply
begins or ends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.units import Token, Unit
from agentgym.verify.messages.words import words

_SUBJECTS: Final = frozenset(
    ("i", "we", "you", "it", "that", "this", "she", "he", "they", "there", "who")
)
_OWNERS: Final = frozenset(("the", "your", "our", "my", "his", "her", "their"))
_TURNS: Final = frozenset(
    ("and", "but", "so", "because", "since", "as", "though", "although", "while", "yet", "or")
)
_CONTINUES: Final = frozenset((
    "and", "or", "but", "then", "plus", "with", "until", "till", "by", "for", "at", "in", "on",
    "from", "to", "which", "that", "also", "as", "except", "unless", "if", "within", "before",
    "after", "not",
))  # fmt: skip
"""Words by which a part behind a sign goes on with what a reply says."""
_CONDITIONS: Final = frozenset(("if", "unless", "until", "once", "when", "whether", "while"))
_ELIDED: Final = re.compile(r"(?:would|want|wish|hope|need|expect|prefer)$")
"""A verb whose subject an earlier clause has: "you were charged twice and would like"."""


_FINITE: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|must"
    r"|i|we|you|he|she|they|it)\b"
)
_THING: Final = re.compile(r"(?:and |or |but )*(?:the|your|our|a|an|his|her|both|all|every) ")


@dataclass(slots=True)
class Clause:
    """Words of a sentence that stand together and that nothing accounts for yet.

    Attributes:
        tokens: Its words and figures.
        place: "after" for words that continue a saved reply ("with the team *until Friday*"),
            "before" for words that lead to one ("*I am afraid* I cannot"), else empty.
    """

    tokens: list[Token]
    place: str = ""

    @property
    def text(self) -> str:
        """Return its words."""
        return " ".join(token.text for token in self.tokens)


def clauses(unit: Unit, replied: Sequence[Token]) -> Iterator[Clause]:
    """Yield the clauses of what is left of a sentence.

    Args:
        unit: The sentence.
        replied: The tokens that say saved replies.
    """
    said = {id(token) for token in replied}
    now: list[Token] = []
    place = ""
    for n, token in enumerate(unit.tokens):
        before = unit.tokens[n - 1] if n else None
        is_new = before is None or before.segment != token.segment
        begins = is_new or _begins(unit.tokens, n)
        if now and (token.taken or begins):
            if token.taken and not is_new and id(token) in said:
                place = place or "before"
            yield Clause(now, place)
            now = []
        if token.taken:
            continue
        if not now:
            place = "" if before is None else _place(unit, n, before, begins, said)
        now.append(token)
    if now:
        yield Clause(now, place)


def _place(unit: Unit, n: int, before: Token, begins: bool, said: Collection[int]) -> str:
    """Return the place of a clause that begins at a token."""
    if id(before) not in said:
        return ""
    is_new = before.segment != unit.tokens[n].segment
    opens = is_new and unit.tokens[n].text in _CONTINUES and not _begins(unit.tokens, n)
    return "after" if not begins or opens or _is_elliptic(unit, n) else ""


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a clause begins at a token."""
    word = tokens[place].text
    if word in ("i", "we") and place and tokens[place - 1].taken:  # "… with our team I am afraid"
        return True
    if place + 1 == len(tokens) or tokens[place].taken:
        return False
    after = tokens[place + 1]
    if word in _CONDITIONS:
        return after.text in _SUBJECTS | _OWNERS or after.taken
    if word not in _TURNS:
        return False
    if _ELIDED.match(after.text) and word == "and":
        subjects = [token.text for token in tokens[:place] if token.text in _SUBJECTS]
        return subjects[-1:] == ["you"]
    return after.text in _SUBJECTS | _OWNERS or after.taken or after.text in _CONDITIONS


def _is_elliptic(unit: Unit, place: int) -> bool:
    """Return whether the words up to the next sign have no verb: "…, the copies too"."""
    segment = unit.tokens[place].segment
    said = " ".join(t.text for t in unit.tokens[place:] if t.segment == segment)
    return _FINITE.search(said) is None and _THING.match(said) is not None


def content(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that carry content: figures, and words that are not light or joining."""
    empty = words().joining | words().light
    return [token for token in tokens if token.figure is not None or token.stem not in empty]
