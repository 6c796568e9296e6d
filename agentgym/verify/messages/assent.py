"""Answers to a wish or a question ("yes", "of course", "no"), and what has to settle them.

"Of course" alone grants whatever the reader wished for last. It may stand where the words behind
it say what was meant: a refusal, a reply that takes up the reader's question, or a question.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.verify.messages.plain import plain
from agentgym.verify.messages.replies import Reply
from agentgym.verify.messages.units import Token, Unit, read_message
from agentgym.verify.messages.words import words

_WISHES: Final = re.compile(
    r"\?\s*$|\b(?:please|can|could|would|want|need|just|make|put|move|take|give|send|delete|remove"
    r"|change|share|add|do|tell|then|come on|between us|let (?!me\b))\b"
)
"""Finds a wish, so that an assent would grant it; a reader who only answers wishes for nothing."""
_AFFIRMATION: Final = "yes"
_DENIAL: Final = "no"


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
        heard: Sequence[str],
    ) -> bool:
        """Return whether the rest of the message says what the words mean.

        Args:
            units: Its sentence and those behind it, without courtesies.
            said: The replies that each of them says.
            asks: Whether each of them is a question.
            heard: What the reader has said before.
        """
        for unit, replies, is_question in zip(units, said, asks, strict=True):
            if replies:
                if self.said == _DENIAL or any(one.denies for one in replies):
                    return any(one.denies for one in replies)
                if heard and not _WISHES.search(plain(heard[-1])):
                    return True
                if not heard:
                    return self.only_hears or self.said == _AFFIRMATION or any(asks)
                if self.only_hears and any(token.figure is not None for token in unit.tokens):
                    return True
                return _takes_up(unit, heard[-1], only_questions=not self.only_hears)
            if unit.left:
                is_free = not heard or not _WISHES.search(plain(heard[-1]))
                return is_question and self.said != _DENIAL and is_free
        return False


def take_assent(unit: Unit) -> Assent | None:
    """Account for the answer at the start of a sentence, and return it; None: it has none."""
    left = unit.left
    lists = words().conversation
    if not left or any(token.segment == left[0].segment for token in _before(unit)):
        return None
    texts = [token.text for token in left]
    for phrase in sorted((*lists["answers"], *lists["hearings"]), key=len, reverse=True):
        parts = phrase.split()
        is_number = phrase == _DENIAL and len(left) > 1 and left[1].figure is not None
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
    light = words().light | words().function
    stems = {token.stem for one in asked for token in one.tokens if token.figure is None} - light
    return any(token.stem in stems for token in unit.tokens if token.figure is None)
