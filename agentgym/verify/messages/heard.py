"""The earlier words of a message's reader: figures, statements and wishes.

A statement has a verb that asserts ("my ticket is late"). Every other part of a sentence may be a
wish: a question, an order, a fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.plain import capitals_of, plain
from agentgym.verify.messages.units import NEGATIONS, Token, read_message
from agentgym.verify.messages.words import words

_ASSERTS: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|have|has|had|can not|do not|did|will not|told|said)\b"
)
_WISHES: Final = re.compile(
    r"\b(?:would|want|wish|like to|need|please|let (?!me\b)|can (?:i|we|you|he|she|it)"
    r"|could (?:i|we|you|he|she|it)|have to|should|expect|hope)\b"
)
_ASKS: Final = re.compile(
    r"^(?:(?:and|but|so|then|well|now) )*(?:who|whom|whose|what|which|when|where|why|how|is"
    r"|are|was"
    r"|were|do|does|did|has|have|can|could|will|would|may|shall|should)\b"
)
_ORDERS: Final = re.compile(
    r"^(?:(?:and|but|so|then|well|now|no|just|oh|fine|do) )*(?!(?:i|we|you|he|she|it|they"
    r"|there|that"
    r"|this|these|those|the|a|an|my|our|your|his|her|their|perhaps|maybe|yes|good|until|from|of|in"
    r"|on|at|for|with|about|by|thank|thanks)\b)(?!half |let (?:me|us))[a-z]+ (?:a|an|the|it"
    r"|them|me|us|him|her|this|that"
    r"|these|those|my|our|your|his|what|whatever|all|everything|out|up|in|on|to|for|of|and|[a-z]+ "
    r"(?:instead|out|off|back|up|away))\b"
)
_OPEN: Final = re.compile(
    r"^(?:(?:and|but|so|then|well|now) )*(?:who|whom|whose|which|when|where"
    r"|what(?! about)(?! if)|how(?! about))\b"
)
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b")
_STATES: Final = re.compile(
    r"^(?:(?:and|but|so|well|now|no|oh) )*(?:i|we|you|he|she|it|they|there)\b"
)
_OTHERS: Final = frozenset(("she", "he", "they", "her", "him", "them"))
_SHORT: Final = 4
"""Most words of a fragment that answers a question, and wishes for nothing: "Vaultdrive"."""
_ADDRESSES: Final = frozenset(("email", "phone", "id", "url"))


@dataclass(frozen=True, slots=True)
class Said:
    """A part of a sentence of the reader.

    Attributes:
        stems: Stems of its words, in order.
        figures: Readings of its figures.
        denied: Whether it denies something.
        is_wish: Whether it may be a wish or a question.
        is_open: Whether it is a question that "yes" cannot answer.
        is_own: Whether it is about the reader: "my ticket is late".
        asserts: Whether it has a verb that asserts.
    """

    stems: tuple[str, ...]
    figures: tuple[Reading, ...]
    denied: bool
    is_wish: bool
    is_open: bool
    is_own: bool
    asserts: bool


class Heard:
    """The words of the reader, oldest first.

    Args:
        opening: What it said or wrote before the conversation.
        later: Its messages in the conversation.
    """

    def __init__(self, opening: Iterable[str] = (), later: Sequence[str] = ()) -> None:
        self.texts: Final = [*opening, *later]
        parts = [list(_parts(text)) for text in self.texts]
        self.said: Final = [one for some in parts for one in some]
        self.last: Final = parts[-1] if parts else []
        self.plain_texts: Final = [plain(text) for text in self.texts]
        self.stems: Final = frozenset(stem for one in self.said for stem in one.stems)
        self.figures: Final = [reading for one in self.said for reading in one.figures]
        self.is_opening: Final = not later
        self.names_in_last: Final = capitals_of(self.texts[-1]) if later else frozenset[str]()
        self.tells_of_others: Final = any(_OTHERS & set(text.split()) for text in self.plain_texts)

    @property
    def has_wish(self) -> bool:
        """Whether the last message may hold a wish that an assent would grant."""
        return any(one.is_wish and not one.is_open for one in self.last)

    @property
    def has_matter(self) -> bool:
        """Whether the wishes and questions of the last message name a thing: "can I have it" does.

        "Is somebody looking after it?" names none, so that a reply of any content can answer it.
        """
        known = words()
        empty = known.light | known.function | known.asking | known.refusing
        empty -= known.protected
        wishes = [one for one in self.last if one.is_wish]
        return any(one.is_own or set(one.stems) - empty for one in wishes)

    def knows(self, token: Token) -> bool:
        """Return whether the reader has used a word or told a figure."""
        if token.figure is not None:
            return token.figure.means(self.figures)
        return token.stem in self.stems

    def tells(self, token: Token) -> bool:
        """Return whether a token is an address or a number of a thing that the reader has told."""
        if token.figure is None or not self.knows(token):
            return False
        kinds = token.figure.kinds()
        return bool(kinds & {*_ADDRESSES, "number"}) and not kinds & {"amount", "percent", "time"}

    def states(self, tokens: Sequence[Token], *, own: bool) -> bool:
        """Return whether one statement of the reader has all these words, as much denied as here.

        Args:
            tokens: The tokens, without those that carry no content.
            own: Whether it has to be about the reader.
        """
        denied = any(token.text in NEGATIONS for token in tokens)
        rest = [token for token in tokens if token.text not in NEGATIONS]
        return any(
            not one.is_wish
            and one.denied is denied
            and one.asserts
            and (one.is_own or not own)
            and all(_holds([one], token) for token in rest)
            for one in self.said
        )

    def repeats(self, tokens: Sequence[Token], *, wishes: bool = False) -> bool:
        """Return whether the reader has said these words and figures, as much denied as here.

        Args:
            tokens: The tokens, without those that carry no content.
            wishes: Whether a wish may be what is repeated; otherwise a statement is.
        """
        denied = any(token.text in NEGATIONS for token in tokens)
        rest = [token for token in tokens if token.text not in NEGATIONS]
        some = [one for one in self.said if one.denied is denied and (wishes or not one.is_wish)]
        if denied:
            return any(all(_holds([one], token) for token in rest) for one in some)
        return all(_holds(some, token) for token in rest)


def _holds(some: Sequence[Said], token: Token) -> bool:
    if token.figure is not None:
        return any(token.figure.means(one.figures) for one in some)
    return any(token.stem in one.stems for one in some)


def _parts(text: str) -> Iterable[Said]:
    for unit in read_message(plain(text)).units:
        for segment in unit.segments():
            said = " ".join(token.text for token in segment)
            figures = tuple(r for t in segment if t.figure is not None for r in t.figure.readings)
            stems = tuple(t.stem for t in segment if t.figure is None)
            denied = any(token.text in NEGATIONS for token in segment)
            asserts = _ASSERTS.search(said) is not None
            asks = _ASKS.match(said) is not None and "?" in unit.text
            is_last = segment[-1] is unit.tokens[-1] and "?" in unit.text
            wish = asks or is_last or _WISHES.search(said) is not None
            states = asserts or _STATES.match(said) is not None or len(segment) <= _SHORT
            wish = wish or not states or _ORDERS.match(said) is not None
            is_open = asks and _OPEN.match(said) is not None
            yield Said(stems, figures, denied, wish, is_open, bool(_OWN.search(said)), asserts)
