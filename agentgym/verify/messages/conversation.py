"""A conversation that may say only saved replies: they, questions and courtesies make it up.

Everything else is an excess, as in an account. A question is made of words that ask; few others
may be among them, and no weighty ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentgym.errors import VerifierError
from agentgym.verify.messages.assent import Assent, take_assent
from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.figures import Reading, find_figures
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.replies import Reply, read_replies, take_replies
from agentgym.verify.messages.units import NEGATIONS, Token, Unit, read_message
from agentgym.verify.messages.wanted import Wanted, wanted
from agentgym.verify.messages.words import Courtesy, stems, words

_SHOWN: Final = 80
_REQUEST: Final = re.compile(
    r"\?|\b(?:please|pls|kindly)\b|(?:^|[,:;] |\b(?:and|or|so) )(?:tell|give|send|let) (?:me|us)\b"
    r"|\b(?:i|we) (?:\w+ ){0,2}(?:need|require|must (?:have|ask|know)|have to (?:ask|know)|ask"
    r"|would like)\b|\b(?:i|we)'ll need\b|\bremains? to be\b"
    r"|\b(?:number|subject|name|words?|one|either|both|it) would (?:be enough|do|help)\b"
    r"|\b(?:can|could|would|will) you\b|\b(?:may|can|could) (?:i|we) (?:have|ask|know)\b"
)
"""Finds a question to the reader. "I can confirm your details" is not one."""
_RHETORICAL: Final = re.compile(
    r"\b(?:do|did) you (?:\w+ )?know that\b|\b(?:did|do) you (?:even |already )know\b"
    r"|\bdid you know\b|\byou aware\b|\b(?:ok|okay|fine|good|alright|all right) that\b"
    r"|\b(?:happy|glad|pleased|like|want|relieved) to (?:know|hear|see|learn)"
    r" (?:that|what|who|how|why|you|your)\b"
)
"""Finds a question that tells its reader something."""
_NAME: Final = re.compile(r"(?<=[a-z,;:] )[A-Z][^\W\d_]+")
"""A capital inside a sentence."""
_WISH: Final = re.compile(
    r"\byou (?:would |had |have |be )?(?:like|want|hope|wish|need|ask|expect|prefer)\w*\b"
)
"""Finds a wish of the reader. To repeat it grants nothing."""
_RESTATED: Final = re.compile(
    r"(?:so |and |as )?(?:i (?:see|understand|hear) )?(?:that )?"
    r"you (?:would like|want|wish|be asking|are asking|asked|ask|mentioned|wrote|said|say)\b"
    r"|(?:i am |we are )?(?:so |very |really )*sorry (?:to (?:hear|read|see) )?(?:that )?"
    r"you (?:have|had|are|were|did|got|get)\b"
)
_OWN_DEED: Final = re.compile(r"\b(?:i|we|will|shall|can|may|but|because|since|and|is|are)\b")
_TOLD_POINT: Final = re.compile(
    r"\b(?:has|have) been\b|\bwill\b|\b(?:is|are|was|were) (?:\w+ed|gone|done|sent|paid|given)\b"
)
"""Finds a point of a list that tells something, although the list asks."""
_COURTESIES: Final = ("greeting", "closing", "thanks", "offers")
_WORDS_FOR_TWO_STRAYS: Final = 10
_MOST_IN_WISH: Final = 4


@dataclass(frozen=True)
class Conversation:
    """The limits of a conversation.

    Attributes:
        replies: The saved replies.
        asks: Stems of the words of questions.
        figures: Figures that a question may contain.
        phrases: Phrases that a message may contain.
        names: People and firms that may be named.
        secrets: Values that a message must not tell in any form.
        courtesies: Recognises courtesies that promise and assent to nothing.
        beside_replies: Recognises also "done".
        in_answer: Recognises all courtesies; the agent's answer grants no wish.
    """

    replies: Sequence[Reply]
    asks: frozenset[str]
    figures: Sequence[Reading]
    phrases: Sequence[Wanted]
    names: Sequence[str]
    secrets: Sequence[str]
    courtesies: Courtesy
    beside_replies: Courtesy
    in_answer: Courtesy

    def fault(
        self,
        text: str,
        heard: Sequence[str] = (),
        *,
        untimely: Collection[Reply] = (),
        is_answer: bool = False,
    ) -> str:
        """Describe the first fault of a message; empty if the message is right.

        Args:
            text: The message.
            heard: What the addressee has said before; a question may repeat its figures.
            untimely: The replies that the agent may not yet say, or no longer.
            is_answer: Whether it is the agent's answer, and not said in the conversation.
        """
        if len(text) > MOST_CHARS:
            return f"has {len(text)} characters, expected at most {MOST_CHARS}"
        if secret := leak(text, self.secrets, [*heard, *self.names]):
            return f"tells {secret!r}, which the addressee must not hear"
        units = read_message(text).units
        ordered = sorted(self.replies, key=lambda one: one in untimely)
        said = [take_replies(unit, ordered) for unit in units]
        for one in (one for some in said for one in some):
            if one in untimely:
                return f"says {one.shown!r} when it is not so"
        courtesy = self.beside_replies if any(said) else self.courtesies
        if is_answer:
            courtesy = self.in_answer
        question = _Question(self.asks, self._known(heard), _capitals(text), stems(self.names))
        assents: list[Assent | None] = []
        for unit, found in zip(units, said, strict=True):
            _take_courtesies(unit, courtesy, question)
            assents.append(take_assent(unit))
            self._take(unit, found, courtesy, question)
        asks = [_is_question(unit) for unit in units]
        for n, (unit, assent) in enumerate(zip(units, assents, strict=True)):
            if assent and not assent.is_settled(units[n:], said[n:], asks[n:], heard):
                seen = f"says {assent.said!r}, and nothing behind it says to what"
                return f"{seen}: {unit.text[:_SHOWN]!r}"
            if fault := _excess(unit, question):
                return fault
        return ""

    def _known(self, heard: Iterable[str]) -> list[Reading]:
        found = (figure for one in heard for figure in find_figures(plain(one)))
        return [*self.figures, *(reading for figure in found for reading in figure.readings)]

    def _take(
        self, unit: Unit, said: Sequence[Reply], courtesy: Courtesy, question: _Question
    ) -> None:
        """Account for the courtesies, lead-ins and phrases of a sentence."""
        phrases = (*self.phrases, *_lead_ins()) if said or _is_question(unit) else self.phrases
        _take_courtesies(unit, courtesy, question)
        for phrase in phrases:
            tokens = unit.left
            for start, end in phrase.spans(tokens):
                for token in tokens[start:end]:
                    token.taken = True
        _take_courtesies(unit, courtesy, question)


@dataclass(frozen=True, slots=True)
class _Question:
    """The limits of a question."""

    asks: frozenset[str]
    figures: Sequence[Reading]
    capitals: frozenset[str]
    names: frozenset[str]

    def fault(self, unit: Unit, left: Sequence[Token]) -> str:
        if token := self.excess(left, len(unit.tokens)):
            return f"asks about {token.text!r}, which it may not: {unit.text[:_SHOWN]!r}"
        return ""

    def excess(self, left: Sequence[Token], length: int, *, is_wish: bool = False) -> Token | None:
        """Return the first word or figure that a question of so many words may not have."""
        strays = 0
        known = words()
        weighty = frozenset() if is_wish else known.weighty | known.deeds
        for token in left:
            right = token.stem in self.asks
            if token.figure is not None:
                right = token.figure.means(self.figures) or token.figure.is_count
            elif not right and not self._is_barred(token) and token.stem not in weighty:
                strays += 1
                right = strays <= (
                    _MOST_IN_WISH if is_wish else 1 + (length >= _WORDS_FOR_TWO_STRAYS)
                )
            if not right:
                return token
        return None

    def is_polite(self, segment: Sequence[Token]) -> bool:
        """Return whether a part of a sentence only thanks, regrets and understands."""
        known = words()
        if self._restates(segment):
            return True
        if segment[0].stem in self.names or not {one.stem for one in segment} & known.polite:
            return False
        beside = known.polite | known.polite_beside | self.names
        left = [token for token in segment if token.figure is not None or token.stem not in beside]
        about_reader = {"you", "your"} & {token.text for token in segment}
        is_eased = bool(about_reader) and any(token.stem in known.eased for token in segment)
        is_wish = _WISH.search(" ".join(token.text for token in segment)) is not None
        right = is_eased and self.excess(left, len(segment), is_wish=is_wish) is None
        return not left or right

    def _restates(self, segment: Sequence[Token]) -> bool:
        """Return whether a part of a sentence only restates the wish or the trouble of its reader.

        A denial in it is the reader's: "sorry that you got mails which you never asked for".
        """
        said = " ".join(token.text for token in segment)
        match = _RESTATED.match(said)
        if match is None or _OWN_DEED.search(said, match.end()):
            return False
        is_wish = _WISH.search(match[0]) is not None
        left = [token for token in segment if token.text != "never"]
        return self.excess(left, len(segment), is_wish=is_wish) is None

    def _is_barred(self, token: Token) -> bool:
        return token.text in NEGATIONS or token.text in self.capitals


def _excess(unit: Unit, question: _Question) -> str:
    joining = words().joining | words().light
    left = [token for token in unit.left if token.figure is not None or token.stem not in joining]
    if not left:
        return ""
    if not _is_question(unit):
        seen = f"says {left[0].text!r}, which is no saved reply, question or courtesy"
        return f"{seen}: {unit.text[:_SHOWN]!r}"
    is_number = "no." in unit.text
    return question.fault(unit, [one for one in left if not (is_number and one.text == "no")])


def _is_question(unit: Unit) -> bool:
    tells = "?" not in unit.text and _TOLD_POINT.search(unit.text) is not None
    listed = not tells or re.search(r"\b(?:from|with|under|which|that|what|who)\b", unit.text)
    asks = unit.asks and unit.is_point and bool(listed) or _REQUEST.search(unit.text) is not None
    return asks and _RHETORICAL.search(unit.text) is None


def _take_courtesies(unit: Unit, courtesy: Courtesy, question: _Question) -> None:
    tells = _RHETORICAL.search(unit.text) is not None
    for segment in list(unit.segments()):
        if not courtesy.take(segment, edge=True) and not tells and question.is_polite(segment):
            for token in segment:
                token.taken = True


def _capitals(text: str) -> frozenset[str]:
    return frozenset(match[0].casefold() for match in _NAME.finditer(text))


@lru_cache(maxsize=1)
def _lead_ins() -> tuple[Wanted, ...]:
    found = [wanted("lead_ins", one) for one in words().conversation["lead_ins"]]
    return tuple(sorted(found, key=lambda one: -max(map(len, one.spellings))))


def conversation(
    replies: Sequence[object],
    asks: Sequence[str] = (),
    may: Sequence[object] = (),
    names: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> Conversation:
    """Read the arguments of `messages.only_replies`.

    Args:
        replies: Sentences with alternatives, "(I|we) have it(, too|)", or tables of `say` and
            `after`.
        asks: Further words that a question may use.
        may: Figures that a question may contain, and phrases that a message may contain.
        names: People and firms whom the message may greet and who may sign it.
        secrets: Values that a message must not tell in any form.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    for name, given in (("asks", asks), ("names", names), ("secrets", secrets)):
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise VerifierError(f"{name}: expected a list of texts, got {given!r}")
    if isinstance(may, (str, Mapping)):
        raise VerifierError(f"may: expected a list of values, got {may!r}")
    phrases = [wanted("may", one) for one in may]
    figures = [
        reading
        for one in phrases
        for parts in one.spellings
        for part in parts
        if not isinstance(part, str)
        for reading in part
    ]
    lists = words().conversation
    return Conversation(
        read_replies(replies),
        stems([*lists["asking"], *asks, *names]),
        figures,
        [one for one in phrases if not one.is_figure],
        names,
        secrets,
        Courtesy(names, only=_COURTESIES, more=lists["courtesies"]),
        Courtesy(
            names, only=(*_COURTESIES, "reports"), more=[*lists["courtesies"], *lists["reports"]]
        ),
        Courtesy(names, more=lists["courtesies"]),
    )
