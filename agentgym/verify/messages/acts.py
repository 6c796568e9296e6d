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
from agentgym.verify.messages.events import AUXILIARIES, HEAD, OTHERS, event, gets, weighs
from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.matter import Matter
from agentgym.verify.messages.openings import (
    BARE,
    CONTENT,
    DECLARES,
    ECHO_ENDS,
    FINITE,
    FOLLOWS,
    HOPES,
    LIMITS,
    LOOKS,
    NOUN,
    OF_READER,
    OFFERS,
    OPEN,
    OWN,
    REFUSES,
    RELATIVE,
    SUPPOSES,
    THANKS,
    TOPIC,
    WISHED_WELL,
    WOULD,
)
from agentgym.verify.messages.questions import REQUEST, is_question
from agentgym.verify.messages.units import NEGATIONS, Token, Unit
from agentgym.verify.messages.words import words

_ADDS: Final = frozenset((
    "too", "also", "both", "all", "every", "each", "same", "other", "another", "only", "else",
))  # fmt: skip
"""Words by which a fragment says more than the reader or a reply did: "the other one, too"."""
_FEELS: Final = frozenset(("is", "was", "be", "sounds", "feels"))
_LONG: Final = 8
_SHOWN: Final = 80
_CALLS: Final = frozenset((
    "sorry", "thanks", "hello", "hi", "hey", "ok", "okay", "morning", "no", "yes", "well",
))  # fmt: skip
"""Words behind which a name calls the reader."""
_IDS: Final = frozenset(("number", "ticket"))


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
        beside = self._is_beside(unit)
        for clause in clauses(unit, self.replied):
            act = self.act(clause, beside=beside)
            if "supposes" in found and CONTENT.match(clause.text):
                act = "supposes"
            if not act and "repeats" in found and FOLLOWS.match(clause.text):
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
        beside = self._is_beside(unit)
        supposes = False
        for n, clause in enumerate(left):
            if supposes and CONTENT.match(clause.text):
                continue
            supposes = SUPPOSES.match(clause.text) is not None
            alone = n == len(left) - 1 and "?" in unit.text
            is_plain = not asked or not alone and REQUEST.search(clause.text) is None
            if is_plain and self.act(clause, beside=beside):
                continue
            if asked and self._is_asked(clause, alone=alone):
                most = self._free(unit, clause)
                if stray := self._stray(content(clause.tokens), most, asked=True):
                    return f"asks about {stray.text!r}, which it may not: {shown!r}"
            elif content(clause.tokens) or (event(clause.text) and not clause.place):
                seen = self.matter.touched(clause.tokens) or clause.text
                if asked:
                    return f"says {seen!r} beside a question: {shown!r}"
                return f"says {seen!r}, which is no saved reply, question or courtesy: {shown!r}"
        return ""

    def _is_beside(self, unit: Unit) -> bool:
        """Return whether a sentence says a saved reply."""
        said = {id(token) for token in self.replied}
        return any(id(token) in said for token in unit.tokens)

    def _is_asked(self, clause: Clause, *, alone: bool) -> bool:
        """Return whether a clause of a question asks: "it was nearly it" does not."""
        if alone or REQUEST.search(clause.text):
            return not self._is_about_others(clause) or alone
        return DECLARES.match(clause.text) is None and not self._is_about_others(clause)

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
        if RELATIVE.match(clause.text) and clause.tokens[0] is not unit.tokens[0]:
            return 1
        texts = {token.text for token in unit.tokens}
        is_open = OPEN.match(clause.text) is not None or bool(texts & {"you", "your", "yours"})
        if OFFERS.match(clause.text) or texts & OTHERS or not is_open:
            return 1 + (len(clause.tokens) >= _LONG)
        return len(unit.tokens)

    def act(self, clause: Clause, *, beside: bool = False) -> str:
        """Return what a clause does that claims nothing of the matter; empty for a claim.

        Args:
            clause: The clause.
            beside: Whether its sentence says a saved reply, which a condition would limit.
        """
        tokens, said = clause.tokens, clause.text
        if beside and LIMITS.match(said):
            return ""
        if clause.place == "before" and any(token.text in NEGATIONS for token in tokens):
            return ""
        if clause.place == "after":
            return "adds" * self._adds_nothing(tokens)
        if CONTENT.match(said) and not self.heard.is_opening and not self.heard.has_wish:
            return "talks"
        if self._hopes(said, tokens) or self._addresses(tokens) or not self.matter.touched(tokens):
            looks = LOOKS.match(said)
            if SUPPOSES.match(said):
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
        """Return whether a clause tells a hope of its writer without a name or a figure."""
        if HOPES.match(said) is None:
            return False
        deeds = words().deeds
        return WISHED_WELL.search(said) is not None or not any(
            t.figure is not None
            or t.text in self.matter.capitals
            or (weighs(t) and t.stem not in deeds)
            for t in tokens
        )

    def _addresses(self, tokens: Sequence[Token]) -> bool:
        """Return whether a clause is conversation but for a name that it calls: "sorry, Ada"."""
        rest, empty = list(tokens), words().function
        while len(rest) > 1 and rest[-1].stem in self.names and rest[-2].text not in empty:
            rest.pop()
        while len(rest) > 1 and rest[1].stem in self.names and rest[0].text in _CALLS:
            del rest[1]
        return len(rest) < len(tokens) and not self.matter.touched(rest)

    def _adds_nothing(self, tokens: Sequence[Token]) -> bool:
        """Return whether words that continue a reply say no more than it does."""
        known = words()
        free = known.joining | known.light | known.filling | known.feelings | _IDS
        return not event(" ".join(t.text for t in tokens)) and all(
            self.heard.tells(t) if t.figure is not None else t.stem in free for t in tokens
        )

    def _looks(self, said: str, tokens: Sequence[Token]) -> bool:
        match = LOOKS.match(said)
        if match is None or match[1] not in words().look_forms:
            return False
        return not event(said[match.end() :]) and self._stray(content(tokens), 1) is None

    def _supposes(self, said: str, tokens: Sequence[Token]) -> bool:
        match = SUPPOSES.match(said) or THANKS.match(said)
        if match is None or event(said[match.end() :].strip()):
            return False
        tokens = [t for t in tokens if not t.text.endswith("ing")]
        return self._stray(content(tokens), 1) is None

    def _refuses(self, said: str, tokens: Sequence[Token]) -> bool:
        """Return whether a clause only refuses, in the reader's words, beside a saved reply."""
        if not self.replied or REFUSES.match(said) is None:
            return False
        if any(token.text in OTHERS - {"somebody", "someone"} for token in tokens):
            return False
        if not any(token.text in NEGATIONS for token in tokens) and "unable" not in said:
            return False
        known = words()
        free = known.function | known.feelings | known.refusing | known.joining
        is_bare = BARE.match(said) is not None
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
        wish = OF_READER.search(said)
        if wish and not event(said[: wish.start()]) and self._wished(said[wish.end() :], tokens):
            return "repeats"
        rest = said[head.end() :] if head else said
        rest = ECHO_ENDS.sub("", rest)
        if not matter:  # only a word for a person: "I appreciate you thinking of him"
            return "repeats" * (head is not None and self.heard.tells_of_others and not event(rest))
        if OWN.search(rest):
            return ""
        if self._is_opinion(tokens):
            return "repeats"
        if (
            WOULD.search(rest)
            and self.replied
            and all(t.text in OTHERS or self.heard.knows(t) for t in matter)
        ):
            return "supposes"
        if (TOPIC.match(rest) or (beside and NOUN.match(rest))) and not FINITE.search(rest):
            return "repeats" * all(t.figure is None for t in matter)
        if head and not event(rest):
            unknown = [t for t in matter if t.text not in OTHERS and not self.heard.knows(t)]
            is_person = any(t.text in OTHERS for t in tokens) and self.heard.tells_of_others
            few = is_person and len(unknown) <= 1 and not any(map(self.matter.protects, unknown))
            return "repeats" * (few or self.heard.repeats(matter))
        if FINITE.search(rest):
            own = re.match(r"(?:your|you|it|that) ", rest) is not None
            stated = (own or head is not None) and self.heard.states(matter, own="your" in rest)
            return "states" * stated
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

    def _is_opinion(self, tokens: Sequence[Token]) -> bool:
        """Return whether a clause says how the reader's words feel: "charged twice is no fun"."""
        known = words()
        free = known.feelings | known.function | known.light
        places = [n for n, token in enumerate(tokens) if token.text in _FEELS]
        if not places:
            return False
        felt = tokens[places[-1] + 1 :]
        about = [t for t in tokens[: places[-1]] if t.stem not in free]
        is_generic = tokens[0].text.endswith("ing") and all(t.figure is None for t in about)
        return (
            any(t.stem in known.feelings for t in felt)
            and all(t.figure is None and (t.stem in free or t.text in NEGATIONS) for t in felt)
            and bool(about)
            and (is_generic or self.heard.repeats(about))
        )

    def _wished(self, behind: str, tokens: Sequence[Token]) -> bool:
        """Return whether a clause tells a wish as the reader's and adds no figure or name."""
        return not gets(behind) and all(
            (t.figure is not None and (t.figure.is_count or t.figure.means(self.figures)))
            or self.heard.knows(t)
            or t.stem in self.names | self.asks
            or (
                t.figure is None
                and t.text not in self.matter.capitals
                and t.stem not in words().verdicts
            )
            for t in tokens
        )

    def _stray(self, tokens: Sequence[Token], most: int, *, asked: bool = False) -> Token | None:
        """Return the first word beyond those of questions, those of the reader and some more."""
        known, strays = words(), 0
        texts = {token.text for token in tokens}
        numbered = bool({"ticket", "phone", "reference", "case"} & texts)  # "ticket no."
        of_own = asked and (bool({"i", "we"} & texts) or not {"you", "your"} & texts)
        for before, token in zip([None, *tokens], tokens, strict=False):
            if id(token) in self.matter.licensed or _is_all_right(before, token):
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


def _alike(one: Token, other: Token) -> bool:
    if one.figure is None and other.figure is not None:
        return len(one.text) >= 4 and one.text in other.text  # "Thursday" of "Thursday, 5 March"
    if one.figure is None or other.figure is None:
        return one.figure is other.figure and one.stem == other.stem
    return one.figure.means(other.figure.readings)


def _is_all_right(before: Token | None, token: Token) -> bool:
    return token.text == "right" and before is not None and before.text == "all"
