"""Recognises the intents of a message by a grammar over its sentences.

Intents are dialogue acts (ISO 24617-2 calls them communicative functions). Contractions are
written out first, so that one pattern covers "can't", "cannot" and "can not". A message may have
several intents, one for each of its sentences; a sentence that fits no pattern has no intent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from agentgym.records import Intent

_CONTRACTIONS: Final = (
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\b(it|that|there|here|what|he|she|who)'s\b"), r"\1 is"),
)
_ADVERBS: Final = (
    r"(?:(?:still|really|simply|just|unfortunately|sadly|also|therefore|currently|quite|yet|even"
    r"|actually|honestly|regrettably|personally|at the moment|right now),? )*"
)
_NOT: Final = rf"{_ADVERBS}not {_ADVERBS}"


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


# A failed search, which is not a refusal.
_LOOKING: Final = (
    r"(?:find|see|locate|identify|trace|spot|match|recogni[sz]e|verify|confirm|pull (?:up|it|that)"
    r"|look (?:it|that|this) up|wait|make out|reach|hear|tell (?:which|whether|if|who|from)"
    r"|figure|understand|follow|read|recall|remember|imagine|thank|think|believe|say for|be sure"
    r"|stress|help (?:but|noticing|feeling)|only|agree more|be happier|ask for more)"
)
_ACTING: Final = rf"(?!{_ADVERBS}(?:be able to )?{_LOOKING}\b)"
_REFUSAL: Final = _pattern(
    rf"\b(?:i|we|one|nobody|my team|our team) {_ADVERBS}(?:can|could|may|must|will|shall|would) "
    rf"{_NOT}{_ACTING}",
    rf"\b(?:i|we) {_ADVERBS}(?:am|are|was|were|will be|would be) {_NOT}"
    r"(?:allowed|permitted|authori[sz]ed|in a position|going|willing|supposed|free) ",
    rf"\b(?:i|we) (?:am|are|was|were|will be) (?:{_NOT}able|{_ADVERBS}unable) to {_ACTING}",
    r"\b(?:i|we) (?:am|are|was|were)? ?(?:unable|forbidden|prohibited) to " + _ACTING,
    rf"\b(?:is|are|was|would be|will be) {_NOT}(?:something (?:that )?(?:i|we) |anything (?:i|we) "
    r"|possible|allowed|permitted|an option|available to you|up to me|mine to|enough|sufficient"
    r"|doable|feasible|going to (?:happen|work)|within my)",
    r"\b(?:can|could|may|must|will|would|shall) " + _NOT + r"(?:be (?:done|changed|shared|made"
    r"|given|told|deleted|removed|moved|granted|sent|refunded|waived|extended|disclosed|released"
    r"|handed|opened|accepted|arranged|possible)|happen|work|be event)\b",
    r"\b(?:must|have to|has to|need to|am going to|will|would) (?:\w+ )?(?:decline|refuse|say no"
    r"|turn (?:this|that|it|you) down|leave it (?:as|at))\b",
    r"\b(?:i|we) (?:\w+ )?(?:decline|refuse)\b",
    r"\b(?:polic(?:y|ies)|rules?|article|procedure|guidelines?|regulations?|law|gdpr)\b.{0,60}?"
    r"\b(?:(?:do|does|will|would) not (?:allow|permit|let|cover|provide|foresee)|forbids?"
    r"|prohibits?|prevents?|excludes?|rules? (?:it|this|that) out|stands? in the way"
    r"|keeps? (?:me|us|\"?\w+\"?) (?:from|for)|reserves?|limits?|restricts?"
    r"|stops? (?:me|us)|against)\b",
    r"\bagainst (?:our|the|company|my) (?:polic|rule|guideline|regulation)",
    r"\b(?:only|just) (?:allowed|permitted|able) to\b",
    r"^(?:oh,? |sorry,? |i am sorry,? )*(?:no|nope)(?:[,.!;:]| (?!one|longer|problem|worries|doubt"
    r"|trouble|need|hurry|ticket|record|result|match|such|more|idea))",
    r"\b(?:i am )?(?:afraid|sorry,?|unfortunately,?) (?:not|no)(?:[.,!]|$)",
    r"\bout of (?:the question|my hands)\b",
    r"\b(?:is|are) (?:confidential|private|off limits|restricted)\b",
)
_CONDITION: Final = re.compile(
    r"\b(?:until|unless|before (?:i|we|you|that)|without (?:your|first|knowing|a|the|checking"
    r"|verif\w+|that)|till)\b"
)
_DIFFERENT: Final = (
    r"(?:different|wrong|typo|mistake|mistyped|another (?:number|one|ticket|reference|address)"
    r"|misread|mixed|off by|slightly|digits?|swapped|transposed|slipped|mis-?heard|incorrect"
    r"|an error|spelled|outdated|old one|not (?:quite )?(?:right|correct))"
)
_DOUBT: Final = _pattern(
    r"\b(?:any|some|a) chance\b.{0,80}?" + _DIFFERENT,
    r"\b(?:is it possible|could it be|can it be|might it be|may it be|maybe|perhaps|possibly"
    r"|could there be|might there be|is there|do you think|would it be|did you|have you|could you"
    r" have|might you have|you may have|you might have)\b.{0,80}?" + _DIFFERENT,
    r"\b(?:can|could|do|did|am|are|was|were|have|will) "
    + _NOT
    + r"(?:be )?(?:able to )?(?:find|finding|found|see|seeing|locate|locating|located|identify"
    r"|trace|match|pull up|pulling up|recogni[sz]e|have (?:a|any|anything))\b",
    r"\bunable to (?:find|locate|identify|trace|match|see)\b",
    r"\b(?:no|not any|nothing|not a single|zero)\b.{0,40}?\b(?:match(?:es|ing)?|record|trace"
    r"|result|comes? up|shows? up|found|under (?:that|this)|by that|with that|on file)\b",
    r"\b(?:no such|does not exist|draw(?:s|ing)? a blank|(?:came|comes|coming) up (?:empty|blank)"
    r"|finds? nothing|nothing (?:there|comes|under)|is unknown (?:to|here))\b",
    r"\b(?:do|does|did|is|are) "
    + _NOT
    + r"(?:seem |appear |look )?(?:to )?(?:match|matching|fit|belong|correspond|agree|go (?:with"
    r"|together)|line up|tally|add up|quite right|seem right|look right|the one|yours|one of ours"
    r"|familiar|valid|in our|linked|connected|registered|under your)\b",
    r"\bmis-?match",
    r"\b(?:belongs?|is (?:under|registered|linked|assigned)|points?|leads?|goes|comes up under)"
    r" (?:to |under |as )?(?:a |an |some)?(?:different|another|other|someone|somebody)",
    r"\b(?:is|shows|has|gives|get|see|find) (?:me )?(?:a |an )?(?:ticket of )?(?:different|another"
    r"|somebody else|someone else)(?:'s)?\b",
    r"\b(?:double|re|cross)-?(?:check|read|confirm)",
    r"\b(?:check|look|read|try|say|spell|repeat|give|send|confirm|go over)\b.{0,60}?"
    r"\b(?:again|once more|one more time|digit by digit|letter by letter|another time)\b",
    r"\blook again\b|\banother look\b|\bsecond look\b|\bonce more\b",
    r"\b(?:are|were) you (?:\w+ )?(?:sure|certain|positive)\b",
    r"\bis (?:that|this|it) (?:really |definitely |surely )?(?:the )?(?:right|correct)\b",
    r"\b(?:typo|misread|mistyped|transposed|mis-?heard)\b",
    r"\bsomething (?:is|seems|looks) (?:off|wrong|not right|odd)",
)
_OFFER: Final = _pattern(
    r"\b(?:anything|something) (?:else|more|further)\b",
    r"\b(?:any|other|further|more) (?:other )?(?:questions?|requests?|concerns?|issues?|matters?)\b"
    r"(?!.{0,30}\b(?:ticket|number)\b)",
    r"\b(?:what|how) else\b.{0,40}\b(?:can|could|may|do|help)\b",
    r"\b(?:help|assist|do)\b.{0,20}\b(?:with )?(?:anything|something) (?:else|more)?\b",
    r"\b(?:is|was|will|would) (?:that|this|it) (?:be )?(?:all|everything)\b",
    r"\b(?:let me know|tell me|write|shout|reach out|get in touch) (?:back )?"
    r"(?:if|should|whenever|in case)\b",
    r"\b(?:that|this) (?:all|everything) (?:you|for)\b",
    r"\bhappy to (?:help|assist)\b.{0,30}\b(?:further|more|else|again)\b",
    r"\bcan i (?:be of )?(?:further|more) (?:help|assistance|service)\b",
)
_DONE_VERB: Final = (
    r"(?:passed|handed|forwarded|sent|assigned|moved|changed|updated|added|deleted|removed|booked"
    r"|shared|set|noted|raised|opened|created|entered|cancelled|canceled|called off|invited"
    r"|reserved|escalated|tagged|marked|arranged|put|given|written|registered|recorded|filed"
    r"|transferred|scheduled|finished|completed|taken care|granted|logged|routed|made|fixed)"
)
_REPORT: Final = _pattern(
    rf"\b(?:i|we) (?:have |had )?(?:now |just |already |also |meanwhile )*{_DONE_VERB}\b",
    r"\b(?:is|are|was|were|has been|have been|been) (?:now |just |already |also |all )*"
    rf"{_DONE_VERB}\b",
    r"\b(?:it is|that is|all|everything is|this is|you are|we are)(?: now| all)? (?:done|set|ready"
    r"|taken care of|in place|in the calendar|through|gone|complete)\b",
    r"\b(?:is|are|sits|lies)(?: now)? (?:with|in the hands of) (?:our|the|my) [\w ]{0,30}"
    r"(?:team|colleagues?|department|billing|finance|desk)\b",
    r"\b(?:team|colleagues?|department|billing|finance|manager|desk)\b.{0,40}?\b(?:has|have|will|is"
    r"|are)\b.{0,40}?\b(?:take|taking|look|looking|see|handle|handling|review|reviewing|it|ticket"
    r"|contact|write|reply|decide)\b",
    r"^(?:done|all set|sorted|consider it done|all good)\b",
)
_WAIT: Final = _pattern(
    r"\b(?:one|a|just a|give me a|give me one) (?:moment|second|sec|minute|bit|little while)\b",
    r"\b(?:bear|stay|hang|hold) (?:with me|on|there|the line|tight)\b",
    r"\blet me (?:just |quickly |first |now )*(?:check|look|see|find|pull|verify|have|go|take|open"
    r"|search|confirm|ask)\b",
    r"\b(?:please )?(?:wait|hold|be patient)\b(?! for (?:our|the) (?:reply|answer|team))",
    r"\bi (?:am|will be) (?:just |now |still |right )*(?:checking|looking|searching|pulling"
    r"|verifying|working|on it|back|going through)\b",
    r"\b(?:back|with you) (?:in|shortly|soon|again)\b|\bwill be right back\b|\bright away\b",
    r"\b(?:thank you|thanks) for (?:your patience|waiting|holding)\b",
    r"\bi will (?:just |now |quickly |first )*(?:check|look|have a look|take a look|see what)\b",
)
_PROPOSAL: Final = _pattern(
    r"\b(?:shall|should) (?:i|we)\b",
    r"\b(?:would|do) you (?:like|want|wish) (?:me|us|that|it|to have)\b",
    r"\bwould you (?:prefer|rather)\b",
    r"\b(?:may|can|could) (?:i|we) (?:go ahead|proceed|do (?:that|this|it|so)|pass|hand|offer"
    r"|suggest|propose|book|move|set|assign|forward|escalate|start)\b",
    r"\b(?:is|would) (?:that|this|it) (?:be )?(?:okay|ok|fine|all right|alright|acceptable"
    r"|agreeable|good|enough) (?:for|with|by|if)\b",
    r"\bare you (?:okay|ok|fine|happy|comfortable) with\b|\bdo you agree\b|\bdoes (?:that|this)"
    r" (?:work|suit|help|sound)\b|\b(?:sounds?|is that|that) (?:good|fine|ok|okay)\?",
    r"\b(?:what|how) about\b|\bi (?:would |could )?(?:suggest|propose|offer)\b",
    r"\b(?:okay|ok|all right|alright|good|fine|agreed|right)\?$",
    r"\bif you (?:agree|like|want|prefer|wish)\b",
)
_GREETING: Final = _pattern(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|dear|greetings|welcome|morning)\b",
    r"\b(?:my name is|this is \w+ (?:from|of|at)|i am \w+ (?:from|of|at|with)|you (?:have|are) "
    r"(?:reached|through to|speaking (?:to|with)|talking to|chatting with))\b",
    r"\b(?:how can i help|how may i help|nice to (?:meet|hear)|pleased to meet"
    r"|what can i do for you|glad (?:you|to))\b",
)
_CLOSE: Final = _pattern(
    r"\b(?:good ?-?bye|bye(?:-bye)?|farewell|see you|so long|take care|cheers)\b",
    r"\b(?:have|enjoy) (?:a|the|your) (?:very |really |rest |lovely |nice |good |great "
    r"|wonderful |pleasant |fine )*(?:of (?:your|the) )?"
    r"(?:day|evening|weekend|week|morning|afternoon|night)\b",
    r"\b(?:thank you|thanks|many thanks|much appreciated)\b",
    r"\b(?:best|kind|warm) (?:regards|wishes)\b|\b(?:all the best|sincerely)\b",
    r"\byou are (?:very |most )?welcome\b|\bmy pleasure\b",
    r"\bgood (?:night|day to you)\b|\btalk (?:to you )?soon\b",
)
_QUESTION: Final = re.compile(r"\?\s*$")


def _refuses(sentence: str, asking: bool) -> bool:
    if _QUESTION.search(sentence) or not _REFUSAL.search(sentence):
        return False
    # "I can't change it until I know who you are" is a condition if the message asks for it.
    return not (asking and _CONDITION.search(sentence))


def _found(pattern: re.Pattern[str]) -> Callable[[str, bool], bool]:
    return lambda sentence, asking: pattern.search(sentence) is not None


_GRAMMAR: Final[Mapping[Intent, Callable[[str, bool], bool]]] = {
    "doubts": _found(_DOUBT),
    "refuses": _refuses,
    "proposes": _found(_PROPOSAL),
    "offers_help": _found(_OFFER),
    "reports": lambda sentence, _: (
        not _QUESTION.search(sentence) and bool(_REPORT.search(sentence))
    ),
    "waits": _found(_WAIT),
    "greets": _found(_GREETING),
    "closes": _found(_CLOSE),
}


def intents(sentences: Sequence[str], asking: bool) -> frozenset[Intent]:
    """Return the intents of some sentences together.

    Args:
        sentences: Sentences of one message, with plain quotes and single blanks.
        asking: Whether the message also asks for something.

    Example:
        >>> sorted(intents(["I'm afraid I can't share that.", "Anything else?"], True))
        ['offers_help', 'refuses']
    """
    plain = [spelled_out(sentence) for sentence in sentences]
    return frozenset(
        name for name, fits in _GRAMMAR.items() if any(fits(text, asking) for text in plain)
    )


def spelled_out(sentence: str) -> str:
    """Return a sentence in lower case, with its contractions written out."""
    text = sentence.casefold()
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return text
