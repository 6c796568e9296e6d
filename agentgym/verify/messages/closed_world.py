"""A closed world: a message may hold only what its addressee may be told.

Every figure has to be licensed by what the task allows or by what the addressee has said; no
secret is told in any disguise; nothing is promised that the task forbids to promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.figures import Figure, find_figures
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.units import NEGATIONS, Message, Token, Unit, read_message, stem
from agentgym.verify.messages.wanted import Wanted, spelling, wanted
from agentgym.verify.messages.words import Courtesy, phrase_stems, stems, words
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
_HELPING: Final = stems(["be", "can", "could", "will", "would", "may", "do"])
_ARTICLES: Final = stems(["a", "an", "the", "your", "our", "my", "their", "be", "has"])
_OPEN: Final = tuple(
    phrase_stems(phrase)
    for phrase in (
        "if", "whether", "you would like", "you want", "you wish", "you hope", "you asked",
        "your request", "your question", "you asking", "you need",
    )
)  # fmt: skip
_COURTESY: Final = Courtesy(())
_FALSE_NEGATIONS: Final = tuple(
    list(phrase_stems(phrase))
    for phrase in (
        "no problem", "no worries", "not worry", "no doubt", "without doubt", "without fail",
        "no question", "not hesitate", "not only", "not a problem", "no later", "not just",
        "no trouble", "never fear",
    )
)  # fmt: skip


@dataclass(frozen=True)
class ClosedWorld:
    """What messages may hold.

    Attributes:
        knows: Texts that the addressee knows, and whose figures may be repeated.
        may: Values that may be said.
        secrets: What must not be told in any form.
        forbids: Phrases that must not be asserted, with the set they come from.
        figures: Whether figures that nothing licenses are a fault.
    """

    knows: Sequence[str]
    may: Sequence[Wanted]
    secrets: Sequence[str]
    forbids: Sequence[tuple[str, Wanted]]
    figures: bool

    def fault(self, text: str, heard: Iterable[str] = ()) -> str:
        """Say what is wrong with a message; empty if nothing is.

        Args:
            text: The message.
            heard: What the addressee has said before.
        """
        if len(text) > MOST_CHARS:
            return f"has {len(text)} characters, expected at most {MOST_CHARS}"
        known = [*self.knows, *heard]
        if secret := leak(text, self.secrets, known):
            return f"tells {secret!r}, which the addressee must not hear"
        message = read_message(text)
        return self._commits(message) or self._unlicensed(message, known)

    def _commits(self, message: Message) -> str:
        for unit in message.units:
            if "?" in unit.text:
                continue
            for segment in list(unit.segments()):
                _COURTESY.take(segment, edge=False)
            for name, phrase in self.forbids:
                if name == "dates" and _tells_of_the_past(unit):
                    continue
                for start, end in phrase.spans(unit.tokens):
                    if not _is_denied(unit, start) and not _is_ruled_out(unit, end):
                        said = " ".join(token.text for token in unit.tokens[start:end])
                        return f"says {said!r} ({name}): {unit.text[:_SHOWN]!r}"
        return ""

    def _unlicensed(self, message: Message, known: Sequence[str]) -> str:
        if not self.figures:
            return ""
        licensed = [r for one in known for f in find_figures(plain(one)) for r in f.readings]
        for wanted_one in self.may:
            for parts in wanted_one.spellings:
                licensed += [r for part in parts if not isinstance(part, str) for r in part]
        for unit in message.units:
            for place, token in enumerate(unit.tokens):
                if token.figure is None or _is_count(token.figure, unit.tokens[place + 1 :]):
                    continue
                if not token.figure.means(licensed):
                    return f"says {token.text!r}, which nothing licenses: {unit.text[:_SHOWN]!r}"
        return ""


def closed_world(
    knows: Sequence[str] = (),
    may: Sequence[object] = (),
    secrets: Sequence[str] = (),
    forbids: Sequence[str] = (),
    figures: bool = True,
) -> ClosedWorld:
    """Read what a rubric says of a closed world.

    Raises:
        VerifierError: An argument is not what is expected.
    """
    for name, given in (("knows", knows), ("secrets", secrets), ("forbids", forbids)):
        if isinstance(given, str) or not all(isinstance(one, str) and one for one in given):
            raise VerifierError(f"{name}: expected a list of texts, got {given!r}")
    short = [one for one in secrets if sum(c.isalnum() for c in one) < 4]
    if short:
        raise VerifierError(f"secrets: expected at least four letters or digits, got {short[0]!r}")
    if isinstance(may, (str, Mapping)) or not isinstance(figures, bool):
        raise VerifierError(
            f"expected may as a list and figures as true or false; got {brief(may)}"
        )
    phrases = [(name, phrase) for name in forbids for phrase in _phrases(name)]
    return ClosedWorld(knows, [wanted("may", one) for one in may], secrets, phrases, figures)


def _phrases(name: str) -> Sequence[Wanted]:
    """Return the phrases of a set, or a phrase of one's own, which has at least two words."""
    known = words().commitments
    if name in known:
        return [_phrase(phrase) for phrase in known[name]]
    if " " not in name.strip():
        hint = NotFoundError("set of commitments", name, known)
        raise VerifierError(f"forbids: {hint}; a phrase of your own has at least two words")
    return (_phrase(name),)


def _phrase(text: str) -> Wanted:
    return Wanted(text, (spelling(text, without=_ARTICLES),))


def _tells_of_the_past(unit: Unit) -> bool:
    """Whether a sentence says what has been done, and nothing of what will be."""
    said = {token.stem for token in unit.tokens}
    return stem("have") in said and not said & _AHEAD


def _is_denied(unit: Unit, place: int) -> bool:
    """Whether a word before this place, in the same part of the sentence, denies it."""
    segment = unit.tokens[place].segment
    before = [t for t in unit.tokens[:place] if t.segment == segment]
    for number in reversed(range(len(before))):
        if before[number].text in ("but", "however"):
            before = before[number + 1 :]
            break
    said = [token.stem for token in before]
    if any(_has(phrase, said) for phrase in _OPEN):
        return True
    for pseudo in _FALSE_NEGATIONS:
        for start in range(len(said) - len(pseudo) + 1):
            if said[start : start + len(pseudo)] == pseudo:
                said[start : start + len(pseudo)] = [""] * len(pseudo)
    denying = [
        number
        for number, token in enumerate(before)
        if said[number] and (token.text in NEGATIONS or token.text == "unable")
    ]
    return len(denying) % 2 == 1


def _is_ruled_out(unit: Unit, end: int) -> bool:
    """Whether what stands right behind denies it: "a voucher is not possible"."""
    behind = unit.tokens[end : end + 2]
    if len(behind) < 2 or behind[0].segment != unit.tokens[end - 1].segment:
        return False
    return behind[0].stem in _HELPING and behind[1].text == "not"


def _has(phrase: Sequence[str], said: Sequence[str]) -> bool:
    width = len(phrase)
    return any(tuple(said[i : i + width]) == tuple(phrase) for i in range(len(said) - width + 1))


def _is_count(figure: Figure, behind: Sequence[Token]) -> bool:
    """Whether a figure only counts a few things: "two details"."""
    numbers = [value for kind, value in figure.readings if kind == "number"]
    if not numbers or figure.kinds() - {"number", "time"}:
        return False
    counts = any(value == int(value) and 0 <= value <= _SMALL for value in numbers)
    return counts and not (behind and behind[0].stem in _SPANS)
