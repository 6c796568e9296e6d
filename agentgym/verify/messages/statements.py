"""Statements: a subject with its value, said as a fact, denied or asked.

A value belongs to the subject next to it: in "the 10th and the 24th at 15:00, the 17th is off"
each day has its own value. A sentence that denies a value does not state it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.messages.units import NEGATIONS, Message, Token, Unit, stem
from agentgym.verify.messages.wanted import Wanted, is_value, wanted
from agentgym.verify.messages.words import words

MOODS: Final = ("said", "denied", "asked", "requested")
_CONTRASTS: Final = frozenset(
    map(stem, ("not", "instead", "rather", "former", "previous", "formerly", "previously"))
)
_ALSO: Final = frozenset(map(stem, ("too", "also", "likewise", "same", "well", "both", "again")))
_POLITE: Final = frozenset(("could", "would", "can", "will", "may", "might"))
_EVERY: Final = frozenset(("all", "each", "every"))
_REACH: Final = 3
_FIELDS: Final = ("about", "is", "not", "mood", "of")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a message must or may state.

    Attributes:
        value: The value of the subject, or a value by itself.
        about: The subject, None if the value stands by itself.
        rivals: Wrong values; a message may name one only to deny it.
        mood: Whether the fact is said, denied or asked.
        of: The group; facts of one group share subjects and values, groups are independent.
    """

    value: Wanted
    about: Wanted | None = None
    rivals: tuple[Wanted, ...] = ()
    mood: str = "said"
    of: str = ""

    def __str__(self) -> str:
        subject = f"{self.about}: " if self.about else ""
        return f"{subject}{self.value}{'' if self.mood == 'said' else f' ({self.mood})'}"


def facts(name: str, values: object) -> list[Fact]:
    """Read the facts of a rubric: values, or tables of `about`, `is`, `not`, `mood`, `of`.

    Raises:
        VerifierError: An entry is neither a value nor such a table.
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise VerifierError(f"{name}: expected a list of facts, got {values!r}")
    return [_fact(name, one) for one in values]


def _fact(name: str, value: object) -> Fact:
    if is_value(value):
        return Fact(wanted(name, value))
    assert isinstance(value, Mapping)
    if unknown := set(value) - set(_FIELDS):
        raise VerifierError(f"{name}: {NotFoundError('field', str(min(unknown)), _FIELDS)}")
    if "is" not in value:
        raise VerifierError(f"{name}: expected is = …, what is said of it; got {value!r}")
    mood, group = value.get("mood", "said"), value.get("of", "")
    if mood not in MOODS:
        raise VerifierError(f"{name}.mood: {NotFoundError('mood', str(mood), MOODS)}")
    if not isinstance(group, str):
        raise VerifierError(f"{name}.of: expected text, got {group!r}")
    rivals = value.get("not", ())
    several = isinstance(rivals, Sequence) and not isinstance(rivals, str)
    return Fact(
        wanted(f"{name}.is", value["is"]),
        wanted(f"{name}.about", value["about"]) if "about" in value else None,
        tuple(wanted(f"{name}.not", one) for one in (rivals if several else [rivals])),
        mood,
        group,
    )


@dataclass(slots=True)
class Heard:
    """The result of reading a message for some facts.

    Attributes:
        said: The facts that the message states correctly.
        fault: The first fault; empty if the message has no fault.
    """

    said: set[int] = field(default_factory=set)
    fault: str = ""


def hear(message: Message, known: Sequence[Fact]) -> Heard:
    """Account for the tokens that state known facts; other tokens keep their mark."""
    heard = Heard()
    carried: dict[str, list[Wanted]] = {}
    for unit in message.units:
        _Listener(unit, known, carried, heard).listen()
        if heard.fault:
            break
    return heard


@dataclass(slots=True)
class _Mark:
    """A subject or a value in a unit."""

    start: int
    end: int
    what: Wanted
    subject: bool


class _Listener:
    """Reads the facts of one unit."""

    def __init__(
        self,
        unit: Unit,
        known: Sequence[Fact],
        carried: dict[str, list[Wanted]],
        heard: Heard,
    ) -> None:
        self._unit, self._known, self._carried, self._heard = unit, known, carried, heard
        self._tokens = unit.left
        self._claims: list[tuple[int, Fact]] = []
        self._used: list[Token] = []
        self._lone: list[int] = []

    def listen(self) -> None:
        if not self._tokens:
            return
        self._contrasts()
        self._alone()
        for group in dict.fromkeys(fact.of for fact in self._known if fact.about):
            self._group(group)
        for token in self._used:
            token.taken = True
        self._settle()

    def _contrasts(self) -> None:
        """Take out values that are named only to be denied: "15:00 instead of 16:00"."""
        rivals = [rival for fact in self._known for rival in fact.rivals]
        for rival in rivals:
            for start, end in rival.spans(self._tokens):
                before = self._tokens[max(0, start - _REACH) : start]
                cue = next((t for t in reversed(before) if t.stem in _CONTRASTS), None)
                if cue is None:
                    if not any(f.value.spans(self._tokens[start:end]) for f in self._known):
                        self._wrong(f"says {rival}, which is not so")
                    continue
                place = self._tokens.index(cue)
                for token in self._tokens[place:end]:
                    token.taken = True
        self._tokens = self._unit.left

    def _alone(self) -> None:
        for number, fact in enumerate(self._known):
            if fact.about is None:
                for start, end in fact.value.spans(self._tokens):
                    self._claims.append((number, fact))
                    self._used += self._tokens[start:end]
                    if fact.value.is_figure:
                        self._lone += range(start, end)

    def _group(self, group: str) -> None:
        members = [(n, f) for n, f in enumerate(self._known) if f.about and f.of == group]
        marks = list(self._marks([f for _, f in members]))
        pairs = list(_pairs(marks, self._carried.get(group, ()), self._tokens))
        for mark in marks:
            self._used += self._tokens[mark.start : mark.end]
        if subjects := [mark.what for mark in marks if mark.subject]:
            self._carried[group] = subjects
        self._misplaced(members, marks, pairs)
        either = _is_either([mark for mark in marks if mark.subject], self._tokens)
        for subject, value in pairs:
            fitting = [
                (n, f)
                for n, f in members
                if f.about and f.about.shown == subject.shown and f.value.shown == value.shown
            ]
            if not fitting and either and any(f.value.shown == value.shown for _, f in members):
                continue  # "corrected or added": one of them
            if not fitting:
                right = [
                    f.value.shown for _, f in members if f.about and f.about.shown == subject.shown
                ]
                self._wrong(f"says {value} of {subject}, expected {' and '.join(right[:3])}")
            self._claims += fitting

    def _misplaced(
        self,
        members: Sequence[tuple[int, Fact]],
        marks: Sequence[_Mark],
        pairs: Sequence[tuple[Wanted, Wanted]],
    ) -> None:
        """Refuse a figure next to a subject that it does not belong to: "7, all Ada's"."""
        paired = {subject.shown for subject, _ in pairs}
        bare = [mark for mark in marks if mark.subject and mark.what.shown not in paired]
        every = {fact.about.shown for _, fact in members if fact.about}
        if len(every) > 1 and {mark.what.shown for mark in bare} == every:
            return
        for mark in bare:
            segment = self._tokens[mark.start].segment
            before = {
                token.text for token in self._tokens[: mark.start] if token.segment == segment
            }
            for place in self._lone:
                if self._tokens[place].segment == segment or before & _EVERY:
                    self._wrong(f"says {self._tokens[place].text} of {mark.what}")

    def _marks(self, members: Sequence[Fact]) -> Iterator[_Mark]:
        """Yield subjects and values in text order; of two that overlap, yield the longer."""
        found: list[_Mark] = []
        subjects = {f.about.shown: f.about for f in members if f.about}
        values = {f.value.shown: f.value for f in members}
        for some, subject in ((subjects, True), (values, False)):
            for what in some.values():
                found += [_Mark(s, e, what, subject) for s, e in what.spans(self._tokens)]
        found.sort(key=lambda mark: (mark.start, mark.start - mark.end))
        end = 0
        for mark in found:
            if mark.start >= end:
                end = mark.end
                yield mark

    def _settle(self) -> None:
        """Count the claims by the mood of the unit."""
        denies = [token for token in self._unit.left if token.text in NEGATIONS]
        mood = "asked" if self._unit.asks else "denied" if denies else "said"
        right = [(number, fact) for number, fact in self._claims if _is_so(fact.mood, mood)]
        if mood == "asked" and right:
            self._unit.may_ask = True
            for token in self._unit.left:
                token.taken |= token.text in _POLITE
        if mood == "denied" and right:
            for token in denies:
                token.taken = True
        if mood == "denied" and self._claims and not right:
            self._wrong(f"denies {self._claims[0][1]}: {self._unit.text[:100]!r}")
        self._heard.said |= {number for number, _ in right}

    def _wrong(self, what: str) -> None:
        self._heard.fault = self._heard.fault or what


def _is_either(subjects: Sequence[_Mark], tokens: Sequence[Token]) -> bool:
    """Return whether "or" joins several subjects."""
    return len(subjects) > 1 and all(
        any(token.text == "or" for token in tokens[one.end : other.start])
        and other.start - one.end == 1
        for one, other in itertools.pairwise(subjects)
    )


def _is_so(wanted_mood: str, mood: str) -> bool:
    """Return whether a mood is the wanted one; a request is an order or a polite question."""
    return mood == wanted_mood or (wanted_mood == "requested" and mood in ("said", "asked"))


def _pairs(
    marks: Sequence[_Mark], carried: Sequence[Wanted], tokens: Sequence[Token]
) -> Iterator[tuple[Wanted, Wanted]]:
    """Yield each subject with its value, paired by position."""
    last: list[_Mark] = []
    near = carried
    for subjects, values in _blocks(marks, tokens):
        if not subjects:
            yield from ((subject, value.what) for subject in near for value in values)
        elif not values:
            end = subjects[-1].end
            if last and any(token.stem in _ALSO for token in tokens[end : end + _REACH]):
                yield from ((s.what, value.what) for s in subjects for value in last)
        elif len(subjects) == len(values) > 1:
            yield from ((s.what, v.what) for s, v in zip(subjects, values, strict=True))
        else:
            yield from ((s.what, v.what) for s in subjects for v in values)
        last, near = values or last, [one.what for one in subjects] or near


def _blocks(
    marks: Sequence[_Mark], tokens: Sequence[Token]
) -> list[tuple[list[_Mark], list[_Mark]]]:
    """Split marks into subjects and the values that belong to them.

    If each part between two signs has a subject and exactly one value, they form a pair.
    """
    parts: dict[int, tuple[list[_Mark], list[_Mark]]] = {}
    for mark in marks:
        subjects, values = parts.setdefault(tokens[mark.start].segment, ([], []))
        (subjects if mark.subject else values).append(mark)
    if len(parts) > 1 and all(some and len(values) == 1 for some, values in parts.values()):
        return list(parts.values())
    return _runs(marks, tokens)


def _runs(marks: Sequence[_Mark], tokens: Sequence[Token]) -> list[tuple[list[_Mark], list[_Mark]]]:
    """Split marks into runs of subjects, each with its run of values."""
    runs: list[list[_Mark]] = []
    for mark in marks:
        if runs and runs[-1][0].subject == mark.subject and _is_list(runs[-1][-1], mark, tokens):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    blocks = []
    while runs:
        first = runs.pop(0)
        alone = not runs or runs[0][0].subject == first[0].subject
        second = [] if alone else runs.pop(0)
        subjects, values = (first, second) if first[0].subject else (second, first)
        blocks.append((subjects, values))
    return blocks


def _is_list(one: _Mark, other: _Mark, tokens: Sequence[Token]) -> bool:
    """Return whether two marks are neighbours in a list; "10 of them, and 1 is open" is no list."""
    if one.subject or tokens[one.start].segment == tokens[other.start].segment:
        return True
    between = tokens[one.end : other.start]
    return all(token.stem in words().light or token.figure is not None for token in between)
