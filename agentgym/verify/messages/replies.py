"""Saved replies: a conversation may say only what a closed list of sentences says.

Help desks call them saved replies or macros. A message is made of such replies, of questions in
the words of questions, and of courtesies. Everything else is an excess, as in an account.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.calls import CallLike, call_like
from agentgym.verify.messages.figures import Reading, find_figures
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.units import NEGATIONS, Token, Unit, read_message
from agentgym.verify.messages.wanted import Part, Wanted, spelling, wanted
from agentgym.verify.messages.words import Courtesy, stems, words

_SLOT: Final = re.compile(r"\(([^()]{1,600})\)")
_FIELDS: Final = ("say", "after")
_SENDERS: Final = frozenset(("i", "we"))
_SHOWN: Final = 80
_MOST_BETWEEN: Final = 4
_REQUEST: Final = re.compile(
    r"\?|\b(?:please|pls|kindly)\b|\b(?:tell|give|send|let) (?:me|us)\b"
    r"|\b(?:i|we) (?:\w+ ){0,2}(?:need|require|must (?:have|ask|know)|have to (?:ask|know)|ask"
    r"|would like)\b"
    r"|\b(?:can|could|would|will) you\b|\b(?:may|can|could) (?:i|we) (?:have|ask|know)\b"
)
"""What makes a sentence a question to its reader. "I can confirm your details" is none."""
_COURTESIES: Final = ("greeting", "closing", "thanks", "offers")


@dataclass(frozen=True, slots=True)
class Reply:
    """A saved reply.

    Attributes:
        shown: The sentence as the rubric writes it.
        slots: For each place, the runs of words and figures that may stand there.
        denies: Whether it denies something.
        after: Calls that must have succeeded before it may be said.
    """

    shown: str
    slots: tuple[tuple[tuple[Part, ...], ...], ...]
    denies: bool
    after: tuple[CallLike, ...] = ()

    def ends(self, tokens: Sequence[Token], start: int) -> set[int]:
        """Return every end that the reply can have if it begins at a token."""
        ends = {start}
        for number, runs in enumerate(self.slots):
            ends = {
                found
                for place in ends
                for run in runs
                if (found := _run(tokens, place, run, inside=number > 0)) is not None
            }
        return ends - {start}


@dataclass(frozen=True)
class SavedReplies:
    """The limits of a conversation.

    Attributes:
        replies: The saved replies.
        asks: Stems of the words of questions.
        figures: Figures that a question may contain.
        phrases: Phrases that a message may contain.
        courtesy: Recognises courtesies that promise and assent to nothing.
        closing: Recognises also "done" and "all right", which an answer may say: nothing was
            wished before it that they could assent to.
    """

    replies: Sequence[Reply]
    asks: frozenset[str]
    figures: Sequence[Reading]
    phrases: Sequence[Wanted]
    courtesy: Courtesy
    closing: Courtesy

    def fault(
        self,
        text: str,
        heard: Iterable[str] = (),
        *,
        early: Collection[Reply] = (),
        is_answer: bool = False,
    ) -> str:
        """Describe the first fault of a message; empty if the message is right.

        Args:
            text: The message.
            heard: What the addressee has said before; a question may repeat its figures.
            early: The replies that the state of things does not yet permit.
            is_answer: Whether it is the agent's answer, and not said in the conversation.
        """
        if len(text) > MOST_CHARS:
            return f"has {len(text)} characters, expected at most {MOST_CHARS}"
        known = [
            *self.figures,
            *(r for one in heard for f in find_figures(plain(one)) for r in f.readings),
        ]
        ordered = sorted(self.replies, key=lambda one: one in early)
        for unit in read_message(text).units:
            said = self._take(unit, ordered, self.closing if is_answer else self.courtesy)
            for one in said:
                if one in early:
                    return f"says {one.shown!r} before it is so"
            if fault := self._excess(unit, said, known):
                return fault
        return ""

    def _take(self, unit: Unit, replies: Sequence[Reply], courtesy: Courtesy) -> list[Reply]:
        """Account for the replies, lead-ins and courtesies of a sentence; return the replies."""
        said = take_replies(unit, replies)
        phrases = (*self.phrases, *_lead_ins()) if said else self.phrases
        _take_courtesies(unit, courtesy)
        for phrase in phrases:
            tokens = unit.left
            for start, end in phrase.spans(tokens):
                for token in tokens[start:end]:
                    token.taken = True
        _take_courtesies(unit, courtesy)
        return said

    def _excess(self, unit: Unit, said: Sequence[Reply], known: Sequence[Reading]) -> str:
        left = [
            token for token in unit.left if token.figure is not None or token.stem not in _joining()
        ]
        if left and left[0].text == "no" and any(one.denies for one in said):
            left = left[1:]
        if not left:
            return ""
        if not (unit.asks and unit.is_point or _REQUEST.search(unit.text)):
            said_too = f"says {left[0].text!r}"
            return (
                f"{said_too}, which is no saved reply, question or courtesy: {unit.text[:_SHOWN]!r}"
            )
        for token in left:
            if token.figure is not None:
                right = (
                    token.figure.means(known) or token.figure.kinds() <= {"number"} and _few(token)
                )
            elif token.text == "no" and "no." in unit.text:
                right = True
            else:
                right = token.stem in self.asks and token.text not in NEGATIONS
            if not right:
                return f"asks about {token.text!r}, which it may not: {unit.text[:_SHOWN]!r}"
        return ""


def _take_courtesies(unit: Unit, courtesy: Courtesy) -> None:
    for segment in list(unit.segments()):
        courtesy.take(segment, edge=True)


def take_replies(unit: Unit, replies: Sequence[Reply]) -> list[Reply]:
    """Account for the tokens of a sentence that belong to replies; return the replies found.

    Of all ways to divide the sentence into replies it takes the one that covers most tokens, and
    of two such ways the one with the earlier replies of the list.
    """
    tokens = unit.left
    best: list[tuple[int, Reply | None, int]] = [(0, None, len(tokens))] * (len(tokens) + 1)
    for place in reversed(range(len(tokens))):
        best[place] = (best[place + 1][0], None, place + 1)
        for one in replies:
            for end in one.ends(tokens, place):
                covered = end - place + best[end][0]
                if covered > best[place][0]:
                    best[place] = (covered, one, end)
    said: list[Reply] = []
    place = 0
    while place < len(tokens):
        _, found, end = best[place]
        if found is not None:
            said.append(found)
            for token in tokens[place:end]:
                token.taken = True
        place = end
    return said


def replied(text: str, replies: Sequence[Reply]) -> list[Reply]:
    """Return the replies that a message says, outside questions."""
    units = read_message(text[:MOST_CHARS]).units
    return [one for unit in units if "?" not in unit.text for one in take_replies(unit, replies)]


def saved_replies(
    replies: Sequence[object],
    asks: Sequence[str] = (),
    may: Sequence[object] = (),
    names: Sequence[str] = (),
) -> SavedReplies:
    """Read the arguments of `messages.only_replies`.

    Args:
        replies: Sentences with alternatives, "(I|we) have it(, too|)", or tables of `say` and
            `after`.
        asks: Further words that a question may use.
        may: Figures that a question may contain, and phrases that a message may contain.
        names: People and firms whom the message may greet and who may sign it.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    for name, given in (("asks", asks), ("names", names)):
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise VerifierError(f"{name}: expected a list of texts, got {given!r}")
    if isinstance(may, (str, Mapping)):
        raise VerifierError(f"may: expected a list of values, got {may!r}")
    phrases = [wanted("may", one) for one in may]
    figures = [
        reading
        for one in phrases
        for parts in one.spellings
        for part in parts
        if not isinstance(part, str)
        for reading in part
    ]
    conversation = words().conversation
    return SavedReplies(
        read_replies(replies),
        stems([*conversation["asking"], *asks, *names]),
        figures,
        [one for one in phrases if not one.is_figure],
        Courtesy(names, only=_COURTESIES, more=conversation["courtesies"]),
        Courtesy(names, more=conversation["courtesies"]),
    )


def read_replies(given: object) -> list[Reply]:
    """Read a list of saved replies of a rubric.

    Raises:
        VerifierError: An entry is neither a sentence nor a table of `say` and `after`.
    """
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence) or not given:
        raise VerifierError(f"replies: expected a list of sentences, got {given!r}")
    return [_reply(one) for one in given]


def _reply(given: Any) -> Reply:
    table = {"say": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("say"), str):
        raise VerifierError(f"replies: expected a sentence or a table of say, got {given!r}")
    if unknown := set(table) - set(_FIELDS):
        raise VerifierError(f"replies: {NotFoundError('field', str(min(unknown)), _FIELDS)}")
    after = table.get("after", ())
    if isinstance(after, (str, Mapping)):
        raise VerifierError(f"replies.after: expected a list of tables of tool, got {after!r}")
    text = table["say"]
    slots = tuple(_slots(text))
    if set("()|") & set(_SLOT.sub("", text)):
        raise VerifierError(f"replies: expected alternatives that are not nested, got {text!r}")
    if sum(min(map(len, runs)) for runs in slots) < 2:
        raise VerifierError(
            f"replies: expected two words that have to be there, besides light ones; got {text!r}"
        )
    denies = any(token.text in NEGATIONS for token in read_message(text).tokens())
    return Reply(text, slots, denies, tuple(call_like(one) for one in after))


def _slots(text: str) -> Iterable[tuple[tuple[Part, ...], ...]]:
    end = 0
    for match in _SLOT.finditer(text):
        yield from _plain_slots(text[end : match.start()])
        yield tuple(spelling(one) if one.strip() else () for one in match[1].split("|"))
        end = match.end()
    yield from _plain_slots(text[end:])


def _plain_slots(text: str) -> list[tuple[tuple[Part, ...], ...]]:
    tokens = [token for unit in read_message(text).units for token in unit.tokens]
    light = words().light
    heavy = [t for t in tokens if t.figure is not None or t.stem not in light]
    return [((t.stem if t.figure is None else t.figure.readings,),) for t in heavy]


def _run(tokens: Sequence[Token], start: int, run: Sequence[Part], *, inside: bool) -> int | None:
    """Return the end of a run that begins at a token or behind joining words; None: it does not."""
    place = start
    for part in run:
        last = place + (_MOST_BETWEEN if inside else 0)
        while place < len(tokens) and not _fits(tokens[place], part):
            other = tokens[place].figure is not None or tokens[place].stem not in _filling()
            if place == last or other:
                return None
            place += 1
        if place >= len(tokens):
            return None
        place, inside = place + 1, True
    return place


def _fits(token: Token, part: Part) -> bool:
    if isinstance(part, str):
        is_sender = part in _SENDERS and token.text in _SENDERS
        return token.figure is None and (token.stem == part or is_sender)
    return token.figure is not None and token.figure.means(part)


def _few(token: Token) -> bool:
    assert token.figure is not None
    return all(0 <= value <= 3 for kind, value in token.figure.readings if kind == "number")


@lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    return stems(words().conversation["joining"]) | words().light


@lru_cache(maxsize=1)
def _filling() -> frozenset[str]:
    """Return the words that may stand inside a reply."""
    return words().light | stems(["already", "unfortunately", "sadly", "therefore", "meanwhile"])


@lru_cache(maxsize=1)
def _lead_ins() -> tuple[Wanted, ...]:
    found = [wanted("lead_ins", one) for one in words().conversation["lead_ins"]]
    return tuple(sorted(found, key=lambda one: -max(map(len, one.spellings))))
