"""Questions: which sentences ask, and which of those tell something by asking."""

from __future__ import annotations

import re
from typing import Final

from agentgym.verify.messages.units import Unit

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
"""Finds the words by which a writer asks for something."""
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
_LISTED: Final = re.compile(r"\b(?:from|with|under|which|that|what|who)\b")


def is_question(unit: Unit) -> bool:
    """Return whether a sentence asks its reader for something, and tells nothing by it.

    "I can confirm your details" does not ask; "did you know that" tells.
    """
    tells = "?" not in unit.text and _TOLD_POINT.search(unit.text) is not None
    listed = not tells or _LISTED.search(unit.text) is not None
    asks = unit.asks and unit.is_point and listed or REQUEST.search(unit.text) is not None
    return asks and _RHETORICAL.search(unit.text) is None
