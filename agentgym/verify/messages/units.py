"""Units: the sentences, list points and lines of a message, as tokens, and the mood of each.

A token is a word or a figure. Words are compared by their stems; contractions are written out.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from agentgym.verify.messages.figures import Figure, find_figures
from agentgym.verify.messages.plain import plain
from agentgym.verify.messages.points import split_points

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d\w*")
_BREAK: Final = re.compile(r"\n+|(?<=[.!?;])[\"')\]]*\s+|(?<=[a-z0-9)])[.!?;](?=[A-Za-z]{4,}\b)")
_WHOLE: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"
    r"|(?<![\w.-])[\w.-]{1,120}\.(?:example|docx|xlsx|pptx|html|json|toml|jpeg|yaml)\b"
)
"""Addresses and file names; a full stop inside one does not end a sentence."""
_ABBREVIATED: Final = re.compile(
    r"(?:^|\s|\()(?:mr|mrs|ms|dr|prof|st|no|nr|inv|e\.g|i\.e|approx|ca|resp|incl|vs|a\.m|p\.m"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|[a-z]|\d{1,2})\.$"
)
_BEGINS: Final = re.compile(
    r"(?:the|i|we|it|our|your|this|that|please|do|does|did|is|are|can|could|would|will|may"
    r"|shall|should|what|which|who|when|where|why"
    r"|how|has|have|sorry|thanks|thank|my|if|there|you|yes)\b|[^a-z0-9#(]"
)
"""The start of a sentence behind an abbreviation: "at 3 p.m. The next", but not "Mr. Ito"."""
_POINT: Final = re.compile(r"^(?:-|\(?(?:\d{1,2}|[a-z])[.)])\s+(?=\S)")
_SEGMENT: Final = re.compile(r"[,:;()!?\"\n]|\.(?=\s|$)|\s-+\s|\.{2,}")
_FULL: Final = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not",
    "i'm": "i am", "let's": "let us", "ain't": "is not", "cant": "can not", "wont": "will not",
    "mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday",
    "thur": "thursday", "thurs": "thursday", "fri": "friday",
    "whats": "what is", "bout": "about", "u": "you", "ur": "your", "im": "i am", "ive": "i have",
    "youre": "you are", "thats": "that is", "couldnt": "could not", "havent": "have not",
    "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not",
}  # fmt: skip
_CONTRACTED: Final = frozenset(("it", "that", "he", "she", "there", "here", "what", "who", "where"))
_TAILS: Final = {"n't": " not", "'ll": " will", "'ve": " have", "'re": " are", "'d": " would"}

NEGATIONS: Final = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nothing",
        "nobody",
        "nowhere",
        "neither",
        "nor",
        "without",
        "hardly",
        "barely",
        "scarcely",
    ]
)
_ASKING: Final = re.compile(
    r"\b(?:(?:can|could|would|will|may|might) (?:you|i|we)|if you (?:can|could|would|might)"
    r"|please (?:tell|give|send|provide|confirm|share|name|state|let|reply|answer|enter|type"
    r"|clarify"
    r"|specify|verify|check|say|read|write|look)"
    r"|kindly (?:tell|give|send|provide|confirm|share|state|let|reply)"
    r"|(?:tell|give|send) (?:me|us)|let (?:me|us) (?:know|have)|provide (?:me|us|your|the)"
    r"|(?:is|are) (?:still |also )?(?:required|needed|necessary)"
    r"|(?:i|we) (?:will |would |shall |do )?(?:also |still |only |just |first |then )*(?:"
    r"(?:need|require|want|like) (?:the|your|a few|an|some|you to|from you|both|two|three"
    r"|one|more)"
    r"|(?:need|require|want|like|have|must) (?:to )?(?:know|have|ask|check|verify|confirm|see|hear"
    r"|make))"
    r"|asking (?:you )?(?:for|to)|ask (?:you )?(?:for|to)"
    r"|(?:^|[.!?,:-] (?:and |so |but )?)(?:what|who|where|when|how|whose) "
    r"(?:is|are|was|were|did|do|does|much|many)"
    r"|(?:^|: )which (?:[a-z]+ ){1,3}(?:is|are|was|were|did|do|does)"
    r"|may i (?:have|ask|know)|wonder(?:ing)? (?:if|whether|what|which)|remind (?:me|us)"
    r"|(?<!happy to )(?<!glad to )(?<!pleased to )(?<!hereby )(?<!\bi )(?<!\bwe )"
    r"confirm (?:your|the|me|whether|that|which|who)|verify (?:your|the)"
    r"|need (?:your|the))\b"
)
_LISTING: Final = re.compile(
    r"\b(?:need|require|provide|send|tell|confirm|clarify)\b[^.!?:]{0,60}:$"
)


@dataclass(slots=True)
class Token:
    """A word or a figure of a message.

    Attributes:
        text: The token as the plain text writes it.
        stem: Stem of a word, used for comparisons; empty for a figure.
        figure: The figure; None for a word.
        segment: Number of the part of its unit between two signs.
        taken: Whether permitted content accounts for it.
    """

    text: str
    stem: str
    figure: Figure | None
    segment: int = 0
    taken: bool = False


@dataclass(slots=True)
class Unit:
    """A sentence, a point of a list or a line.

    Attributes:
        text: The unit in plain text.
        tokens: Its tokens in order.
        line: Number of its line in the message.
        asks: Whether it asks for something: by its sign, its words, or as a point of such a list.
        is_point: Whether it is a point of a list.
        may_ask: Whether the message may ask for what the unit asks for.
    """

    text: str
    tokens: list[Token]
    line: int
    asks: bool = False
    is_point: bool = False
    may_ask: bool = False

    @property
    def left(self) -> list[Token]:
        """Return the tokens that are not yet accounted for."""
        return [token for token in self.tokens if not token.taken]

    @property
    def denied(self) -> bool:
        """Whether one of the tokens that are not yet accounted for is a denial."""
        return any(token.text in NEGATIONS for token in self.left)

    def segments(self) -> Iterator[list[Token]]:
        """Yield the parts between two signs, without the tokens already accounted for."""
        for _, some in itertools.groupby(self.left, key=lambda token: token.segment):
            yield list(some)


@dataclass(slots=True)
class Message:
    """A message in the form that the checks read.

    Attributes:
        text: The message in plain text.
        units: Its sentences, points and lines.
        figures: All its figures.
    """

    text: str
    units: list[Unit] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def tokens(self) -> list[Token]:
        """Return the tokens of all units, in order."""
        return [token for unit in self.units for token in unit.tokens]


def read_message(text: str) -> Message:
    """Read a message.

    Example:
        >>> [unit.text for unit in read_message("Hello Ada. No. 13 isn't due. Mr. Ito").units]
        ['hello ada.', "no. 13 isn't due.", 'mr. ito']
    """
    shown = plain(text)
    message = Message(shown)
    asking = False
    for number, line in enumerate(_lines(shown)):
        point = line[:1] == "\x01"
        for piece in _sentences(line.lstrip("\x01")):
            unit = _unit(piece, number)
            unit.asks, unit.is_point = _asks(piece) or (point and asking), point
            if unit.tokens:
                message.units.append(unit)
                message.figures += [t.figure for t in unit.tokens if t.figure is not None]
        if not point:
            asking = _asks(line) and (line[-1:].isalnum() or line.endswith((":", "-", "?", ",")))
    return message


def _lines(shown: str) -> list[str]:
    """Return the lines of a text; broken sentences are joined and list points marked."""
    lines: list[str] = []
    whole = True
    for raw in (part for line in shown.split("\n") for part in split_points(line)):
        line = _POINT.sub("\x01", raw)
        if line == raw and (whole or not raw or _keyed(raw)) or line != raw:
            lines.append(line)
        else:
            lines[-1] += f" {line}"
        whole = not raw or raw[-1] in ".!?:;,)" or len(raw) < 60 or _keyed(raw)
    return [line for line in lines if line]


def _keyed(line: str) -> bool:
    return re.match(r"[a-z][a-z0-9 '()/&.-]{0,40}:(?:\s|$)", line) is not None


def _sentences(line: str) -> list[str]:
    """Split a line into sentences; a full stop behind an abbreviation does not end one."""
    pieces: list[str] = []
    start = 0
    whole = {place for m in _WHOLE.finditer(line) for place in range(m.start(), m.end())}
    for match in _BREAK.finditer(line):
        if match.start() in whole:
            continue
        piece = line[start : match.start()]
        if _ABBREVIATED.search(piece[-8:]) and not _BEGINS.match(line, match.end()):
            continue
        pieces.append(piece)
        start = match.end()
    return [piece for piece in (*pieces, line[start:]) if piece.strip()]


def _asks(text: str) -> bool:
    said = _expanded(text)
    return "?" in text or any(p.search(said) is not None for p in (_ASKING, _LISTING))


def _unit(text: str, line: int) -> Unit:
    figures = find_figures(text)
    marks = [match.start() for match in _SEGMENT.finditer(text)]
    inside = {place for f in figures for place in range(f.start, f.end)}
    marks = [mark for mark in marks if mark not in inside]
    tokens = list(_tokens(text, figures, marks))
    return Unit(text, tokens, line)


def _tokens(text: str, figures: Sequence[Figure], marks: Sequence[int]) -> Iterator[Token]:
    found: list[tuple[int, Figure | None, str]] = [(f.start, f, f.text) for f in figures]
    blank = list(text)
    for figure in figures:
        blank[figure.start : figure.end] = "\n" * (figure.end - figure.start)
    found += [(m.start(), None, m[0]) for m in _WORD.finditer("".join(blank))]
    for start, one, word in sorted(found, key=lambda item: item[0]):
        if one is not None:
            yield Token(word, "", one, bisect_left(marks, start))
            continue
        for part in _expanded(word).split():
            yield Token(part, stem(part), None, bisect_left(marks, start))


def _expanded(text: str) -> str:
    return re.sub(r"[^\W\d_]+(?:'[^\W\d_]+)*", lambda m: _full(m[0]), text)


def _full(word: str) -> str:
    if word in _FULL:
        return _FULL[word]
    for tail, instead in _TAILS.items():
        if word.endswith(tail) and len(word) > len(tail):
            return word[: -len(tail)] + instead
    base = word.removesuffix("'s")
    if base != word and base in _CONTRACTED:
        return f"{base} is"
    return base.replace("'", "") or word


_IRREGULAR: Final = {
    "is": "be", "are": "be", "was": "be", "were": "be", "been": "be", "am": "be", "being": "be",
    "has": "have", "had": "have", "having": "have", "does": "do", "did": "do", "done": "do",
    "made": "make", "sent": "send", "told": "tell", "said": "say", "took": "take",
    "taken": "take", "went": "go", "gone": "go", "kept": "keep", "left": "leave", "met": "meet",
    "gave": "give", "given": "give", "wrote": "write", "written": "write", "paid": "pay",
    "held": "hold", "came": "come", "found": "find", "got": "get", "put": "put", "an": "a",
    "everyone": "everybody", "anyone": "anybody", "someone": "somebody",
}  # fmt: skip


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the stem of a word, used for comparisons: "moved", "moving" and "moves" share one.

    Example:
        >>> {stem(word) for word in ("cancel", "cancels", "cancelled", "cancelling", "canceled")}
        {'cancel'}
    """
    word = whole = _IRREGULAR.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for tail in ("ing", "ed"):
        if (
            len(word) > len(tail) + 2
            and word.endswith(tail)
            and re.search("[aeiouy]", word[: -len(tail)])
        ):
            word = word[: -len(tail)]
            break
    if word in NEGATIONS and word != whole:  # neither "noted" nor "note" is a denial
        return f"{word}e"
    if len(word) > 3 and word.endswith("e") and word[:-1] not in NEGATIONS:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return "y".join((word[:-1], "")) if len(word) > 3 and word.endswith("i") else word
