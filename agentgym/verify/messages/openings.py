"""Openings: the words by which the speech acts of a clause are found, as patterns of plain text."""

from __future__ import annotations

import re
from typing import Final

from agentgym.verify.messages.events import LEAD

FOLLOWS: Final = re.compile(r"(?:which|since|because|for|as|who|that|like)\b")
SUPPOSES: Final = re.compile(
    rf"{LEAD}(?:if|in case|should|whether|as|while|until|before|once|when|maybe|perhaps|possibly"
    r"|so that|so (?:i|we) can|to|in order to)\b"
)
LIMITS: Final = re.compile(
    rf"{LEAD}(?:if|unless|in case|provided|as long as|until|once|maybe|perhaps|possibly|when|or)\b"
)
LOOKS: Final = re.compile(
    rf"{LEAD}(?:let me|let us|(?:i|we) (?:will|shall|am going to|are going to|need to|want to"
    r"|would like to|have to|can|am|are|have)"
    r"|(?:(?:i|we) )?(?:(?:am|are|would be|will be) )?(?:more than )?(?:happy|glad|pleased) to) "
    r"(?:(?:\w+ly|just|first|now|also|go and|have a|take a|quick|short) ){0,4}(\w+)"
)
THANKS: Final = re.compile(
    rf"{LEAD}(?:(?:i|we) have (?:now |just )?(?:got|noted|received)|got|noted|received"
    r"|(?:many )?(?:thanks|thank you|thx) for)\b"
)
OF_READER: Final = re.compile(
    r"\byou (?:\w+ ){0,2}?(?:like|love|want|wanted|hope|hoped|wish|wished|need|needed|ask|asked"
    r"|asking|expect|expected|expecting|prefer|preferred|request|requested|after)\b"
    r"|\byour (?:wish|request|question)\b|\b(?:better|easier|nicer|best|good) for you\b"
    r"|^and (?:would|want|wish|hope|need|expect|prefer)\b"
)
"""Finds a wish that is told as the reader's."""
REFUSES: Final = re.compile(
    rf"{LEAD}(?:\w+ly )?(?:(?:i|we|that|this|it) )?(?:(?:can|could|will|would|may|must) not"
    r"|(?:am|are) (?:not able|unable))\b"
    rf"|{LEAD}[\w :.-]{{1,40}}? (?:is|are|do|does|will|would) not (?:be )?(?:\w+ )?"
    r"(?:possible|enough|allowed|an option|do|work|suffice)\b"
    rf"|{LEAD}(?:\w+ly )?(?:not|no|neither) \w+"
    rf"|{LEAD}(?:that|this|it|the \w+) (?:i|we) can not\b"
    rf"|{LEAD}(?:that|this|it) is (?:\w+ ){{0,4}}?(?:i|we) (?:can|may|must|could|do)\b"
)
BARE: Final = re.compile(rf"{LEAD}(?:not|no|neither)\b")
OWN: Final = re.compile(r"\b(?:i|we|me|us)\b")
ECHO_ENDS: Final = re.compile(r" (?:it is|it shall be|then)$")
WISHED_WELL: Final = re.compile(r"\b(?:well|good|great|nice|lovely|fine)$")
HOPES: Final = re.compile(rf"{LEAD}(?:(?:i|we) )?(?:(?:do|really|just|only) )?(?:hope|wish) ")
CONTENT: Final = re.compile(
    rf"{LEAD}(?:then )?(?:that|it) (?:is|would be) (?:\w+ )?(?:fine|ok|okay|all right|alright)$"
)
"""Finds what is fine under a condition: "if not, that's fine"."""
NOUN: Final = re.compile(rf"{LEAD}(?:your|the|that|this) \w+(?: \w+)?$")
WOULD: Final = re.compile(r"\b(?:would|might)\b")
RELATIVE: Final = re.compile(r"(?:who|which|whose \w+) (?:has|have|had|is|are|was|were|will|can)\b")
OFFERS: Final = re.compile(rf"{LEAD}(?:is|are|was|were|has|have|had|does|did) ")
"""Finds a question that "yes" answers: its words are what the writer has to say."""
OPEN: Final = re.compile(rf"{LEAD}(?:what|which|who|whose|when|where|how|why) ")
TOPIC: Final = re.compile(rf"{LEAD}(?:as for|as to|regarding|concerning|about) ")
FINITE: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|must"
    r"|shall|should|i|we|he|she|they|both|there|you(?! *$))\b"
)
DECLARES: Final = re.compile(
    rf"{LEAD}(?:(?:i|we|you|it|that|this|he|she|they|there|both)"
    r" (?:(?:\w+ly|already|just|also|now|do|still) ){0,2}(?:\w+ed|gave|sent|told|took|see|saw"
    r"|find|found|am|is|are|was|were|has|have|had|does|do|did|will|can|could|would|may|must|should)"
    r"|(?:your|the|our|a|an|my|his|her) (?:(?!(?:it|i|we|you|that|which|who) )\w+ ){1,3}?"
    r"(?:is|are|was|were|has|have|had|does|did|will|can|could|would|may|must))\b"
)
