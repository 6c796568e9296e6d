"""Speech acts: what a clause of a conversation does when it asserts nothing about the matter.

It may ask, understand or regret, tell what its writer looks at, refuse, or repeat the reader. Each
act has an opening by which it is found, and limits on its words. A clause that is none of them is a
claim. The term is Austin's ("How to Do Things with Words", 1962).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.units import NEGATIONS, Token, Unit
from agentgym.verify.messages.words import words

_REQUEST: Final = re.compile(
    r"\?|\b(?:please|pls|kindly)\b|(?:^|[,:;] |\b(?:and|or|so|just) )(?:tell|give|send|let) (?:me|us)\b"
    r"|\b(?:i|we)(?: (?:\w+ ){0,2}(?:need|require|must (?:have|ask|know)|have to (?:ask|know)|ask"
    r"|would like)|'d (?:like|need|love))\b|\b(?:i|we)'ll need\b|\bremains? to be\b"
    r"|\b(?:number|subject|name|words?|one|either|both) would (?:be enough|do|help)\b"
    r"|\b(?:number|subject|name|description|keyword)s? (?:is|are|will be) (?:enough|sufficient|fine)\b"
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
_TOLD_POINT: Final = re.compile(
    r"\b(?:has|have) been\b|\bwill\b|\b(?:is|are|was|were) (?:\w+ed|gone|done|sent|paid|given)\b"
)
"""Finds a point of a list that tells something, although the list asks."""

_LEAD: Final = r"(?:(?:and|so|but|well|oh|ah|also|yes|now|then|again|still|though) )*"
_ADVERB: Final = r"(?:(?:\w+ly|do|can|also|so|very|just|quite|am|are|have|already|certainly) ){0,3}"
_REGRETS: Final = r"(?:(?:i am |we are )?(?:so |very |really )?(?:afraid|sorry|unfortunately|sadly) (?:that |but )?)?"
_UNDERSTANDS: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we) {_ADVERB}(?:understand|see|know|hear|realis|realiz|realise|realize"
    r"|appreciate|imagine|hope|trust|wish|sympathise|sympathize|regret|feel|apologise|apologize|understood"
    r"|am sorry|are sorry)\b"
    r"|(?:\w+ )?(?:sorry|thanks|thank you|apologies|my apologies|understandable|understandably)\b"
    r"|(?:i|we) (?:do |really |totally )?get (?:that|it|why|how)\b(?! back)"
    r"|(?:it is |i am )?(?:so |very |really )?(?:glad|good|great|nice|lovely|happy|pleased) (?:that|to hear)\b"
    r"|(?:i|we) have (?:got|noted|received|written)\b|(?:got|noted|received)\b)"
)
_OF_READER: Final = (
    r"you (?:\w+ ){0,2}?(?:like|love|want|wanted|hope|hoped|wish|wished|need|needed|ask|asked"
    r"|asking|expect|expected|expecting|prefer|preferred|say|said|saying|mention|mentioned"
    r"|write|wrote|written|told|describe|described|request|requested|wait|waiting|waited"
    r"|(?:\w+ ){0,2}(?:hurry|curious|busy|upset|annoyed|worried|angry))\b"
)
_WISH_OF_READER: Final = re.compile(
    rf"\b{_OF_READER}|\b(?!i\b|we\b)\w+ (?:would (?:like|love)|wants?|wishes|hopes)\b|\b(?:better|easier|nicer|best|ideal|good|convenient|helpful|important) for you\b"
)
_REPORTS: Final = re.compile(r"\byou (?:\w+ )?(?:ask|say|said|mention|told|wrote|describe|request)\w*\b")
"""Finds what the reader is said to have said: that has to be so."""
_NEVER_WISHED: Final = re.compile(
    rf"\b(?:not|never|no) (?:\w+ ){{0,4}}?{_OF_READER}|\byou (?:never|did not|do not|had not)\b"
)
_RESTATES: Final = re.compile(
    rf"{_LEAD}(?:that )?(?:as )?{_OF_READER}|and (?:would|want|wish|hope|need|expect|prefer)\b"
)
_LOOKS: Final = re.compile(
    rf"{_LEAD}(?:let me|let us|(?:i|we) (?:will|shall|am going to|are going to|need to|want to|would like to"
    r"|have to|can|am|are)) (?:\w+ly |just |first |now |also |go and |briefly |only )*"
    r"(?:check|checking|look|looking|see|search|searching|read|reading|find|verify|compare"
    r"|(?:work|figure) (?:it|this|that) out|go through|going through|pull|think|help|assist)\b(?! (?:to|after)\b)"
    rf"|{_LEAD}(?:(?:i|we) have (?:just |now )?)(?:checked|looked|worked (?:it|this|that) out|read|searched|calculated)\b"
    rf"|{_LEAD}(?:(?:i|we) (?:am|are|would be|will be) )?(?:more than )?(?:happy|glad|pleased) to"
    r" (?:help|assist|look|check|find|see)\b"
)
_TAKES_ON: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we) (?:am|are|would be|will be) )?(?:more than )?(?:happy|glad|pleased) to (?:set|arrange|organi[sz]e"
    r"|sort|do|handle|take care of|book) (?:this|that|it)(?: up| out)?(?: for you)?$"
)
"""Finds what takes up a task at the start of a conversation; later it would grant a wish."""
_SUPPOSES: Final = re.compile(
    rf"{_LEAD}(?:if|in case|should|whether|as|while|until|before|once"
    r"|maybe|perhaps|possibly)\b"
)
_CONTENT_WITH_IT: Final = re.compile(
    rf"{_LEAD}(?:then )?(?:that|it) (?:is|would be) (?:also |quite |perfectly |totally )?"
    r"(?:fine|ok|okay|all right|alright|no problem|not a problem|good too)(?: too| as well)?"
)
"""Finds what is fine under a condition: "if not, that's fine"."""
_FOLLOWS: Final = re.compile(r"(?:which|since|because|for|as|who|that|like)\b")
_RECEIVES: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we) have (?:now |just )?(?:got|noted|received|written)\b|(?:got|noted|received)\b"
    r"|(?:thanks|thank you) for\b)"
)
_TOPIC: Final = re.compile(
    rf"{_LEAD}(?:(?:that is|it is|this is) )?(?:(?:just )?(?:a |one |the |your |my )?(?:quick |short |brief )?"
    r"(?:one|question|note|check|request|ticket|case|thing|message|word)"
    r" (?:on|about|regarding|concerning|for|with)\b|(?:about|regarding|concerning|as for|as to)\b"
    r"|(?:see|meet|speak to|talk to) you(?: on| at)?\b)"
)
_REFUSES: Final = re.compile(
    rf"{_LEAD}{_REGRETS}(?:(?:i|we|that|this|it) )?(?:(?:can|could|will|would|may|must) not\b|am not able\b)"
    rf"|{_LEAD}[\w :.-]{{1,40}}? (?:is|are|do|does|will|would) not (?:be )?(?:\w+ )?"
    r"(?:possible|enough|allowed|an option|do|work|suffice)\b"
    rf"|{_LEAD}(?:not|no|neither)\b"
)
_GRANTS: Final = re.compile(
    r"\b(?:will|shall|gets?|got|going to|can have|may have|(?:is|are|was|were|been) \w+(?:ed|nt|id|ne))\b"
)
_OTHERS: Final = frozenset(("she", "he", "they", "her", "him", "them", "his", "their", "nobody"))
_SUBJECTS: Final = frozenset(
    ("i", "we", "you", "it", "that", "this", "she", "he", "they", "there", "who")
)
_TURNS: Final = frozenset(("and", "but", "so", "because", "since", "as", "though", "while", "yet"))
_FINITE: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|must|shall|should"
    r"|i|we|he|she|they|you|both|there)\b"
)
_ELIDED: Final = re.compile(r"(?:would|want|wish|hope|need|expect|prefer)$")
"""A verb whose subject an earlier clause has: "you were charged twice and would like"."""
_BARE: Final = re.compile(rf"{_LEAD}(?:not|no|neither)\b")
_ECHO_ENDS: Final = re.compile(r" (?:it is|it shall be|then)$")
_TELLS: Final = re.compile(
    rf"{_LEAD}(?:it|that|this|he|she|they|there|both|(?:your|the|our) \w+) "
    r"(?:is|was|has|have|had|were|are|will|can|does|did)\b"
    rf"|{_LEAD}(?:i|we) (?:(?:already|just|also|now) )?(?:have|had|did|will|gave|sent|told|shared)\b"
    r"(?! (?:also |just |only |still )?(?:need|to|ask|a|some|two|three|one|few|your)\b)"
)
_OWN: Final = re.compile(r"\b(?:i|we|me|us)\b")
_ABOUT_READER: Final = re.compile(rf"{_LEAD}(?:your|you|that is|it is|this is)\b")
_WISHING: Final = re.compile(r"(?:lik|lov|want|hop|wish|need|ask|expect|prefer|look|had|hear)\w*$")
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

    def take(self, unit: Unit, *, only: str = "") -> frozenset[str]:
        """Account for the clauses of a sentence that assert nothing; return their acts.

        Args:
            unit: The sentence.
            only: The only act to look for; empty: any.
        """
        found: set[str] = set()
        for clause in clauses(unit):
            act = self.act(clause)
            if not act and "supposes" in found and _CONTENT_WITH_IT.fullmatch(_text(clause)):
                act = "supposes"
            if not act and "understands" in found and _FOLLOWS.match(_text(clause)):
                matter = self._matter(clause)
                denied = any(token.text in NEGATIONS for token in matter)
                act = "understands" * (not denied and self.heard.repeats(matter))
            if act and only in ("", act):
                found.add(act)
                for token in clause:
                    token.taken = True
        return frozenset(found)

    def claim(self, unit: Unit) -> str:
        """Describe what a sentence claims with what is left of it; empty if it claims nothing."""
        content = [token for token in _content(unit.left) if token.text not in ("i", "we")]
        if content and not is_question(unit):
            seen = f"says {content[0].text!r}, which is no saved reply, question or courtesy"
            return f"{seen}: {unit.text[:_SHOWN]!r}"
        if "no." in unit.text:  # "ticket no. and address"
            content = [token for token in content if token.text != "no"]
        parts = [list(some) for _, some in itertools.groupby(unit.tokens, lambda t: t.segment)]
        open_parts = [some for part in parts if (some := _content([t for t in part if not t.taken]))]
        for part, left in ((p, _content([t for t in p if not t.taken])) for p in parts):
            if len(open_parts) > 1 and left and _TELLS.match(_text(part)):  # "it was nearly it, which is it?"
                return f"says {left[0].text!r} beside a question: {unit.text[:_SHOWN]!r}"
        for token in unit.tokens:
            if token.stem in words().credentials:
                return f"asks for {token.text!r}, which nobody may: {unit.text[:_SHOWN]!r}"
        most = 1 + (len(unit.tokens) >= _LONG)
        if token := self._stray(content, most, asked=True):
            return f"asks about {token.text!r}, which it may not: {unit.text[:_SHOWN]!r}"
        return ""

    def act(self, clause: Sequence[Token]) -> str:
        """Return the act of a clause that asserts nothing; empty for a claim or a question."""
        content, said = _content(clause), _text(clause)
        if not content or _RHETORICAL.search(said):
            return ""
        if self._is_polite(clause) or self._understands(content, said):
            return "understands"
        for act, opening in (("looks", _LOOKS), ("supposes", _SUPPOSES)):
            behind = opening.match(said)
            if behind is None or _GRANTS.search(said, behind.end()):
                continue
            most = _STRAYS_BESIDE if act == "looks" or said.startswith("if") else 0
            if self._stray(content, most, act=act) is None:
                return act
        if self.heard.is_opening and _TAKES_ON.match(said):
            return "looks"
        if self._refuses(clause, said):
            return "refuses"
        return self._repeats(content, said)

    def _refuses(self, clause: Sequence[Token], said: str) -> bool:
        """Return whether a clause only refuses, in the reader's words, beside a saved reply."""
        if not self.replied or _REFUSES.match(said) is None:
            return False
        known = words()
        free = known.function | known.polite_beside | known.refusing | known.joining
        if any(token.text in _OTHERS for token in clause):
            return False
        is_bare = _BARE.match(said) is not None
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
        if _TOPIC.match(said):
            rest = [token for token in matter if token.text not in ("one", "question", "quick")]
            return "repeats" * self.heard.repeats(rest, wishes=True)
        if not matter or _OWN.search(said):
            return ""
        if _FINITE.search(_ECHO_ENDS.sub("", said)) is None:
            in_reply = all(any(_alike(one, other) for other in self.replied) for one in matter)
            return "repeats" * (in_reply or self.heard.repeats(matter, wishes=self.is_open))
        about = _ABOUT_READER.match(said)
        if about is None or _GRANTS.search(said, about.end()):
            return ""
        ids = [token for token in matter if token.figure is not None]
        told = all(map(self.heard.tells, ids))
        return "states" * (told and self.heard.states(matter, own=about[0].endswith(("you", "your"))))

    def _is_polite(self, clause: Sequence[Token]) -> bool:
        """Return whether a clause has only words that thank, regret and understand."""
        known = words()
        if clause[0].stem in self.names or not {one.stem for one in clause} & known.polite:
            return False
        beside = known.polite | known.polite_beside | self.names
        return all(token.figure is None and token.stem in beside for token in clause)

    def _understands(self, content: Sequence[Token], said: str) -> bool:
        """Return whether a clause understands, regrets or restates what its reader has said."""
        restates = _RESTATES.match(said) is not None
        if not restates and _UNDERSTANDS.match(said) is None:
            return False
        wish = _WISH_OF_READER.search(said) or _RESTATES.match(said)
        receives = _RECEIVES.match(said) is not None
        grants = [] if receives else _GRANTS.findall(said, wish.end() if wish else 0)
        if grants and self._weighty(content):
            heard = all(any(one in text for text in self.heard.plain_texts) for one in grants)
            return heard and self.heard.repeats(self._matter(content), wishes=True)
        others = any(token.text in _OTHERS for token in content)
        strays = 0 if others or _REPORTS.search(said) else _strays(said, is_wish=wish is not None)
        if self._stray(content, strays, act=wish or said) is not None:
            return False
        denied = any(token.text in NEGATIONS for token in content)
        if denied:
            if _NEVER_WISHED.search(said) and not self._weighty(content):
                return True
            matter = [t for t in self._matter(content) if not _WISHING.match(t.text)]
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
        of_own = asked and bool({"i", "we"} & {token.text for token in tokens})
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
    tells = "?" not in unit.text and _TOLD_POINT.search(unit.text) is not None
    listed = not tells or re.search(r"\b(?:from|with|under|which|that|what|who)\b", unit.text)
    asks = unit.asks and unit.is_point and bool(listed) or _REQUEST.search(unit.text) is not None
    return asks and _RHETORICAL.search(unit.text) is None


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
    if _ELIDED.match(after.text) and tokens[place].text == "and":
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
        return len(one.text) >= _LEAST and one.text in other.text  # "Thursday" of "Thursday, 5 March"
    if one.figure is None or other.figure is None:
        return one.figure is other.figure and one.stem == other.stem
    return one.figure.means(other.figure.readings)


def _content(tokens: Sequence[Token]) -> list[Token]:
    empty = words().joining | words().light
    return [token for token in tokens if token.figure is not None or token.stem not in empty]


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)
