"""The protected matter of a conversation: what a clause has to touch before it can do harm.

A clause touches the matter with a protected word, or by an event: something that will be, was or
has been done, or that somebody may do or gets. A clause that touches neither is conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.units import NEGATIONS, Token, stem
from agentgym.verify.messages.words import words

OTHERS: Final = frozenset(
    ("she", "he", "they", "her", "him", "them", "his", "their", "hers", "theirs", "nobody",
     "somebody", "someone")
)
"""Words for people who are neither the writer nor the reader."""
AUXILIARIES: Final = frozenset(
    "am are was were have had has do did will would can could may might must should shall need"
    " not understood cannot".split()
)
_LEAD: Final = (
    r"(?:(?:good (?:morning|afternoon|evening|day)|hello|hi|hey|and|so|but|well|oh|ah|also|yes|now"
    r"|then|again|still|though|because|since|as|although|while|\w+ly) )*"
)
_BETWEEN: Final = (
    r"(?:(?:\w+ly|not|never|already|now|just|also|all|been|being|be|still|even|so|then|always|do"
    r"|no longer|of course) ){0,3}"
)
_PARTICIPLE: Final = (
    r"(?:\w{2,}ed|done|made|sent|told|said|taken|gone|kept|left|met|given|written|paid|held|come"
    r"|found|put|set|let|won|sold|bought|brought|caught|cut|drawn|fallen|forgotten|frozen|heard"
    r"|hidden|hit|lost|lent|known|read|run|seen|shown|shut|spoken|spent|stood|stolen|thrown"
    r"|thought|undone|built|chosen|become|begun|broken|agreed|grown|moved|struck|underway)"
)
_PAST: Final = (
    r"(?:\w{2,}ed|went|gave|took|made|did|got|put|left|told|sent|ran|paid|kept|came|held|lost|wrote"
    r"|spoke|bought|sold|found|saw|heard|read|said|knew|thought|felt|began|chose|broke|let|set|met"
    r"|meant|forgot|won|threw)"
)
_WILL: Final = re.compile(
    rf"\b(?:(i|we) )?{_BETWEEN}(?:will|shall|going to|gonna|about to) {_BETWEEN}(\w+)?"
)
_HAS: Final = re.compile(rf"\b(?:has|have|had) {_BETWEEN}({_PARTICIPLE})\b")
_IS: Final = re.compile(
    rf"(?:\b(i|we) )?\b(?:is|are|am|was|were|been|being|be|gets|got) {_BETWEEN}({_PARTICIPLE})\b"
)
_DID: Final = re.compile(
    rf"\b(?:i|we|you|it|he|she|they|which|who|that|this) (?:(?:\w+ly|just|already|also|then|even|never) )?({_PAST})\b"
)
_DID_TO: Final = re.compile(
    r"\b(\w{3,}ed) (?:you|your|it|them|him|her|us|our|the|me)\b"
)
_MAY: Final = re.compile(
    rf"\b(?:i|we|you|it|that|this|he|she|they|everything|everybody|who|which) (?:{_BETWEEN})(?:can|may|could|might|must|should) (?!not)(?:(?:\w+ly|also|now|just|only|well|even|still) ){{0,3}}(\w+)"
)
_GETS: Final = re.compile(
    r"(?:\b(?:you|they|who|and|will|would|to) |^)(?:get|receive|deserve|own|owe)\b(?! (?:this|it) right| back| in touch)"
    r"|\b(?:gets|receives|owns|owes)\b|\byou (?:now )?have(?: it| that| them| this| my word| access|$)"
)
_ORDERS: Final = re.compile(rf"^{_LEAD}(?:please |do not )?(?:consider|expect|ignore|count|rely|assume|skip)\b")
_ANSWERS: Final = re.compile(
    r"^(?:(?:and|but|then|oh|also|yes|now|well) )*(?:it|that|this|you|they|he|she|i|we) (?:also |certainly |already |now )?(?:is|are|am|was|does|do|did|has|have|will|can|may|would|could)(?: too| now| so| already| indeed| in| out| through| there| set)?$"
    rf"|^{_LEAD}here (?:it|you|they) (?:is|are|go)$"
)
_GRANTS: Final = re.compile(
    r"\b(?:but|and|so|is|are|said|says|say) yes\b|\bnext (?:time|week|month|year)\b"
    r"|\b(?:is|are) (?:\w+ )?(?:fine|ok|okay|alright|all right|possible|allowed|enough)\b"
    r"|^deal$|\bout of (?:two|three|four|five|\d)|\ba deal\b|\byou (?:are|were) (?:\w+ )?(?:on|at|among)\b"
)
_WORKS: Final = re.compile(r"\b(?:work|working|worked|figure) (?:it|this|that|things) out\b")
_SET: Final = re.compile(
    r"\b(?:straight|right) away\b|\bright (?:person|one|place|team|page|way|moment)\b"
    r"|\bnot \w+ (?:\w+ )?the wrong (?:person|one|place|team)\b"
)
"""Finds set phrases with a word that is protected elsewhere."""
_REGRETS: Final = re.compile(
    rf"^{_LEAD}(?:(?:i|we) (?:am|are) )?(?:(?:so|very|really|truly) )*(?:sorry|apologies|thanks|thank you|thx) "
)
_APOLOGY: Final = re.compile(
    rf"^{_LEAD}(?:(?:i|we) (?:am|are) )?(?:(?:so|very|really|truly) )*sorry (?:that |if )?(?:i|we|you) "
)
_SAID: Final = re.compile(
    rf"^{_LEAD}(?:(?:that|this|there|here) (?:is|are|was|were)(?: it| all)?"
    r"|(?:it|that|he|she|they) (?:may|might|could) (?:well )?be(?: so| true| right)?)$"
)
_OWN: Final = re.compile(
    r"\b(?:i|we) (?:(?:\w+ly|do|never|always|also|just|still|not) ){0,3}(\w+)"
)
_LACKS: Final = re.compile(r"\b(?:i|we) (?:do not|never|only|still|just) have\b")
_OBSERVES: Final = re.compile(r"\b(?:see|saw|find|found|have|has|there (?:is|are))\b")
_COUNTED: Final = re.compile(r"(?:question|thing|point|detail|quick|small|short|more|moment|minute)")
_REST: Final = re.compile(rf"^{_LEAD}(?:\w+ly )?({_PARTICIPLE})(?: now| then| for you| already)?$")
HEAD: Final = re.compile(
    rf"^{_LEAD}(?:(?:i|we) )?(?:(?:\w+ly|do|can|also|so|very|just|quite|am|are|have|already) ){{0,4}}"
    r"(?:understand|see|know|hear|realise|realize|appreciate|imagine|sorry|afraid|get|hope|wish|glad)"
    r" (?:that |to hear that |but )?"
)
"""Finds the words by which a writer feels or understands what follows."""
_THING: Final = re.compile(rf"^{_LEAD}(?:a|an|some|the|your|our|his|her|their) ")
_PURPOSE: Final = re.compile(rf"^{_LEAD}(?:before|until|so that|so) (?:i|we)\b")
_SHOULD: Final = re.compile(rf"^{_LEAD}(?:that|this|it) (?:\w+ly )?(?:should|must|can|could) not\b")
_POINTS: Final = re.compile(rf"^{_LEAD}(?:that|this) (?:is|sounds|feels|goes|looks) ")
_CLAUSE: Final = re.compile(r"\b(?:that|we|you|it|is|are|was|were|has|have|had|will|can|could)\b")
_VERB: Final = re.compile(
    r"\b(?:i|we|you|it|that|this|there|me|us|your|is|are|was|were|be|have|has|had|do|does|did|can|could|will|would|let|please)\b"
)
_WORLD: Final = re.compile(
    rf"^{_LEAD}(?!i |we |you |let |if |whether |before |once |until |please |do |what |how |who |which |where |when |why )"
    r"(?:(?:it|that|this) \w+|(?:there|these|those|[\w' ]{1,60}?) (?:is|are|was|were|has|have|had|do|does|did|means|mean|only|concerns)\b)"
)


@dataclass(frozen=True, slots=True)
class Matter:
    """What a conversation is about.

    Attributes:
        stems: Stems of the words by which the rubric's replies and names tell it.
        capitals: Words of the message that have a capital inside a sentence: names.
        licensed: Ids of the tokens of permitted phrases.
    """

    stems: frozenset[str]
    capitals: frozenset[str]
    licensed: frozenset[int] = frozenset()

    def protects(self, token: Token) -> bool:
        """Return whether a token is of the matter: a figure, a name, a word that carries a claim."""
        if id(token) in self.licensed:
            return False
        if token.figure is not None:
            return not token.figure.is_count
        return (
            weighs(token)
            or token.stem in self.stems
            or token.text in self.capitals
        )

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
        return word or event(said) or _state([t for t in tokens if id(t) not in self.licensed], said)


def weighs(token: Token) -> bool:
    """Return whether a word carries a claim in any task: a person, money, time, a deed."""
    return token.figure is None and weighs_word(token.text)


def weighs_word(word: str) -> bool:
    """Return whether a word carries a claim in any task."""
    known = words()
    return (
        word in OTHERS
        or bool({word, stem(word)} & known.protected)
        or stem(word) in known.deeds - known.told - known.harmless
    )


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


def gets(said: str) -> bool:
    """Return whether words say that somebody gets or has something."""
    return _GETS.search(said) is not None


def event(said: str) -> str:
    """Return the words of a clause that tell of something done, to come, or allowed."""
    said = _WORKS.sub("look", said)
    if _SAID.match(said) or _APOLOGY.match(said) and not any(map(weighs_word, said.split())):
        return ""
    for found in (_GRANTS.search(said), _ORDERS.search(said), _ANSWERS.search(said), _GETS.search(said)):
        if found:
            return found[0].strip()
    return next(_deeds(said), "")


def _deeds(said: str) -> Iterator[str]:
    known = words()
    for own in _OWN.finditer(said) if not _PURPOSE.match(said) else ():
        if own[1] not in AUXILIARIES and stem(own[1]) not in known.looks:
            yield own[0]
    if lacks := _LACKS.search(said):
        yield lacks[0]
    rest = _REST.match(said)
    if rest and not _is_felt(rest[1]):
        yield rest[0]
    for match in _WILL.finditer(said):
        verb = stem(match[2] or "")
        if not (verb in known.looks and (match[1] or verb in ("help", "tak"))) and not (match[1] and verb == "be"):
            yield match[0].strip()
    for match in _DID_TO.finditer(said):
        if not _is_felt(match[1]):
            yield match[0]
    for pattern in (_HAS, _DID):
        for match in pattern.finditer(said):
            if stem(match[1]) not in known.looks:
                yield match[0]
    for match in _IS.finditer(said):
        own = match[1] and stem(match[2]) not in known.deeds
        if not own and not _is_felt(match[2]):
            yield match[0]
    for match in _MAY.finditer(said):
        is_announced = match[1] in ("confirm", "say", "tell") and match.end() == len(said)
        if not is_announced and stem(match[1]) not in known.looks | {"be", "feel", "happen", "seem", "imagin"}:
            yield match[0]


def _is_felt(participle: str) -> bool:
    known = words()
    felt = participle.endswith("ed") and stem(participle) in known.feelings
    return felt or stem(participle) in known.looks
