"""Finds the requests in an agent's free text from its words alone, without a model.

A sentence asks if it has a question mark or one of the phrases with which people ask, in English,
German, French or Spanish; the points of a list ask if the line above them does. A request to check
or repeat "it" asks for the subject of the sentence before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.records import Intent
from agentgym.records.normalization import stream_safe
from agentgym.user.intents import intents

_QUOTES: Final = str.maketrans("‘’ʼ`´“”„«»–—\u2011", "'''''\"\"\"\"\"---")
_MOST_CHARS: Final = 8_000
_SENTENCE: Final = re.compile(r"(?<=[.!?;？。])\s+")
_POINT: Final = re.compile(r"\s*(?:[-*•·]|\(?\w{1,2}[.)])\s+\S")
_MARK: Final = re.compile(r"[?？]")

_REQUEST: Final = re.compile(
    r"^(?:just |now |then |first,? |so,? )?"
    r"(?:send|reply|give|tell|enter|type|name|check|look|read)\b"
    r"|\b(?:"
    # English
    r"(?:can|could|would|will|may|might) (?:you|i|we)|if you (?:can|could|would)|please|kindly"
    r"|provide|share|tell (?:me|us)|give (?:me|us)|send (?:me|us)|let (?:me|us) (?:know|have)"
    r"|(?:is|are) (?:still |also )?(?:required|needed|necessary)"
    r"|(?:have|need|must|got|like) to ask|must ask"
    r"|(?:i|we)(?:'ll| will|'d| would)? (?:also |still |only |just )?"
    r"(?:need|require|want|like) (?:to know|to have|to ask|the|your|a|an|some|you to)"
    r"|confirm|verify|specify|state (?:the|your)|remind (?:me|us)|what(?:'s| is| are)|which|"
    r"who(?:'s| is)|where(?:'s| is)|when (?:is|was|did|do)|how (?:many|much|old|long)|missing"
    # German
    r"|bitte|(?:können|könnten|würden) sie|kannst du|nenn(?:en|e)?|(?:brauche|benötige|brauchen|"
    r"benötigen)|wie (?:lautet|ist|heißt)|welche[rsnm]?|teilen sie|schick(?:en|e)?|wann|wo ist"
    # French
    r"|(?:pouvez|pourriez|peux|pourrais)[- ](?:vous|tu)|veuillez|merci de|donnez|quel(?:le)?s?"
    r"|(?:besoin de|d'une? |du |de la )?besoin|indiquez|s'il (?:vous|te) plaît"
    # Spanish
    r"|(?:puede|podría|puedes|podrías)|por favor|necesito|necesitamos|indique|indíqueme|dígame"
    r"|cuál(?:es)?|qué|dónde|cuándo"
    r")\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(?:what|which|who|whose|where|when|why|how|provide|tell (?:me|us)|give (?:me|us)|share"
    r"|need|welche[rsnm]?|was|wer|wo|wann|warum|wie|nenn\w*|quel(?:le)?s?|où|quand|comment"
    r"|qué|cuál(?:es)?|quién|dónde|cuándo|cómo)\b",
    re.IGNORECASE,
)

_REFERS: Final = re.compile(
    r"\b(?:check|confirm|verify|repeat|correct|resend|spell|provide|look up|(?:tell|give|send) me)"
    r" (?:it|them)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a user reads it.

    Attributes:
        text: The whole text: composed characters, plain quotes and single blanks.
        asking: Its sentences that ask for something.
        intents: Its other intents; see `agentgym.user.intents`.
        replies: Ids of the saved replies that it is made of; these need no reading.
        questions: Those of them that ask something.
    """

    text: str
    asking: tuple[str, ...]
    intents: frozenset[Intent] = frozenset()
    replies: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()

    def says(self, patterns: Sequence[re.Pattern[str]]) -> bool:
        """Return whether one of the patterns is found in the message."""
        return any(pattern.search(self.text) for pattern in patterns)

    def asks(self, patterns: Sequence[re.Pattern[str]]) -> bool:
        """Return whether one of the patterns is found in the sentences that ask."""
        return any(pattern.search(part) for part in self.asking for pattern in patterns)

    @property
    def asks_openly(self) -> bool:
        """Whether it asks for something that yes or no does not answer."""
        return bool(self.questions) or any(_OPEN.search(part) for part in self.asking)


def read(message: str) -> Message:
    """Read a message, as far as somebody would: its first 8,000 characters.

    Example:
        >>> read("Thanks! I've mailed you. Could you give me the order number?").asking
        ('Could you give me the order number?',)
    """
    plain = _plain(message[:_MOST_CHARS])[:_MOST_CHARS]
    asking, sentences = list[str](), list[str]()
    listing = False
    for line in _unwrapped(plain):
        sentences += _SENTENCE.split(line)
        if listing and _POINT.match(line):
            asking.append(line)
            continue
        found = _questions(_SENTENCE.split(line))
        asking += found
        listing = line.endswith(":") and bool(found)
    return Message(_one_space(plain), tuple(asking), intents(sentences, bool(asking)))


def _unwrapped(text: str) -> list[str]:
    """Return the non-empty lines of a text; lines broken within a sentence are joined."""
    lines: list[str] = []
    whole = True
    for line in map(_one_space, text.splitlines()):
        if whole or not line or _POINT.match(line):
            lines.append(line)
        else:
            lines[-1] += f" {line}"
        whole = not line or line[-1] in ".!?:;？。"
    return [line for line in lines if line]


def _questions(sentences: Sequence[str]) -> list[str]:
    """Return the sentences that ask, with the one before if only that names the subject."""
    return [
        f"{before} {sentence}".strip() if _REFERS.search(sentence) else sentence
        for before, sentence in zip(["", *sentences], sentences, strict=False)
        if _asks(sentence)
    ]


def _asks(sentence: str) -> bool:
    return bool(_MARK.search(sentence) or _REQUEST.search(sentence))


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", stream_safe(text.translate(_QUOTES)))
    return plain.replace("**", "").replace("__", "")


def _one_space(text: str) -> str:
    return " ".join(text.split())
