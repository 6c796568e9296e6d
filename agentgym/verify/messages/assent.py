"""Answers to a wish or a question ("yes", "of course", "no"), and what has to settle them.

"Of course" alone grants whatever the reader wished for last. It may stand where the words behind
it say what was meant: a refusal, a reply that takes up the reader's question, a question, or the
reader's own statement.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.replies import Reply
from agentgym.verify.messages.units import Token, Unit, read_message
from agentgym.verify.messages.words import words

_AFFIRMATION: Final = "yes"
_DENIAL: Final = "no"
_BEHIND_NO: Final = ("i", "we", "you", "it", "that", "sorry", "thanks", "this", "unfortunately")
_LEADS: Final = ("but", "and", "so", "well", "oh")


@dataclass(frozen=True, slots=True)
class Assent:
    """The words at the start of a sentence that answer the reader.

    Attributes:
        said: The words as text.
        only_hears: Whether they may only show that the reader was heard: "okay", "understood".
    """

    said: str
    only_hears: bool

    def is_settled(
        self,
        units: Sequence[Unit],
        said: Sequence[Sequence[Reply]],
        asks: Sequence[bool],
        acts: Sequence[Collection[str]],
        heard: Heard,
    ) -> bool:
        """Return whether the rest of the message says what the words mean.

        Args:
            units: Its sentence and those behind it, without courtesies.
            said: The replies that each of them says.
            asks: Whether each of them is a question.
            acts: The other speech acts of each of them.
            heard: What the reader has said before.
        """
        for unit, replies, is_question, done in zip(units, said, asks, acts, strict=True):
            if "states" in done and self.said == _AFFIRMATION:
                return True
            if "looks" in done and self.said not in (_AFFIRMATION, _DENIAL):
                return True
            if replies:
                if self.said == _DENIAL or any(one.denies for one in replies):
                    return any(one.denies for one in replies)
                if heard.is_opening:
                    return self.only_hears or self.said == _AFFIRMATION or any(asks)
                if not heard.has_wish:
                    return True
                if self.only_hears and any(token.figure is not None for token in unit.tokens):
                    return True
                if not heard.has_matter and self.said == _AFFIRMATION:
                    return True
                if heard.names_in_last & {token.text for token in unit.tokens}:
                    return True
                return _takes_up(unit, heard.texts[-1], only_questions=not self.only_hears)
            if unit.left:
                is_free = heard.is_opening or not heard.has_wish
                return is_question and self.said != _DENIAL and is_free
        return self.said != _DENIAL and not heard.is_opening and not heard.has_wish


def take_assent(unit: Unit) -> Assent | None:
    """Account for the answer at the start of a sentence, and return it; None: it has none."""
    left = unit.left
    lists = words().conversation
    if not left or any(token.segment == left[0].segment for token in _before(unit)):
        return None
    while left and left[0].text in _LEADS:  # "Sorry, but no: …"
        if [token.text for token in left[:2]] == ["oh", "no"]:  # it regrets
            return None
        left = left[1:]
    texts = [token.text for token in left]
    for phrase in sorted((*lists["answers"], *lists["hearings"]), key=len, reverse=True):
        parts = phrase.split()
        is_number = phrase == _DENIAL and len(left) > 1 and left[1].figure is not None
        is_whole = len(left) <= len(parts) or left[len(parts)].segment != left[0].segment
        if parts[0] == "happy" and not is_whole:  # "happy to look into it"
            continue
        if phrase == _DENIAL and not is_whole and texts[1] not in _BEHIND_NO:  # "no free month"
            continue
        if texts[: len(parts)] == parts and not is_number:
            for token in left[: len(parts)]:
                token.taken = True
            return Assent(phrase, phrase in lists["hearings"])
    return None


def _before(unit: Unit) -> list[Token]:
    """Return the tokens before the first that is not yet accounted for."""
    return list(itertools.takewhile(lambda token: token.taken, unit.tokens))


def _takes_up(unit: Unit, heard: str, *, only_questions: bool) -> bool:
    """Return whether a sentence has a word of what was said last, or of its questions."""
    units = read_message(heard).units
    asked = [one for one in units if "?" in one.text or not only_questions]
    light = words().light | words().function | words().refusing
    stems = {token.stem for one in asked for token in one.tokens if token.figure is None} - light
    return any(token.stem in stems for token in unit.tokens if token.figure is None)
