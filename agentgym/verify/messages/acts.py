"""Speech acts: what a clause of a conversation does when it asserts nothing about the matter.

It may ask, understand or regret, tell what its writer looks at, refuse, or repeat the reader. Each
act has an opening by which it is found, and limits on its words. Every other clause is a claim.
The term is Austin's ("How to Do Things with Words", 1962).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.openings import (
    ABOUT_READER,
    BARE,
    CONTENT_WITH_IT,
    ECHO_ENDS,
    ELIDED,
    FINITE,
    FOLLOWS,
    GRANTS,
    LOOKS,
    NEVER_WISHED,
    OWN,
    PROMISES,
    RECEIVES,
    REFUSES,
    REPORTS,
    REQUEST,
    RESTATES,
    RHETORICAL,
    SUPPOSES,
    TAKES_ON,
    TELLS,
    TOLD_POINT,
    TOPIC,
    UNDERSTANDS,
    WISH_OF_READER,
    WISHING,
)
from agentgym.verify.messages.units import NEGATIONS, Token, Unit
from agentgym.verify.messages.words import words

_OTHERS: Final = frozenset(("she", "he", "they", "her", "him", "them", "his", "their", "nobody"))
_SUBJECTS: Final = frozenset(
    ("i", "we", "you", "it", "that", "this", "she", "he", "they", "there", "who")
)
_TURNS: Final = frozenset(("and", "but", "so", "because", "since", "as", "though", "while", "yet"))
_PEOPLE: Final = frozenset(("and", "you", "me", "us"))
_MOST_STRAYS: Final = 3
_LONG: Final = 10
_STRAYS_BESIDE: Final = 1
_LEAST: Final = 4
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Speaker:
    """The limits of what a writer may do in words besides saved replies.

    Attributes:
        asks: Stems of the words of questions.
        figures: Figures that a question may contain.
        names: Stems of names that may be said.
        capitals: Words of the message that have a capital inside a sentence.
        heard: What the reader has said.
        replied: The tokens of the message that say saved replies.
        is_open: Whether the message asks or denies something, so that to repeat a wish grants it
            not.
    """

    asks: frozenset[str]
    figures: Sequence[Reading]
    names: frozenset[str]
    capitals: frozenset[str]
    heard: Heard
    replied: Sequence[Token]
    is_open: bool

    def take(self, unit: Unit, *, only: Collection[str] = ()) -> frozenset[str]:
        """Account for the clauses of a sentence that assert nothing; return their acts.

        Args:
            unit: The sentence.
            only: The acts to look for; empty: all.
        """
        found: set[str] = set()
        for clause in clauses(unit):
            act = self.act(clause)
            if not act and "supposes" in found and CONTENT_WITH_IT.fullmatch(_text(clause)):
                act = "supposes"
            if not act and "understands" in found and FOLLOWS.match(_text(clause)):
                matter = self._matter(clause)
                denied = any(token.text in NEGATIONS for token in matter)
                act = "understands" * (not denied and self.heard.repeats(matter))
            is_topic = _text(clause).startswith(("as for", "as to"))
            says_reply = any(token in self.replied for token in unit.tokens)
            if act == "supposes" and says_reply and not is_topic:
                act = ""  # a condition would be one of the reply
            if act and (not only or act in only):
                found.add(act)
                for token in clause:
                    token.taken = True
        return frozenset(found)

    def claim(self, unit: Unit) -> str:
        """Describe what a sentence claims with what is left of it; empty if it claims nothing."""
        content = [token for token in _content(unit.left) if token.text not in ("i", "we")]
        if all(token.text in _PEOPLE for token in unit.left):  # "Ada, Bo and you"
            content = []
        if content and not is_question(unit):
            seen = f"says {content[0].text!r}, which is no saved reply, question or courtesy"
            return f"{seen}: {unit.text[:_SHOWN]!r}"
        if "no." in unit.text:  # "ticket no. and address"
            content = [token for token in content if token.text != "no"]
        parts = [list(some) for _, some in itertools.groupby(unit.tokens, lambda t: t.segment)]
        open_parts = [
            some for part in parts if (some := _content([t for t in part if not t.taken]))
        ]
        for part, left in ((p, _content([t for t in p if not t.taken])) for p in parts):
            if (
                len(open_parts) > 1 and left and TELLS.match(_text(part))
            ):  # "it was nearly it, which is it?"
                return f"says {left[0].text!r} beside a question: {unit.text[:_SHOWN]!r}"
        for token in unit.tokens:
            if token.stem in words().credentials:
                return f"asks for {token.text!r}, which no message may: {unit.text[:_SHOWN]!r}"
        most = 1 + (len(unit.tokens) >= _LONG)
        for part in parts if len(open_parts) > 1 else []:
            left = _content([token for token in part if not token.taken])
            beside_reply = any(token in self.replied for token in part)
            if beside_reply and (stray := self._stray(left, 0, asked=True)):
                return f"says {stray.text!r} beside a question: {unit.text[:_SHOWN]!r}"
        if stray := self._stray(content, most, asked=True):
            return f"asks about {stray.text!r}, which it may not: {unit.text[:_SHOWN]!r}"
        return ""

    def act(self, clause: Sequence[Token]) -> str:
        """Return the act of a clause that asserts nothing; empty for a claim or a question."""
        content, said = _content(clause), _text(clause)
        if not content or RHETORICAL.search(said):
            return ""
        if self._is_polite(clause) or self._understands(content, said) or self._chats(clause, said):
            return "understands"
        for act, opening in (("looks", LOOKS), ("supposes", SUPPOSES)):
            behind = opening.match(said)
            if behind is None or GRANTS.search(said, behind.end()):
                continue
            most = _STRAYS_BESIDE if act == "looks" or said.startswith("if") else 0
            if self._stray(content, most, act=act) is None:
                return act
        if self.heard.is_opening and TAKES_ON.match(said):
            return "looks"
        if self._refuses(clause, said):
            return "refuses"
        return self._repeats(content, said)

    def _refuses(self, clause: Sequence[Token], said: str) -> bool:
        """Return whether a clause only refuses, in the reader's words, beside a saved reply."""
        if not self.replied or REFUSES.match(said) is None:
            return False
        known = words()
        free = known.function | known.polite_beside | known.refusing | known.joining
        if any(token.text in _OTHERS for token in clause):
            return False
        is_bare = BARE.match(said) is not None
        last = [one for one in self.heard.last if one.is_wish or not is_bare]
        wished = {stem for one in last for stem in one.stems}
        figures = [*self.figures, *(reading for one in last for reading in one.figures)]
        return all(
            token.figure.means(figures)
            if token.figure is not None
            else token.stem in free or token.stem in wished or token.text in NEGATIONS
            for token in clause
        )

    def _repeats(self, content: Sequence[Token], said: str) -> str:
        """Return "states" for a statement that is the reader's, "repeats" for some of its words."""
        matter = self._matter(content)
        if TOPIC.match(said):
            rest = [token for token in matter if token.text not in ("one", "question", "quick")]
            return "repeats" * self.heard.repeats(rest, wishes=True)
        if not matter or OWN.search(said):
            return ""
        if FINITE.search(ECHO_ENDS.sub("", said)) is None:
            in_reply = all(any(_alike(one, other) for other in self.replied) for one in matter)
            return "repeats" * (in_reply or self.heard.repeats(matter, wishes=self.is_open))
        about = ABOUT_READER.match(said)
        if about is None or GRANTS.search(said, about.end()):
            return ""
        ids = [token for token in matter if token.figure is not None]
        told = all(map(self.heard.tells, ids))
        return "states" * (
            told and self.heard.states(matter, own=about[0].endswith(("you", "your")))
        )

    def _chats(self, clause: Sequence[Token], said: str) -> bool:
        """Return whether a clause has only words of small talk, and promises nothing."""
        known = words()
        right = known.small_talk | known.function | known.polite | known.polite_beside
        return (
            bool({token.stem for token in clause} & known.small_talk)
            and not any(token.text in _OTHERS for token in clause)
            and PROMISES.search(said) is None
            and all(token.figure is None and token.stem in right for token in clause)
            and not any(token.stem in known.weighty for token in clause)
        )

    def _is_polite(self, clause: Sequence[Token]) -> bool:
        """Return whether a clause has only words that thank, regret and understand."""
        known = words()
        if clause[0].stem in self.names or not {one.stem for one in clause} & known.polite:
            return False
        beside = known.polite | known.polite_beside | self.names
        return all(token.figure is None and token.stem in beside for token in clause)

    def _understands(self, content: Sequence[Token], said: str) -> bool:
        """Return whether a clause understands, regrets or restates what its reader has said."""
        restates = RESTATES.match(said) is not None
        if not restates and UNDERSTANDS.match(said) is None:
            return False
        wish = WISH_OF_READER.search(said) or RESTATES.match(said)
        receives = RECEIVES.match(said) is not None
        grants = [] if receives else GRANTS.findall(said, wish.end() if wish else 0)
        if grants and self._weighty(content):
            heard = all(any(one in text for text in self.heard.plain_texts) for one in grants)
            return heard and self.heard.repeats(self._matter(content), wishes=True)
        others = any(token.text in _OTHERS for token in content)
        strays = 0 if others or REPORTS.search(said) else _strays(said, is_wish=wish is not None)
        if self._stray(content, strays, act=wish or said) is not None:
            return False
        denied = any(token.text in NEGATIONS for token in content)
        if denied:
            if NEVER_WISHED.search(said) and not self._weighty(content):
                return True
            matter = [t for t in self._matter(content) if not WISHING.match(t.text)]
            return all(t.text in NEGATIONS for t in matter) or self.heard.repeats(matter)
        if wish is not None or receives:
            return True
        others = others or any(token.text in self.capitals for token in content)
        if others or self._weighty(content):
            matter = self._matter(content)
            free = frozenset() if others else words().asking
            return self.heard.repeats([t for t in matter if t.stem not in free])
        return True

    def _stray(
        self,
        tokens: Sequence[Token],
        most: int,
        *,
        asked: bool = False,
        act: re.Match[str] | str = "",
    ) -> Token | None:
        """Return the first token beyond the words of a conversation, the reader's and some more.

        Args:
            tokens: The tokens of a clause or a question.
            most: How many other words there may be.
            asked: Whether it is a question.
            act: For a clause that understands, its text, or the wish of the reader in it.
        """
        known, strays = words(), 0
        free = (self.asks if asked or act in ("looks", "supposes") else known.asking) | self.names
        polite = known.polite | known.polite_beside
        heavy = known.weighty | known.deeds
        if isinstance(act, re.Match):
            heavy = known.verdicts
        elif act.startswith("thank"):  # "thank you for sending it"
            heavy -= {token.stem for token in tokens if token.text.endswith("ing")}
        texts = {token.text for token in tokens}
        of_own = asked and (bool({"i", "we"} & texts) or not {"you", "your"} & texts)
        for token in tokens:
            if token.figure is not None:
                known_figure = token.figure.means(self.figures) or self.heard.knows(token)
                right = token.figure.is_count or known_figure
            elif token.text in NEGATIONS:
                right = token.stem in self.asks if asked else bool(act)
            elif token.stem in free:
                right = True
            elif token.stem in heavy:
                right = not of_own and self.heard.repeats([token], wishes=True)
            elif token.stem in polite or self.heard.knows(token):
                right = True
            else:
                strays += 1
                right = token.text not in self.capitals and strays <= most
            if not right:
                return token
        return None

    def _weighty(self, tokens: Sequence[Token]) -> list[Token]:
        known = words()
        return [
            token
            for token in tokens
            if token.figure is not None or token.stem in known.weighty | known.deeds
        ]

    def _matter(self, tokens: Sequence[Token]) -> list[Token]:
        """Return the tokens that have a content besides that of a courtesy."""
        known = words()
        empty = known.function | known.light | known.polite | known.polite_beside | known.joining
        empty -= known.weighty | known.adding
        return [
            token
            for token in tokens
            if token.figure is not None or token.text in NEGATIONS or token.stem not in empty
        ]


def is_question(unit: Unit) -> bool:
    """Return whether a sentence asks its reader for something, and tells nothing by it."""
    tells = "?" not in unit.text and TOLD_POINT.search(unit.text) is not None
    listed = not tells or re.search(r"\b(?:from|with|under|which|that|what|who)\b", unit.text)
    asks = unit.asks and unit.is_point and bool(listed) or REQUEST.search(unit.text) is not None
    return asks and RHETORICAL.search(unit.text) is None


def clauses(unit: Unit) -> Iterator[list[Token]]:
    """Yield the clauses of a sentence of which nothing is accounted for.

    A clause ends at a sign, before "and you …", and at a conjunction beside a saved reply. What
    stands with a reply in one clause belongs to it: "Alfama is taken" says less than "Alfama is
    taken on Wednesday".
    """
    for _, segment in itertools.groupby(unit.tokens, key=lambda token: token.segment):
        tokens = list(segment)
        start = 0
        for place in range(1, len(tokens) + 1):
            if place == len(tokens) or _begins(tokens, place):
                clause = tokens[start:place]
                start = place
                heavy = [token for token in clause if token.stem not in words().joining]
                if clause and not any(token.taken for token in heavy):
                    yield [token for token in clause if not token.taken]


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a clause begins at a token."""
    if tokens[place].text not in _TURNS:
        return False
    after = tokens[place + 1] if place + 1 < len(tokens) else tokens[place]
    if ELIDED.match(after.text) and tokens[place].text == "and":
        subjects = [token.text for token in tokens[:place] if token.text in _SUBJECTS]
        return subjects[-1:] == ["you"]
    return after.text in _SUBJECTS or after.taken or tokens[place - 1].taken


def _strays(said: str, *, is_wish: bool) -> int:
    """Return how many other words may tell what one understands: few that are not of the reader."""
    if is_wish:
        return _MOST_STRAYS
    if re.search(r"\byou\b", said):
        return 2
    return int(re.search(r"\b(?:your|it|this|that) \w+", said) is not None)


def _alike(one: Token, other: Token) -> bool:
    if one.figure is None and other.figure is not None:
        return (
            len(one.text) >= _LEAST and one.text in other.text
        )  # "Thursday" of "Thursday, 5 March"
    if one.figure is None or other.figure is None:
        return one.figure is other.figure and one.stem == other.stem
    return one.figure.means(other.figure.readings)


def _content(tokens: Sequence[Token]) -> list[Token]:
    empty = words().joining | words().light
    return [token for token in tokens if token.figure is not None or token.stem not in empty]


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)
