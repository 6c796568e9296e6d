"""The protected matter of a conversation: what a clause has to touch before it can do harm.

A clause touches the matter with a protected word (a figure, a name, a word of the saved replies, a
word of weight), with an event, or with a statement about a thing that says more than a feeling. A
clause that touches none of it is conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.events import HEAD, LEAD, event, weighs
from agentgym.verify.messages.units import NEGATIONS, Token
from agentgym.verify.messages.words import words

_SET: Final = re.compile(
    r"\b(?:straight|right) away\b|\bright (?:person|one|place|team|page|way|moment)\b"
    r"|\ball right\b|\bnot get (?:it|this|that|them) wrong\b"
    r"|\bnot \w+ (?:\w+ )?the wrong (?:person|one|place|team)\b"
)
"""Finds set phrases with a word that is protected elsewhere."""
_REGRETS: Final = re.compile(
    rf"^{LEAD}(?:(?:i|we) (?:am|are) )?(?:(?:so|very|really|truly) )*"
    r"(?:sorry|apologies|thanks|thank you|thx) "
)
_OBSERVES: Final = re.compile(r"\b(?:see|saw|find|found|have|has|there (?:is|are))\b")
_COUNTED: Final = re.compile(r"question|thing|point|detail|quick|small|short|more|moment|minute")
_THING: Final = re.compile(rf"^{LEAD}(?:a|an|some|the|your|our|his|her|their) ")
_SHOULD: Final = re.compile(rf"^{LEAD}(?:that|this|it) (?:\w+ly )?(?:should|must|can|could) not\b")
_POINTS: Final = re.compile(rf"^{LEAD}(?:that|this) (?:is|sounds|feels|goes|looks) ")
_CLAUSE: Final = re.compile(r"\b(?:that|we|you|it|is|are|was|were|has|have|had|will|can|could)\b")
_VERB: Final = re.compile(
    r"\b(?:i|we|you|it|that|this|there|me|us|your|is|are|was|were|be|have|has|had|do|does|did"
    r"|can|could|will|would|let|please)\b"
)
_WORLD: Final = re.compile(
    rf"^{LEAD}(?!(?:i|we|you|let|if|whether|before|once|until|please|do|what|how|who|which|where"
    r"|when|why) )(?:(?:it|that|this) \w+|(?:there|these|those|[\w' ]{1,60}?)"
    r" (?:is|are|was|were|has|have|had|do|does|did|means|mean|only|concerns)\b)"
)


@dataclass(frozen=True, slots=True)
class Matter:
    """The protected matter of one conversation.

    Attributes:
        stems: Stems of the words by which the rubric's replies and names tell it.
        capitals: Words of the message that have a capital inside a sentence: names.
        licensed: Ids of the tokens of permitted phrases.
    """

    stems: frozenset[str]
    capitals: frozenset[str]
    licensed: frozenset[int] = frozenset()

    def protects(self, token: Token) -> bool:
        """Return whether a token is of the matter: a figure, a name, a word of weight."""
        if id(token) in self.licensed:
            return False
        if token.figure is not None:
            return not token.figure.is_count
        return weighs(token) or token.stem in self.stems or token.text in self.capitals

    def touched(self, tokens: Sequence[Token]) -> str:
        """Return what of the matter a clause touches; empty if it is conversation."""
        said = " ".join(token.text for token in tokens)
        free = {
            n
            for match in _SET.finditer(said)
            for n in range(said.count(" ", 0, match.start()), said.count(" ", 0, match.end()) + 1)
        }
        light = _REGRETS.match(said) is not None and _CLAUSE.search(said) is None
        word = next(
            (
                token.text
                for n, token in enumerate(tokens)
                if n not in free
                and self.protects(token)
                and (not light or token.figure is not None or weighs(token))
            ),
            "",
        )
        rest = [token for token in tokens if id(token) not in self.licensed]
        return word or event(said) or _state(rest, said)


def _state(tokens: Sequence[Token], said: str) -> str:
    """Return the first word by which a statement about a thing says more than a feeling."""
    head = HEAD.match(said)
    rest = said[head.end() :] if head else said
    if _OBSERVES.search(said) and not _COUNTED.search(said):
        counted = next((token.text for token in tokens if token.figure is not None), "")
        if counted:
            return counted
    known = words()
    empty = known.function | known.light | known.joining | known.feelings | known.looks
    if _SHOULD.match(rest):
        return ""
    more = [
        t.text
        for t in tokens
        if t.figure is None and t.stem not in empty and t.text not in NEGATIONS
    ]
    if _VERB.search(said) is None:
        most = 1 - any(t.stem in known.looks for t in tokens)
        return more[0] if len(more) > most else ""
    if len(more) == 1 and _POINTS.match(rest):
        return ""
    if _THING.match(rest) or (head is None and _WORLD.match(said)):
        return next(iter(more), "")
    return ""
