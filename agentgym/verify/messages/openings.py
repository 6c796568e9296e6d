"""Openings: the words by which the speech acts of a clause are found, as patterns of plain text."""

from __future__ import annotations

import re
from typing import Final

REQUEST: Final = re.compile(
    r"\?|\b(?:please|pls|kindly)\b|(?:^|[,:;] |\b(?:and|or|so|just) )(?:tell|give|send"
    r"|let) (?:me|us)\b"
    r"|\b(?:i|we)(?: (?:\w+ ){0,2}(?:need|require|must (?:have|ask|know)|have to (?:ask|know)|ask"
    r"|would like)|'d (?:like|need|love))\b|\b(?:i|we)'ll need\b|\bremains? to be\b"
    r"|\b(?:number|subject|name|words?|one|either|both) would (?:be enough|do|help)\b"
    r"|\b(?:number|subject|name|description|keyword)s? (?:is|are|will be) (?:enough"
    r"|sufficient|fine)\b"
    r"|\b(?:can|could|would|will) you\b|\b(?:may|can|could) (?:i|we) (?:have|ask|know)\b"
)
"""Finds a question to the reader. "I can confirm your details" is not one."""
RHETORICAL: Final = re.compile(
    r"\b(?:do|did) you (?:\w+ )?know that\b|\b(?:did|do) you (?:even |already )know\b"
    r"|\bdid you know\b|\byou aware\b|\b(?:ok|okay|fine|good|alright|all right) that\b"
    r"|\b(?:happy|glad|pleased|like|want|relieved) to (?:know|hear|see|learn)"
    r" (?:that|what|who|how|why|you|your)\b"
)
"""Finds a question that tells its reader something."""
TOLD_POINT: Final = re.compile(
    r"\b(?:has|have) been\b|\bwill\b|\b(?:is|are|was|were) (?:\w+ed|gone|done|sent|paid|given)\b"
)
"""Finds a point of a list that tells something, although the list asks."""

LEAD: Final = (
    r"(?:(?:good (?:morning|afternoon|evening|day)|hello|hi|hey|and|so|but|well|oh"
    r"|ah|also|yes|now|then|again|still|though) )*"
)
ADVERB: Final = r"(?:(?:\w+ly|do|can|also|so|very|just|quite|am|are|have|already|certainly) ){0,3}"
REGRETS: Final = (
    r"(?:(?:i am |we are )?(?:so |very |really )?(?:afraid|sorry|unfortunately"
    r"|sadly) (?:that |but )?)?"
)
UNDERSTANDS: Final = re.compile(
    rf"{LEAD}(?:(?:i|we) {ADVERB}(?:understand|see|know|hear|realis|realiz|realise|realize"
    r"|appreciate|imagine|hope|trust|wish|sympathise|sympathize|regret|feel|apologise"
    r"|apologize|understood"
    r"|am sorry|are sorry)\b"
    r"|(?:\w+ )?(?:sorry|thanks|thank you|apologies|my apologies|understandable|understandably)\b"
    r"|(?:i|we) (?:do |really |totally )?get (?:that|it|why|how)\b(?! back)"
    r"|(?:it is |i am )?(?:so |very |really )?(?:glad|good|great|nice|lovely|happy"
    r"|pleased) (?:that|to hear)\b"
    r"|(?:i|we) have (?:got|noted|received)\b|(?:got|noted|received)\b)"
)
OF_READER: Final = (
    r"you (?:\w+ ){0,2}?(?:like|love|want|wanted|hope|hoped|wish|wished|need|needed|ask|asked"
    r"|asking|expect|expected|expecting|prefer|preferred|say|said|saying|mention|mentioned"
    r"|write|wrote|written|told|describe|described|request|requested|wait|waiting|waited"
    r"|(?:\w+ ){0,2}(?:hurry|curious|busy|upset|annoyed|worried|angry))\b"
)
WISH_OF_READER: Final = re.compile(
    rf"\b{OF_READER}|\b(?!i\b|we\b)\w+ (?:would (?:like|love)|wants?|wishes|hopes)\b"
    rf"|\b(?:better|easier|nicer|best|ideal|good|convenient|helpful|important) for you\b"
)
REPORTS: Final = re.compile(
    r"\byou (?:\w+ )?(?:ask|say|said|mention|told|wrote|describe|request)\w*\b"
)
"""Finds what the reader is said to have said: that has to be so."""
NEVER_WISHED: Final = re.compile(
    rf"\b(?:not|never|no) (?:\w+ ){{0,4}}?{OF_READER}|\byou (?:never|did not|do not|had not)\b"
)
RESTATES: Final = re.compile(
    rf"{LEAD}(?:that )?(?:as )?{OF_READER}|and (?:would|want|wish|hope|need|expect|prefer)\b"
)
LOOKS: Final = re.compile(
    rf"{LEAD}(?:let me|let us|(?:i|we) (?:will|shall|am going to|are going to|need to"
    rf"|want to|would like to"
    r"|have to|can|am|are)) (?:\w+ly |just |first |now |also |go and )*"
    r"(?:check|checking|have a (?:quick |short )?look|take a (?:quick |short )?look|look"
    r"|looking|see|search|searching|read|reading|find|verify|compare"
    r"|(?:work|figure) (?:it|this|that) out|go through|going through|pull|think|help"
    r"|assist)\b(?! (?:to|after)\b)"
    rf"|{LEAD}(?:(?:i|we) have (?:just |now )?)(?:checked|looked|worked (?:it|this|that) out"
    rf"|read|searched|calculated)\b"
    rf"|{LEAD}(?:(?:i|we) (?:am|are|would be|will be) )?(?:more than )?(?:happy|glad|pleased) to"
    r" (?:help|assist|look|check|find|see)\b"
)
TAKES_ON: Final = re.compile(
    rf"{LEAD}(?:(?:i|we) (?:am|are|would be|will be) )?(?:more than )?(?:happy|glad"
    rf"|pleased) to (?:set|arrange|organi[sz]e"
    r"|sort|do|handle|take care of|book) (?:this|that|it)(?: up| out)?(?: for you)?$"
)
"""Finds what takes up a task at the start of a conversation; later it would grant a wish."""
SUPPOSES: Final = re.compile(
    rf"{LEAD}(?:if|in case|should|whether|as|while|until|before|once"
    r"|maybe|perhaps|possibly)\b"
)
CONTENT_WITH_IT: Final = re.compile(
    rf"{LEAD}(?:then )?(?:that|it) (?:is|would be) (?:also |quite |perfectly |totally )?"
    r"(?:fine|ok|okay|all right|alright|no problem|not a problem|good too)(?: too| as well)?"
)
"""Finds what is fine under a condition: "if not, that's fine"."""
FOLLOWS: Final = re.compile(r"(?:which|since|because|for|as|who|that|like)\b")
PROMISES: Final = re.compile(
    r"\b(?:will|shall|can|may|could|might|do|does|did|done|have|has|gets?|got|made|yes"
    r"|consider|go)\b"
)
"""Finds what may grant a wish in the plainest words: "I can do that", "it will happen"."""
RECEIVES: Final = re.compile(
    rf"{LEAD}(?:(?:i|we) have (?:now |just )?(?:got|noted|received)\b|(?:got|noted|received)\b"
    r"|(?:thanks|thank you) for\b)"
)
TOPIC: Final = re.compile(
    rf"{LEAD}(?:(?:that is|it is|this is) )?(?:(?:just )?(?:a |one |the |your "
    rf"|my )?(?:quick |short |brief )?"
    r"(?:one|question|note|check|request|ticket|case|thing|message|word)"
    r" (?:on|about|regarding|concerning|for|with)\b|(?:about|regarding|concerning|as for|as to)\b"
    r"|(?:see|meet|speak to|talk to) you(?: on| at)?\b)"
)
REFUSES: Final = re.compile(
    rf"{LEAD}{REGRETS}(?:(?:i|we|that|this|it) )?(?:(?:can|could|will|would|may|must) not\b"
    rf"|am not able\b)"
    rf"|{LEAD}[\w :.-]{{1,40}}? (?:is|are|do|does|will|would) not (?:be )?(?:\w+ )?"
    r"(?:possible|enough|allowed|an option|do|work|suffice)\b"
    rf"|{LEAD}{REGRETS}(?:not|no|neither) \w+|{LEAD}{REGRETS}(?:that|this|it|the \w+) (?:i"
    rf"|we) can not\b"
    rf"|{LEAD}{REGRETS}(?:that|this|it) is not (?:something|a thing|anything|what) (?:i|we) can\b"
)
GRANTS: Final = re.compile(
    r"\b(?:will|shall|gets?|got|going to|can have|may have|(?:is|are|was|were|been) \w+(?:ed"
    r"|nt|id|ne))\b"
)
FINITE: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|must"
    r"|shall|should"
    r"|i|we|he|she|they|you|both|there)\b"
)
ELIDED: Final = re.compile(r"(?:would|want|wish|hope|need|expect|prefer)$")
"""A verb whose subject an earlier clause has: "you were charged twice and would like"."""
BARE: Final = re.compile(rf"{LEAD}(?:not|no|neither)\b")
ECHO_ENDS: Final = re.compile(r" (?:it is|it shall be|then)$")
TELLS: Final = re.compile(
    rf"{LEAD}(?:it|that|this|he|she|they|there|both|(?:your|the|our) \w+) "
    r"(?:is|was|has|have|had|were|are|will|can|does|did)\b"
    rf"|{LEAD}(?:i|we) (?:(?:already|just|also|now) )?(?:have|had|did|will|gave|sent|told"
    rf"|shared)\b"
    r"(?! (?:also |just |only |still )?(?:need|to|ask|a|some|two|three|one|few|your)\b)"
)
OWN: Final = re.compile(r"\b(?:i|we|me|us)\b")
ABOUT_READER: Final = re.compile(rf"{LEAD}(?:your|you|that is|it is|this is)\b")
WISHING: Final = re.compile(r"(?:lik|lov|want|hop|wish|need|ask|expect|prefer|look|had|hear)\w*$")
