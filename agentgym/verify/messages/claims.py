"""Claims: what a sentence asserts, denies or leaves open, whatever words surround it.

A phrase may list alternatives, "(refund|money) (approved|on its way)". It is also found with light
words, adverbs and denials between its parts. A deed is a verb that tells of something as done,
being done or about to be done: "I have deleted it", "it was deleted", "we will delete it".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from agentgym.verify.messages.units import NEGATIONS, Token, Unit, stem
from agentgym.verify.messages.wanted import Part, is_part, spelling
from agentgym.verify.messages.words import phrase_stems, stems, words

Stance: TypeAlias = Literal["said", "denied", "open"]

_SLOT: Final = re.compile(r"\(([^()]{1,600})\)")
_MOST_BETWEEN: Final = 4
_ARTICLES: Final = stems(["a", "an", "the", "your", "our", "my", "their", "be", "has"])
_SUBJECTS: Final = frozenset(("i", "we", "you", "he", "she", "they", "it", "the", "your", "our"))
_TURNS: Final = frozenset(("but", "however", "though", "although"))
_HELPING: Final = stems(["be", "can", "could", "will", "would", "may", "do"])
_BEING: Final = frozenset(("is", "are", "was", "were", "been", "being", "be", "am", "get", "got"))
_HAVING: Final = frozenset(("have", "has", "had", "having"))
_RELATIVE: Final = frozenset(("what", "which", "whatever", "who", "as"))
_DOERS: Final = frozenset(("i", "we", "he", "she", "they"))
_MAYBE: Final = frozenset(("can", "could", "may", "might", "must", "should", "would", "to"))
_PAST: Final = {
    "paid": "pay", "sent": "send", "told": "tell", "written": "write", "wrote": "write",
    "given": "give", "gave": "give", "taken": "take", "took": "take", "gone": "go",
    "withdrawn": "withdraw", "withdrew": "withdraw", "spoken": "speak", "spoke": "speak",
    "sold": "sell", "bought": "buy", "lost": "lose", "shown": "show", "broken": "break",
    "hidden": "hide", "stolen": "steal", "thrown": "throw", "brought": "bring", "cut": "cut",
    "reset": "reset", "let": "let", "shut": "shut", "met": "meet", "rang": "ring",
}  # fmt: skip
"""Irregular past forms, with their verbs."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sequence of words, with alternatives.

    Attributes:
        shown: The phrase as the rubric writes it.
        slots: For each place, the runs of words and figures that may stand there.
    """

    shown: str
    slots: tuple[tuple[tuple[Part, ...], ...], ...]

    def spans(
        self, tokens: Sequence[Token], *, loose: bool = False
    ) -> Iterator[tuple[int, int, int]]:
        """Yield each occurrence: start, index behind its end, and the number of denials inside it.

        Args:
            tokens: The tokens of a sentence.
            loose: Whether function words may also stand between the parts of the phrase.
        """
        skipped = words().function if loose else frozenset()
        for start in range(len(tokens)):
            found = self._from(tokens, start, 0, 0, skipped)
            if found is not None:
                yield start, *found

    def _from(
        self,
        tokens: Sequence[Token],
        place: int,
        slot: int,
        denials: int,
        skipped: frozenset[str],
    ) -> tuple[int, int] | None:
        if slot == len(self.slots):
            return place, denials
        for _ in range(_MOST_BETWEEN + 1):
            for run in self.slots[slot]:
                end = _run(tokens, place, run)
                if end and (found := self._from(tokens, end, slot + 1, denials, skipped)):
                    return found
            if not slot or place >= len(tokens):
                return None
            if not _is_filler(tokens[place]) and tokens[place].stem not in skipped:
                return None
            denials += tokens[place].text in NEGATIONS
            place += 1
        return None


def phrase(text: str) -> Phrase:
    """Read a phrase of a rubric.

    Example:
        >>> len(phrase("(refund|money) (approved|on its way)").slots)
        2
    """
    slots: list[tuple[tuple[Part, ...], ...]] = []
    end = 0
    for match in _SLOT.finditer(text):
        slots += _plain_slots(text[end : match.start()])
        slots.append(tuple(spelling(one, without=_ARTICLES) for one in match[1].split("|")))
        end = match.end()
    return Phrase(text, (*slots, *_plain_slots(text[end:])))


def _plain_slots(text: str) -> list[tuple[tuple[Part, ...], ...]]:
    return [((part,),) for part in spelling(text, without=_ARTICLES)] if text.strip() else []


def stance(unit: Unit, start: int, *, inside: int = 0, end: int = 0) -> Stance:
    """Return whether a sentence asserts, denies or leaves open the claim that begins at a token.

    Args:
        unit: The sentence.
        start: Index of the token where the claim begins.
        inside: Number of denials inside the claim.
        end: Index behind the claim; the words from there on may rule it out. 0: ignore them.
    """
    if "?" in unit.text:
        return "open"
    before = _clause(unit, start)
    said = [token.stem for token in before]
    if any(_has(one, said) for one in _lists().open) or _is_conditional(unit, start):
        return "open"
    for pseudo in _lists().false_denials:
        for place in range(len(said) - len(pseudo) + 1):
            if tuple(said[place : place + len(pseudo)]) == pseudo:
                said[place : place + len(pseudo)] = [""] * len(pseudo)
    denials = inside + sum(
        bool(one) and (token.text in NEGATIONS or one in _lists().denying)
        for one, token in zip(said, before, strict=True)
    )
    ruled_out = bool(end) and _is_ruled_out(unit, end)
    return "denied" if (denials + ruled_out) % 2 else "said"


def deeds(unit: Unit, verbs: frozenset[str], *, own: bool = False) -> Iterator[int]:
    """Yield the index of every token of a sentence that is the verb of a deed.

    Args:
        unit: The sentence.
        verbs: Stems of the verbs to look for.
        own: Whether every verb but a harmless one tells a deed of the sender.
    """
    tokens = unit.tokens
    for place, token in enumerate(tokens):
        if token.figure is not None or token.taken:
            continue
        before = [tokens[n] for n in range(place) if not _is_adverb(tokens[n])][-3:]
        verb = stem(_PAST.get(token.text, token.text))
        if verb in verbs:
            clause = [t for t in _clause(unit, place) if not _is_adverb(t)]
            is_first = len(clause) <= 2 and not any(t.stem in words().function for t in clause)
            if _is_deed(before, token, is_first):
                yield place
        elif own and verb not in words().harmless and not _is_adverb(token):
            said = [one.text for one in before if one.segment == token.segment]
            if _is_told_of(said, token.text) and _is_deed(before, token, False):
                yield place


def _is_told_of(before: Sequence[str], verb: str) -> bool:
    """Return whether the words before a verb make it a deed of the sender, or of anybody."""
    last = before[-1] if before else ""
    if _RELATIVE & set(before[-3:-1]):  # "what we had stored"
        return False
    if last in _HAVING or (last == "been" and before[-2:-1] and before[-2] in _HAVING):
        return "you" not in before
    passive = last in _BEING and not verb.endswith("ing")
    return bool({"i", "we"} & set(before[-2:])) and not passive


def _is_deed(before: Sequence[Token], verb: Token, is_first: bool) -> bool:
    """Return whether a verb with at most three words before it tells of a deed.

    Args:
        before: The tokens before the verb, without adverbs.
        verb: The token of the verb.
        is_first: Whether only one or two words precede it in the clause: "Clara approved it".
    """
    last = before[-1] if before else None
    earlier = before[-2].text if len(before) > 1 else ""
    is_past = verb.text.endswith("ed") or verb.text in _PAST
    if last is None or last.segment != verb.segment:
        return is_past
    if last.text in _HAVING:
        return is_past and earlier not in _MAYBE
    if last.text in _BEING:
        if last.text == "be":
            going = earlier == "to" and len(before) > 2 and before[-3].text in ("going", "about")
            return is_past and (earlier in ("will", "shall") or going)
        return is_past or (verb.text.endswith("ing") and last.text in ("am", "is", "are"))
    if last.text in ("will", "shall"):
        return not is_past
    if last.text == "to":
        return earlier == "going" and not is_past
    return is_past and (last.text in _DOERS or is_first)


@dataclass(frozen=True, slots=True)
class _Lists:
    """The section `stance` of words.toml, as stems."""

    adverbs: frozenset[str]
    deciding: frozenset[str]
    denying: frozenset[str]
    pronouns: frozenset[str]
    open: tuple[tuple[str, ...], ...]
    false_denials: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    given = words().stance
    return _Lists(
        stems(given["adverbs"]),
        stems(given["deciding"]),
        stems(given["denying"]),
        frozenset(given["pronouns"]),
        tuple(map(phrase_stems, given["open"])),
        tuple(map(phrase_stems, given["false_denials"])),
    )


def _run(tokens: Sequence[Token], start: int, run: Sequence[Part]) -> int:
    """Return the end of a run of parts that begins at a token, 0 if no such run begins there."""
    light, place = words().light, start
    for number, part in enumerate(run):
        while number and place < len(tokens) and not is_part(tokens[place], part):
            if tokens[place].figure is not None or tokens[place].stem not in light:
                return 0
            place += 1
        if place >= len(tokens) or not is_part(tokens[place], part):
            return 0
        place += 1
    return place


def _is_filler(token: Token) -> bool:
    if token.figure is not None:  # "your two entries", "Friday, 6 March, is"
        return not token.figure.kinds() - {"number", "time", "date"}
    return token.stem in words().light or token.text in _lists().pronouns or _is_adverb(token)


def _is_adverb(token: Token) -> bool:
    return token.figure is None and (token.stem in _lists().adverbs or token.text in NEGATIONS)


def _clause(unit: Unit, start: int) -> list[Token]:
    """Return the tokens that precede a token in its clause."""
    segment = unit.tokens[min(start, len(unit.tokens) - 1)].segment
    before = [t for t in unit.tokens[:start] if t.segment == segment]
    for number in reversed(range(len(before))):
        follows = before[number + 1].text if number + 1 < len(before) else ""
        if before[number].text in _TURNS or (before[number].text == "and" and follows in _SUBJECTS):
            return before[number + 1 :]
    return before


def _is_conditional(unit: Unit, start: int) -> bool:
    """Return whether an earlier part of the sentence states a condition: "if they agree, …"."""
    segment = unit.tokens[min(start, len(unit.tokens) - 1)].segment
    before = [t for t in unit.tokens[:start] if t.segment < segment]
    if not before or before[0].text not in ("if", "should", "once", "when", "provided"):
        return False
    return any(token.stem in _lists().deciding for token in before)


def _is_ruled_out(unit: Unit, end: int) -> bool:
    """Return whether the words behind a claim deny it: "a voucher is not possible"."""
    behind = [t for t in unit.tokens[end:] if t.segment == unit.tokens[end - 1].segment]
    for here, after in itertools.pairwise(behind[: _MOST_BETWEEN + 2]):
        if here.text == "that" or here.text in _SUBJECTS:
            return False
        if here.stem in _HELPING:
            return after.text in ("not", "impossible", "out")
    return False


def _has(one: Sequence[str], said: Sequence[str]) -> bool:
    width = len(one)
    return any(tuple(said[i : i + width]) == tuple(one) for i in range(len(said) - width + 1))
