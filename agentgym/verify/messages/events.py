"""Events and weights: what a clause tells that somebody can be held to.

An event is something done, to come or allowed, or that somebody gets. A word has weight if it
carries a claim in any task: money, time, a deed, a third person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentgym.verify.messages.units import Token, stem
from agentgym.verify.messages.words import words

OTHERS: Final = frozenset(
    (
        "she",
        "he",
        "they",
        "her",
        "him",
        "them",
        "his",
        "their",
        "hers",
        "theirs",
        "nobody",
        "somebody",
        "someone",
    )
)
"""Words for people who are neither the writer nor the reader."""
AUXILIARIES: Final = frozenset((
    "am", "are", "was", "were", "have", "had", "has", "do", "did", "will", "would", "can", "could",
    "may", "might", "must", "should", "shall", "need", "not", "understood",
))  # fmt: skip
LEAD: Final = (
    r"(?:(?:good (?:morning|afternoon|evening|day)|hello|hi|hey|and|so|but|well|oh|ah|also|yes|now"
    r"|then|again|still|just|though|because|since|as|although|while|\w+ly) )*"
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
    r"\b(?:i|we|you|it|he|she|they|which|who|that|this)"
    rf" (?:(?:\w+ly|just|already|also|then|even|never) )?({_PAST})\b"
)
_DID_TO: Final = re.compile(r"\b(\w{3,}ed) (?:you|your|it|them|him|her|us|our|the|me)\b")
_MAY: Final = re.compile(
    r"\b(?:i|we|you|it|that|this|he|she|they|everything|everybody|who|which)"
    rf" {_BETWEEN}(?:can|may|could|might|must|should) (?!not)"
    r"(?:(?:\w+ly|also|now|just|only|well|even|still) ){0,3}(\w+)"
)
_GETS: Final = re.compile(
    r"(?:\b(?:you|they|who|and|will|would|to) |^)(?:get|receive|deserve|own|owe)\b"
    r"(?! (?:this|it) right| back| in touch)"
    r"|\b(?:gets|receives|owns|owes)\b"
    r"|\byou (?:now )?have(?: it| that| them| this| my word| access|$)"
)
_ORDERS: Final = re.compile(
    rf"^{LEAD}(?:please |do not )?(?:consider|expect|ignore|count|rely|assume|skip)\b"
)
_ANSWERS: Final = re.compile(
    r"^(?:(?:and|but|then|oh|also|yes|now|well) )*(?:it|that|this|you|they|he|she|i|we)"
    r" (?:also |certainly |already |now )?"
    r"(?:is|are|am|was|does|do|did|has|have|will|can|may|would|could)"
    r"(?: too| now| so| already| indeed| in| out| through| there| set)?$"
    rf"|^{LEAD}here (?:it|you|they) (?:is|are|go)$"
)
_GRANTS: Final = re.compile(
    r"\b(?:but|and|so|is|are|said|says|say) yes\b|\bnext (?:time|week|month|year)\b"
    r"|\b(?:is|are) (?:\w+ )?(?:fine|ok|okay|alright|all right|possible|allowed|enough)\b"
    r"|^deal$|\ba deal\b|\bout of (?:two|three|four|five|\d)"
    r"|\byou (?:are|were) (?:\w+ )?(?:on|at|among)\b"
)
_SEEMS: Final = frozenset(("be", "feel", "happen", "seem", "imagin"))
_WORKS: Final = re.compile(r"\b(?:work|working|worked|figure) (?:it|this|that|things) out\b")
_APOLOGY: Final = re.compile(
    rf"^{LEAD}(?:(?:i|we) (?:am|are) )?(?:(?:so|very|really|truly) )*"
    r"sorry (?:that |if )?(?:i|we|you) "
)
_SAID: Final = re.compile(
    rf"^{LEAD}(?:(?:that|this|there|here) (?:is|are|was|were)(?: it| all)?"
    r"|(?:it|that|he|she|they) (?:may|might|could) (?:well )?be(?: so| true| right)?)$"
)
_OWN: Final = re.compile(r"\b(?:i|we) (?:(?:\w+ly|do|never|always|also|just|still|not) ){0,3}(\w+)")
_LACKS: Final = re.compile(r"\b(?:i|we) (?:do not|never|only|still|just) have\b")
_REST: Final = re.compile(
    rf"^{LEAD}(?:all |everything )?(?:\w+ly )?({_PARTICIPLE})(?: now| then| for you| already)?$"
)
HEAD: Final = re.compile(
    rf"^{LEAD}(?:(?:i|we) )?"
    r"(?:(?:\w+ly|do|can|also|so|very|just|quite|am|are|have|already) ){0,4}"
    r"(?:understand|see|know|hear|realise|realize|appreciate|imagine|sorry|afraid|get|hope|wish"
    r"|glad)"
    r" (?:that |to hear that |but )?"
)
"""Finds the words by which a writer feels or understands what follows."""
_PURPOSE: Final = re.compile(rf"^{LEAD}(?:before|until|so that|so) (?:i|we)\b")


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


def gets(said: str) -> bool:
    """Return whether words say that somebody gets or has something."""
    return _GETS.search(said) is not None


def event(said: str) -> str:
    """Return the words of a clause that tell of something done, to come, or allowed."""
    said = _WORKS.sub("look", said)
    if _SAID.match(said) or _APOLOGY.match(said) and not any(map(weighs_word, said.split())):
        return ""
    for pattern in (_GRANTS, _ORDERS, _ANSWERS, _GETS):
        if found := pattern.search(said):
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
        harmless = known.looks | {"be"} if match[1] else {"help"}
        if verb not in harmless:
            yield match[0].strip()
    for match in _DID_TO.finditer(said):
        if not _is_felt(match[1]):
            yield match[0]
    for pattern in (_HAS, _DID):
        for match in pattern.finditer(said):
            if stem(match[1]) not in known.looks:
                yield match[0]
    for match in _IS.finditer(said):
        is_own = bool(match[1]) and stem(match[2]) not in known.deeds
        if not is_own and not _is_felt(match[2]):
            yield match[0]
    for match in _MAY.finditer(said):
        is_announced = match[1] in ("confirm", "say", "tell") and match.end() == len(said)
        if not is_announced and stem(match[1]) not in known.looks | _SEEMS:
            yield match[0]


def _is_felt(participle: str) -> bool:
    known = words()
    felt = participle.endswith("ed") and stem(participle) in known.feelings
    return felt or stem(participle) in known.looks
