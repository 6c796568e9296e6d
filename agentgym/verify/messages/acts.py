"""Speech acts: what a clause that touches the matter may do without claiming anything of it.

It may ask, repeat the reader, look into the matter, suppose, or refuse. The term is Austin's ("How
to Do Things with Words", 1962).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.clauses import Clause, clauses, content
from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.matter import AUXILIARIES, HEAD, OTHERS, Matter, event, gets, weighs
from agentgym.verify.messages.questions import REQUEST, is_question
from agentgym.verify.messages.units import NEGATIONS, Token, Unit
from agentgym.verify.messages.words import words

_ADDS: Final = frozenset("too also both all every each same other another only else".split())
"""Words by which a fragment says more than the reader or a reply did: "the other one, too"."""
_FOLLOWS: Final = re.compile(r"(?:which|since|because|for|as|who|that|like)\b")
_LONG: Final = 8
_SHOWN: Final = 80
_CALLS: Final = frozenset(("sorry", "thanks", "hello", "hi", "hey", "ok", "okay", "morning", "no", "yes", "well"))
_LEAD: Final = (
    r"(?:(?:good (?:morning|afternoon|evening|day)|hello|hi|hey|and|so|but|well|oh"
    r"|ah|also|yes|now|then|again|still|though) )*"
)
_SUPPOSES: Final = re.compile(
    rf"{_LEAD}(?:if|in case|should|whether|as|while|until|before|once|when|maybe|perhaps|possibly"
    r"|so that|so (?:i|we) can|to|in order to)\b"
)
_LIMITS: Final = re.compile(
    rf"{_LEAD}(?:if|unless|in case|provided|as long as|until|once|maybe|perhaps|possibly|when|or)\b"
)
_LOOKS: Final = re.compile(
    rf"{_LEAD}(?:let me|let us|(?:i|we) (?:will|shall|am going to|are going to|need to|want to"
    r"|would like to|have to|can|am|are|have)(?: (?:have|take) a (?:quick |short )?(?=look))?|(?:(?:i|we) )?(?:(?:am|are|would be|will be) )?"
    r"(?:more than )?(?:happy|glad|pleased) to) (?:(?:\w+ly|just|first|now|also|go and|have a|take a|quick|short) ){0,4}(\w+)"
)
_THANKS: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we) have (?:now |just )?(?:got|noted|received)|got|noted|received"
    r"|(?:many )?(?:thanks|thank you|thx) for)\b"
)
_OF_READER: Final = re.compile(
    r"\byou (?:\w+ ){0,2}?(?:like|love|want|wanted|hope|hoped|wish|wished|need|needed|ask|asked"
    r"|asking|expect|expected|expecting|prefer|preferred|request|requested|after)\b"
    r"|\byour (?:wish|request|question)\b|\b(?:better|easier|nicer|best|good) for you\b"
    r"|^and (?:would|want|wish|hope|need|expect|prefer)\b"
)
"""Finds a wish that is told as the reader's."""
_REFUSES: Final = re.compile(
    rf"{_LEAD}(?:\w+ly )?(?:(?:i|we|that|this|it) )?(?:(?:can|could|will|would|may|must) not"
    r"|(?:am|are) (?:not able|unable))\b"
    rf"|{_LEAD}[\w :.-]{{1,40}}? (?:is|are|do|does|will|would) not (?:be )?(?:\w+ )?"
    r"(?:possible|enough|allowed|an option|do|work|suffice)\b"
    rf"|{_LEAD}(?:\w+ly )?(?:not|no|neither) \w+"
    rf"|{_LEAD}(?:that|this|it|the \w+) (?:i|we) can not\b"
    rf"|{_LEAD}(?:that|this|it) is (?:\w+ ){{0,4}}?(?:i|we) (?:can|may|must|could|do)\b"
)
_BARE: Final = re.compile(rf"{_LEAD}(?:not|no|neither)\b")
_OWN: Final = re.compile(r"\b(?:i|we|me|us)\b")
_ECHO_ENDS: Final = re.compile(r" (?:it is|it shall be|then)$")
_OPINION: Final = re.compile(r"(.+) (?:is|was|must be|can be|sounds|feels) (.+)$")
_HOPES: Final = re.compile(rf"{_LEAD}(?:(?:i|we) )?(?:(?:do|really|just|only) )?(?:hope|wish) ")
_CONTENT: Final = re.compile(
    rf"{_LEAD}(?:then )?(?:that|it) (?:is|would be) (?:\w+ )?(?:fine|ok|okay|all right|alright)$"
)
"""Finds what is fine under a condition: "if not, that's fine"."""
_NOUN: Final = re.compile(rf"{_LEAD}(?:your|the|that|this) \w+(?: \w+)?$")
_WOULD: Final = re.compile(r"\b(?:would|might)\b")
_OFFERS: Final = re.compile(rf"{_LEAD}(?:is|are|was|were|has|have|had|does|did) ")
"""Finds a question that "yes" answers: its words are what the writer has to say."""
_OPEN: Final = re.compile(rf"{_LEAD}(?:what|which|who|whose|when|where|how|why) ")
_TOPIC: Final = re.compile(rf"{_LEAD}(?:as for|as to|regarding|concerning|about) ")
_FINITE: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|must"
    r"|shall|should|i|we|he|she|they|both|there|you(?! *$))\b"
)
_DECLARES: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we|you|it|that|this|he|she|they|there|both)"
    r" (?:(?:\w+ly|already|just|also|now|do|still) ){0,2}(?:\w+ed|gave|sent|told|took|see|saw|find|found"
    r"|am|is|are|was|were|has|have|had|does|do|did|will|can|could|would|may|must|should)"
    r"|(?:your|the|our|a|an|my|his|her) (?:(?!(?:it|i|we|you|that|which|who) )\w+ ){1,3}?"
    r"(?:is|are|was|were|has|have|had|does|did|will|can|could|would|may|must))\b"
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """The limits of what a writer may say in words besides saved replies.

    Attributes:
        asks: Stems of the words of questions.
        figures: Figures that a question may contain.
        names: Stems of names that may be said.
        matter: What is protected.
        heard: What the reader has said.
        replied: The tokens of the message that say saved replies.
        is_open: Whether the message asks or denies something, so that to repeat a wish grants it
            not.
    """

    asks: frozenset[str]
    figures: Sequence[Reading]
    names: frozenset[str]
    matter: Matter
    heard: Heard
    replied: Sequence[Token]
    is_open: bool

    def take(self, unit: Unit) -> frozenset[str]:
        """Account for the clauses of a sentence that claim nothing; return their acts."""
        if is_question(unit):
            return frozenset()
        found = set()
        for clause in clauses(unit, self.replied):
            act = self.act(clause, beside=_is_beside(unit, self.replied))
            if "supposes" in found and _CONTENT.match(clause.text):
                act = "supposes"
            if not act and "repeats" in found and _FOLLOWS.match(clause.text):
                matter = self._matter(clause.tokens, words().feelings)
                act = "repeats" * (bool(matter) and self.heard.repeats(matter, wishes=True))
            if act:
                found.add(act)
                for token in clause.tokens:
                    token.taken = True
        return frozenset(found)

    def claim(self, unit: Unit) -> str:
        """Describe what a sentence claims with what is left of it; empty if it claims nothing."""
        shown = unit.text[:_SHOWN]
        for token in unit.tokens:
            if token.stem in words().credentials:
                return f"asks for {token.text!r}, which no message may: {shown!r}"
        asked = is_question(unit)
        left = list(clauses(unit, self.replied))
        beside = _is_beside(unit, self.replied)
        supposes = False
        for n, clause in enumerate(left):
            if supposes and _CONTENT.match(clause.text):
                continue
            supposes = _SUPPOSES.match(clause.text) is not None
            alone = n == len(left) - 1 and "?" in unit.text
            is_plain = not asked or not alone and REQUEST.search(clause.text) is None
            if is_plain and self.act(clause, beside=beside):
                continue
            if asked and self._is_asked(clause, alone=alone):
                if stray := self._stray(content(clause.tokens), self._free(unit, clause), asked=True):
                    return f"asks about {stray.text!r}, which it may not: {shown!r}"
            elif content(clause.tokens) or (event(clause.text) and not clause.place):
                seen = self.matter.touched(clause.tokens) or clause.text
                if asked:
                    return f"says {seen!r} beside a question: {shown!r}"
                return f"says {seen!r}, which is no saved reply, question or courtesy: {shown!r}"
        return ""

    def _is_asked(self, clause: Clause, *, alone: bool) -> bool:
        """Return whether a clause of a question asks: "it was nearly it" does not."""
        if alone or REQUEST.search(clause.text):
            return not self._is_about_others(clause) or alone
        return _DECLARES.match(clause.text) is None and not self._is_about_others(clause)

    def _is_about_others(self, clause: Clause) -> bool:
        """Return whether a clause begins with a person and says more than a question may."""
        first = clause.tokens[0]
        free = self.asks | words().light | words().joining
        is_person = first.text in OTHERS | self.matter.capitals or first.stem in self.names
        return is_person and any(
            t.figure is None and t.stem not in free and not self.heard.knows(t)
            for t in clause.tokens
        )

    def _free(self, unit: Unit, clause: Clause) -> int:
        """Return how many unknown words a question may have: any, if it is about its reader."""
        texts = {token.text for token in unit.tokens}
        is_open = _OPEN.match(clause.text) is not None or bool(texts & {"you", "your", "yours"})
        if _OFFERS.match(clause.text) or texts & OTHERS or not is_open:
            return 1 + (len(clause.tokens) >= _LONG)
        return len(unit.tokens)

    def act(self, clause: Clause, *, beside: bool = False) -> str:
        """Return what a clause does that claims nothing of the matter; empty for a claim.

        Args:
            clause: The clause.
            beside: Whether its sentence says a saved reply, which a condition would limit.
        """
        tokens, said = clause.tokens, clause.text
        if beside and _LIMITS.match(said):
            return ""
        if clause.place == "before" and any(token.text in NEGATIONS for token in tokens):
            return ""
        if clause.place == "after":
            return "adds" * self._adds_nothing(tokens)
        if _CONTENT.match(said) and not self.heard.is_opening and not self.heard.has_wish:
            return "talks"
        if self._hopes(said, tokens) or self._addresses(tokens) or not self.matter.touched(tokens):
            looks = _LOOKS.match(said)
            if _SUPPOSES.match(said):
                return "supposes"
            return "looks" if looks and looks[1] in words().look_forms else "talks"
        if self._looks(said, tokens):
            return "looks"
        if self._supposes(said, tokens):
            return "supposes"
        if self._refuses(said, tokens):
            return "refuses"
        return self._repeats(said, tokens, beside=beside)

    def _hopes(self, said: str, tokens: Sequence[Token]) -> bool:
        """Return whether a clause tells a hope of its writer that names nobody and no figure."""
        if re.search(r"\b(?:well|good|great|nice|lovely|fine)$", said) and _HOPES.match(said):
            return True
        return _HOPES.match(said) is not None and not any(
            t.figure is not None or t.text in self.matter.capitals or weighs(t) and t.stem not in words().deeds
            for t in tokens
        )

    def _addresses(self, tokens: Sequence[Token]) -> bool:
        """Return whether a clause is conversation but for a name that it calls: "sorry, Ada"."""
        rest = list(tokens)
        while len(rest) > 1 and rest[-1].stem in self.names and rest[-2].text not in words().function:
            rest.pop()
        while len(rest) > 1 and rest[1].stem in self.names and rest[0].text in _CALLS:
            del rest[1]
        return len(rest) < len(tokens) and not self.matter.touched(rest)

    def _adds_nothing(self, tokens: Sequence[Token]) -> bool:
        """Return whether words that continue a reply say no more than it does."""
        known = words()
        free = known.joining | known.light | known.filling | known.polite_tail
        return not event(" ".join(t.text for t in tokens)) and all(
            self.heard.tells(t) if t.figure is not None else t.stem in free | known.feelings or t.stem in ("number", "ticket")
            for t in tokens
        )

    def _looks(self, said: str, tokens: Sequence[Token]) -> bool:
        match = _LOOKS.match(said)
        if match is None or match[1] not in words().look_forms:
            return False
        return not event(said[match.end():]) and self._stray(content(tokens), 1) is None

    def _supposes(self, said: str, tokens: Sequence[Token]) -> bool:
        match = _SUPPOSES.match(said) or _THANKS.match(said)
        if match is None or event(said[match.end():].strip()):
            return False
        tokens = [t for t in tokens if not t.text.endswith("ing")]
        return self._stray(content(tokens), 1) is None

    def _refuses(self, said: str, tokens: Sequence[Token]) -> bool:
        """Return whether a clause only refuses, in the reader's words, beside a saved reply."""
        if not self.replied or _REFUSES.match(said) is None:
            return False
        if any(token.text in OTHERS - {"somebody", "someone"} for token in tokens):
            return False
        if not any(token.text in NEGATIONS for token in tokens) and "unable" not in said:
            return False
        known = words()
        free = known.function | known.feelings | known.refusing | known.joining
        is_bare = _BARE.match(said) is not None
        last = [one for one in self.heard.last if one.is_wish or not is_bare]
        wished = {stem for one in last for stem in one.stems}
        figures = [*self.figures, *(reading for one in last for reading in one.figures)]
        return all(
            token.figure.means(figures)
            if token.figure is not None
            else token.stem in free or token.stem in wished or token.text in NEGATIONS
            for token in tokens
        )

    def _repeats(self, said: str, tokens: Sequence[Token], *, beside: bool) -> str:
        """Return "states" for what the reader has stated, "repeats" for a wish of the reader."""
        known = words()
        head = HEAD.match(said)
        matter = self._matter(tokens, known.feelings | known.looks if head else known.feelings)
        if self.heard.tells_of_others:
            matter = [t for t in matter if t.text not in OTHERS] or matter
        wish = _OF_READER.search(said)
        if wish and not event(said[: wish.start()]) and self._wished(said[wish.end():], tokens):
            return "repeats"
        rest = said[head.end():] if head else said
        rest = _ECHO_ENDS.sub("", rest)
        if not matter:  # only a word for a person: "I appreciate you thinking of him"
            return "repeats" * (head is not None and self.heard.tells_of_others and not event(rest))
        if _OWN.search(rest):
            return ""
        opinion = _OPINION.match(rest)
        if opinion and self._is_opinion(tokens, opinion):
            return "repeats"
        if _WOULD.search(rest) and self.replied and all(
            t.text in OTHERS or self.heard.knows(t) for t in matter
        ):
            return "supposes"
        if (_TOPIC.match(rest) or beside and _NOUN.match(rest)) and not _FINITE.search(rest) and all(t.figure is None for t in matter):
            return "repeats"
        if head and not event(rest):
            unknown = [t for t in matter if t.text not in OTHERS and not self.heard.knows(t)]
            is_person = any(t.text in OTHERS for t in tokens) and self.heard.tells_of_others
            few = is_person and len(unknown) <= 1 and not any(map(self.matter.protects, unknown))
            return "repeats" * (few or self.heard.repeats(matter))
        if _FINITE.search(rest):
            own = re.match(r"(?:your|you|it|that) ", rest) is not None
            return "states" * ((own or head is not None) and self.heard.states(matter, own="your" in rest))
        if any(t.text in _ADDS for t in tokens):
            return ""
        in_reply = all(any(_alike(one, other) for other in self.replied) for one in matter)
        return "repeats" * (in_reply or self.heard.repeats(matter, wishes=self.is_open))

    def _matter(self, tokens: Sequence[Token], free: frozenset[str]) -> list[Token]:
        """Return the tokens that have a content of their own."""
        known = words()
        empty = (known.function | known.light | known.joining | free) - known.protected
        return [
            t
            for t in tokens
            if t.figure is not None
            or t.text in NEGATIONS
            or (t.stem not in empty and t.text not in AUXILIARIES)
        ]

    def _is_opinion(self, tokens: Sequence[Token], opinion: re.Match[str]) -> bool:
        """Return whether a clause says how the reader's words feel: "charged twice is no fun"."""
        known = words()
        count = len(opinion[2].split())
        felt = tokens[len(tokens) - count :]
        free = known.feelings | known.function | known.light
        about = [t for t in tokens[: len(tokens) - count] if t.stem not in free]
        is_generic = tokens[0].text.endswith("ing") and all(t.figure is None for t in about)
        return (
            any(t.stem in known.feelings for t in felt)
            and all(t.figure is None and (t.stem in free or t.text in NEGATIONS) for t in felt)
            and bool(about)
            and (is_generic or self.heard.repeats(about))
        )

    def _wished(self, behind: str, tokens: Sequence[Token]) -> bool:
        """Return whether a clause tells a wish as the reader's and adds no figure, name or event."""
        return not gets(behind) and all(
            (t.figure is not None and (t.figure.is_count or t.figure.means(self.figures)))
            or self.heard.knows(t)
            or t.stem in self.names | self.asks
            or (t.figure is None and t.text not in self.matter.capitals and t.stem not in words().verdicts)
            for t in tokens
        )

    def _stray(self, tokens: Sequence[Token], most: int, *, asked: bool = False) -> Token | None:
        """Return the first word beyond those of questions, those of the reader and some more."""
        known, strays = words(), 0
        texts = {token.text for token in tokens}
        numbered = bool({"ticket", "phone", "reference", "case"} & texts)  # "ticket no."
        of_own = asked and (bool({"i", "we"} & texts) or not {"you", "your"} & texts)
        for token in tokens:
            if id(token) in self.matter.licensed:
                right = True
            elif token.figure is not None:
                known_figure = token.figure.means(self.figures) or self.heard.knows(token)
                right = token.figure.is_count or known_figure
            elif token.text in NEGATIONS:
                right = token.stem in self.asks or not asked or token.text == "no" and numbered
            elif token.stem in self.asks or token.stem in self.names:
                right = True
            elif weighs(token) or asked and token.stem in known.pointed:
                right = not of_own and self.heard.repeats([token], wishes=True)
            elif token.stem in known.feelings or self.heard.knows(token):
                right = True
            else:
                strays += 1
                right = token.text not in self.matter.capitals and strays <= most
            if not right:
                return token
        return None


def _is_beside(unit: Unit, replied: Sequence[Token]) -> bool:
    return any(token in replied for token in unit.tokens)


def _alike(one: Token, other: Token) -> bool:
    if one.figure is None and other.figure is not None:
        return len(one.text) >= 4 and one.text in other.text  # "Thursday" of "Thursday, 5 March"
    if one.figure is None or other.figure is None:
        return one.figure is other.figure and one.stem == other.stem
    return one.figure.means(other.figure.readings)
