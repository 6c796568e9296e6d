"""Saved replies: sentences that a rubric lists, found in a message in the ways people write them.

Help desks call them saved replies or macros.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.records import Step
from agentgym.verify.calls import CallLike, call_like, step_succeeded
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.plain import MOST_CHARS
from agentgym.verify.messages.units import NEGATIONS, Token, Unit, read_message, stem
from agentgym.verify.messages.wanted import Part, spelling
from agentgym.verify.messages.words import words

_SLOT: Final = re.compile(r"\(([^()]{1,600})\)")
_FIELDS: Final = ("say", "after", "before")
_SENDERS: Final = frozenset(("i", "we"))
_MOST_BETWEEN: Final = 4
_NOUNS: Final = {"email": "address", "phone": "number"}
"""The noun that an address or a number of the reader stands for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A saved reply.

    Attributes:
        shown: The sentence as the rubric writes it.
        slots: For each place, the runs of words and figures that may stand there.
        denies: Whether it denies something.
        after: Calls that must have succeeded before it may be said.
        before: Calls after whose success it may no longer be said.
    """

    shown: str
    slots: tuple[tuple[tuple[Part, ...], ...], ...]
    denies: bool
    after: tuple[CallLike, ...] = ()
    before: tuple[CallLike, ...] = ()

    def is_timely(self, steps: Sequence[Step]) -> bool:
        """Return whether it may be said after these steps."""
        done = [step for step in steps if step_succeeded(step)]

        def succeeded(call: CallLike) -> bool:
            return any(call.fits(step, too_long=False) for step in done)

        return all(map(succeeded, self.after)) and not any(map(succeeded, self.before))

    def ends(self, tokens: Sequence[Token], start: int) -> set[int]:
        """Return every end that the reply can have if it begins at a token."""
        if () in self.slots[0] and tokens[start].text == "do":  # "don't tell anybody" orders
            return set()
        ends = {start}
        for runs in self.slots:
            ends = {
                found
                for place in ends
                for run in runs
                if (found := _run(tokens, place, run, inside=place > start)) is not None
            }
        return ends - {start}


def take_replies(unit: Unit, replies: Sequence[Reply], heard: Heard | None = None) -> list[Reply]:
    """Account for the tokens of a sentence that belong to replies; return the replies found.

    Of all ways to divide the sentence into replies it takes the one that covers most tokens, and
    of two such ways the one with the earlier replies of the list.

    Args:
        unit: The sentence.
        replies: The replies to look for.
        heard: What the reader has said; its ids, numbers and addresses may stand beside their noun
            ("ticket 77") or in its place.
    """
    tokens = unit.left
    said, taken = _best(tokens, replies)
    if heard is not None and any(heard.tells(token) for token in tokens):
        others, some = _best([one for token in tokens for one in _named(token, heard)], replies)
        start = {id(one) for one in some}
        beside: list[Token] = []
        for before, token in itertools.pairwise([None, *tokens]):
            is_beside = before is None or before in beside
            if token is not None and (id(token) in start or (heard.tells(token) and is_beside)):
                beside.append(token)
        if others and len(beside) > len(taken):
            said, taken = others, beside
    for token in taken:
        token.taken = True
    return said


def _named(token: Token, heard: Heard) -> list[Token]:
    """Return what stands for a token where the reader's addresses are told by their noun."""
    if not heard.tells(token) or token.figure is None:
        return [token]
    noun = next((_NOUNS[kind] for kind in sorted(token.figure.kinds()) if kind in _NOUNS), "")
    return [Token(noun, stem(noun), None, token.segment)] if noun else []


def _best(tokens: Sequence[Token], replies: Sequence[Reply]) -> tuple[list[Reply], list[Token]]:
    """Return the replies that cover most tokens, and these tokens."""
    best: list[tuple[int, Reply | None, int]] = [(0, None, len(tokens))] * (len(tokens) + 1)
    for place in reversed(range(len(tokens))):
        best[place] = (best[place + 1][0], None, place + 1)
        for one in replies:
            for end in one.ends(tokens, place):
                covered = end - place + best[end][0]
                if covered > best[place][0]:
                    best[place] = (covered, one, end)
    said: list[Reply] = []
    taken: list[Token] = []
    place = 0
    while place < len(tokens):
        _, found, end = best[place]
        if found is not None:
            said.append(found)
            taken += tokens[place:end]
        place = end
    return said, taken


def replied(text: str, replies: Sequence[Reply]) -> list[Reply]:
    """Return the replies that a message says, outside questions."""
    units = read_message(text[:MOST_CHARS]).units
    return [one for unit in units if "?" not in unit.text for one in take_replies(unit, replies)]


def read_replies(given: object) -> list[Reply]:
    """Read a list of saved replies of a rubric.

    Raises:
        VerifierError: An entry is neither a sentence nor a table of `say`, `after` and `before`.
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
    calls = {}
    for name in ("after", "before"):
        some = table.get(name, ())
        if isinstance(some, (str, Mapping)):
            raise VerifierError(f"replies.{name}: expected a list of tables of tool, got {some!r}")
        calls[name] = tuple(call_like(one) for one in some)
    text = table["say"]
    slots = tuple(_slots(text))
    if slots and len(slots) > 2 and slots[0] == (("i",),):
        slots = ((*slots[0], ()), *slots[1:])  # "Sorry, can't say what she does"
    if set("()|") & set(_SLOT.sub("", text)):
        raise VerifierError(f"replies: expected alternatives that are not nested, got {text!r}")
    if sum(min(map(len, runs)) for runs in slots) < 2:
        raise VerifierError(
            f"replies: expected two words that have to be there, besides light ones; got {text!r}"
        )
    denies = any(token.text in NEGATIONS for token in read_message(text).tokens())
    return Reply(text, slots, denies, calls["after"], calls["before"])


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
            other = tokens[place].figure is not None or tokens[place].stem not in words().filling
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
