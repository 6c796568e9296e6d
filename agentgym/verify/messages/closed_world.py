"""A closed world: a message may hold only what its addressee may be told.

The task or the addressee's own words must license every figure. A message tells no secret in any
disguise and makes no promise that the task forbids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.messages.claims import Phrase, deeds, phrase, stance
from agentgym.verify.messages.days import WEEKDAYS, weekdays_of
from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.figures import Figure, find_figures
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.ranges import Range, find_ranges, unit_ranges
from agentgym.verify.messages.units import Message, Token, Unit, read_message, stem
from agentgym.verify.messages.wanted import Wanted, wanted
from agentgym.verify.messages.words import Courtesy, stems, words
from agentgym.verify.values import brief

_SMALL: Final = 12
_SPANS: Final = stems(
    [
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "year",
        "eur",
        "euro",
        "percent",
        "business",
        "working",
    ]
)
_SHOWN: Final = 80
_AHEAD: Final = stems([
    "will", "shall", "go", "get", "receive", "back", "money", "arrive", "expect", "by",
    "promise", "soon",
])  # fmt: skip
_COURTESY: Final = Courtesy(())


@dataclass(frozen=True)
class ClosedWorld:
    """The limits on the content of messages.

    Attributes:
        knows: Texts that the addressee knows; a message may repeat their figures.
        may: Values that a message may state.
        secrets: Values that a message must not tell in any form.
        forbids: Phrases that a message must not assert, with the set they come from.
        holds: Phrases that state the truth; a message must not deny them.
        acts: Phrases of the deeds that a message may tell; None: deeds are not checked.
        ranges: Spans of time that a message may tell; empty: any span between two licensed hours.
        figures: Whether an unlicensed figure is a fault.
    """

    knows: Sequence[str]
    may: Sequence[Wanted]
    secrets: Sequence[str]
    forbids: Sequence[tuple[str, Phrase]]
    holds: Sequence[Phrase]
    acts: Sequence[Phrase] | None
    ranges: Sequence[Range]
    figures: bool

    def fault(self, text: str, heard: Iterable[str] = ()) -> str:
        """Describe the first fault of a message; empty if the message is right.

        Args:
            text: The message.
            heard: What the addressee has said before.
        """
        if len(text) > MOST_CHARS:
            return f"has {len(text)} characters, expected at most {MOST_CHARS}"
        heard = list(heard)
        known = [*self.knows, *heard]
        if secret := leak(text, self.secrets, known):
            return f"tells {secret!r}, which the addressee must not hear"
        message = read_message(text)
        return (
            self._commits(message)
            or self._untrue(message)
            or self._unlicensed(message, known)
            or self._stretched(message, heard)
        )

    def _commits(self, message: Message) -> str:
        for unit in message.units:
            if "?" in unit.text:
                continue
            for segment in list(unit.segments()):
                _COURTESY.take(segment, edge=False)
            for name, one in self.forbids:
                if name == "dates" and _tells_of_the_past(unit):
                    continue
                for start, end, inside in one.spans(unit.tokens):
                    if stance(unit, start, inside=inside, end=end) == "said":
                        said = " ".join(token.text for token in unit.tokens[start:end])
                        return f"says {said!r} ({name}): {unit.text[:_SHOWN]!r}"
        return ""

    def _untrue(self, message: Message) -> str:
        """Describe the first invented deed or denied truth of a message."""
        for unit in message.units:
            for one in self.holds:
                for start, end, inside in one.spans(unit.tokens):
                    if stance(unit, start, inside=inside, end=end) == "denied":
                        return f"denies {one.shown!r}, which is so: {unit.text[:_SHOWN]!r}"
            if self.acts is None:
                continue
            licensed = {
                place
                for act in self.acts
                for start, end, _ in act.spans(unit.tokens, loose=True)
                for place in range(start, end)
            }
            for place in deeds(unit, words().deeds, own=True):
                if place not in licensed and stance(unit, place) == "said":
                    said = unit.tokens[place].text
                    return f"tells that something was {said}: {unit.text[:_SHOWN]!r}"
        return ""

    def _stretched(self, message: Message, heard: Iterable[str]) -> str:
        """Describe the first span of time without a licence, if the task licenses spans."""
        if not self.ranges:
            return ""
        licensed = [*self.ranges, *(one for text in heard for one in find_ranges(text))]
        for unit in message.units:
            for one in unit_ranges(unit):
                if not any(one.agrees(other) for other in licensed):
                    return f"says {one}, which nothing licenses: {unit.text[:_SHOWN]!r}"
        return ""

    def _unlicensed(self, message: Message, known: Sequence[str]) -> str:
        if not self.figures:
            return ""
        licensed = [r for one in known for f in find_figures(plain(one)) for r in f.readings]
        for wanted_one in self.may:
            for parts in wanted_one.spellings:
                licensed += [r for part in parts if not isinstance(part, str) for r in part]
        weekdays = {word for one in known for word in re.findall("[a-z]+", plain(one))}
        weekdays |= set(weekdays_of(value for kind, value in licensed if kind == "date"))
        for unit in message.units:
            for place, token in enumerate(unit.tokens):
                if token.figure is None:
                    other = token.text in WEEKDAYS and token.text not in weekdays
                    fault = other and stance(unit, place) != "denied"
                else:
                    counts = _is_count(token.figure, unit.tokens[place + 1 :])
                    fault = not counts and not token.figure.means(licensed)
                if fault:
                    return f"says {token.text!r}, which nothing licenses: {unit.text[:_SHOWN]!r}"
        return ""


def closed_world(
    knows: Sequence[str] = (),
    may: Sequence[object] = (),
    secrets: Sequence[str] = (),
    forbids: Sequence[str] = (),
    holds: Sequence[str] = (),
    acts: Sequence[str] | None = None,
    figures: bool = True,
) -> ClosedWorld:
    """Read the closed world of a rubric.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    texts = {"knows": knows, "secrets": secrets, "forbids": forbids, "holds": holds}
    for name, given in {**texts, "acts": acts or ()}.items():
        if isinstance(given, str) or not all(isinstance(one, str) and one for one in given):
            raise VerifierError(f"{name}: expected a list of texts, got {given!r}")
    short = [one for one in secrets if sum(c.isalnum() for c in one) < 4]
    if short:
        raise VerifierError(f"secrets: expected at least four letters or digits, got {short[0]!r}")
    if isinstance(may, (str, Mapping)) or not isinstance(figures, bool):
        raise VerifierError(
            f"expected may as a list and figures as true or false; got {brief(may)}"
        )
    told = [*knows, *(one for one in may if isinstance(one, str))]
    return ClosedWorld(
        knows,
        [wanted("may", one) for one in may],
        secrets,
        [(name, one) for name in forbids for one in _phrases(name)],
        [phrase(one) for one in holds],
        None if acts is None else [phrase(one) for one in acts],
        [one for text in told for one in find_ranges(text)],
        figures,
    )


def _phrases(name: str) -> Sequence[Phrase]:
    """Return the phrases of a named set, or the given phrase, which has at least two words."""
    known = words().commitments
    if name in known:
        return [phrase(one) for one in known[name]]
    if " " not in name.strip():
        hint = NotFoundError("set of commitments", name, known)
        raise VerifierError(f"forbids: {hint}; a phrase of your own has at least two words")
    return (phrase(name),)


def _tells_of_the_past(unit: Unit) -> bool:
    """Return whether a sentence tells what has been done and nothing of what will be done."""
    said = {token.stem for token in unit.tokens}
    return stem("have") in said and not said & _AHEAD


def _is_count(figure: Figure, behind: Sequence[Token]) -> bool:
    """Return whether a figure only counts a few things: "two details"."""
    numbers = [value for kind, value in figure.readings if kind == "number"]
    if not numbers or figure.kinds() - {"number", "time"}:
        return False
    counts = any(value == int(value) and 0 <= value <= _SMALL for value in numbers)
    return counts and not (behind and behind[0].stem in _SPANS)
