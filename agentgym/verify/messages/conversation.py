"""A conversation that may say only saved replies: they, speech acts and courtesies make it up.

Everything else is a claim, and fails. Saved replies are the claims that the rubric licenses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.errors import VerifierError
from agentgym.verify.messages.acts import Speaker
from agentgym.verify.messages.assent import Assent, take_assent
from agentgym.verify.messages.days import MONTHS, WEEKDAYS
from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.figures import Reading
from agentgym.verify.messages.heard import Heard
from agentgym.verify.messages.matter import Matter
from agentgym.verify.messages.plain import MOST_CHARS, capitals_of
from agentgym.verify.messages.questions import is_question
from agentgym.verify.messages.replies import Reply, read_replies, take_replies
from agentgym.verify.messages.units import NEGATIONS, Unit, read_message
from agentgym.verify.messages.wanted import Wanted, wanted
from agentgym.verify.messages.words import Courtesy, stems, words

_SHOWN: Final = 80
_COURTESIES: Final = ("greeting", "closing", "thanks", "offers")


@dataclass(frozen=True)
class Conversation:
    """The limits of a conversation.

    Attributes:
        replies: The saved replies.
        asks: Stems of the words of questions.
        figures: Figures that a question may contain.
        phrases: Phrases that a message may contain.
        names: People and firms that may be named.
        secrets: Values that a message must not tell in any form.
        opening: What the addressee said before the conversation.
        courtesies: Recognises courtesies that promise and assent to nothing.
        beside_replies: Recognises also "done".
        in_answer: Recognises all courtesies; the agent's answer grants no wish.
    """

    replies: Sequence[Reply]
    asks: frozenset[str]
    figures: Sequence[Reading]
    phrases: Sequence[Wanted]
    names: Sequence[str]
    secrets: Sequence[str]
    opening: Sequence[str]
    courtesies: Courtesy
    beside_replies: Courtesy
    in_answer: Courtesy
    matter: frozenset[str]

    def fault(
        self,
        text: str,
        heard: Sequence[str] = (),
        *,
        untimely: Collection[Reply] = (),
        is_answer: bool = False,
    ) -> str:
        """Describe the first fault of a message; empty if the message is right.

        Args:
            text: The message.
            heard: What the addressee has said before; a question may repeat its figures.
            untimely: The replies that the agent may not yet say, or no longer.
            is_answer: Whether it is the agent's answer, and not said in the conversation.
        """
        if len(text) > MOST_CHARS:
            return f"has {len(text)} characters, expected at most {MOST_CHARS}"
        if secret := leak(text, self.secrets, [*self.opening, *heard, *self.names]):
            return f"tells {secret!r}, which the addressee must not hear"
        reader = Heard(self.opening, heard)
        units = read_message(text).units
        ordered = sorted(self.replies, key=lambda one: one in untimely)
        said = [take_replies(unit, ordered, reader) for unit in units]
        for one in (one for some in said for one in some):
            if one in untimely:
                return f"says {one.shown!r} when it is not so"
        courtesy = self.beside_replies if any(said) else self.courtesies
        if is_answer:
            courtesy = self.in_answer
        replied = [token for unit in units for token in unit.tokens if token.taken]
        asks = [is_question(unit) for unit in units]
        is_open = any(asks) or any(one.denies for some in said for one in some)
        matter = Matter(self.matter, _capitals(text), self._licensed(units))
        names = stems(self.names)
        writer = Speaker(self.asks, self.figures, names, matter, reader, replied, is_open)
        assents: list[Assent | None] = []
        acts: list[Collection[str]] = []
        for unit in units:
            _take_courtesies(unit, courtesy)
            assents.append(take_assent(unit))
            acts.append(writer.take(unit))
        for n, (unit, assent) in enumerate(zip(units, assents, strict=True)):
            if assent and not assent.is_settled(units[n:], said[n:], asks[n:], acts[n:], reader):
                seen = f"says {assent.said!r}, and nothing behind it says to what"
                return f"{seen}: {unit.text[:_SHOWN]!r}"
            if fault := writer.claim(unit):
                return fault
        return ""

    def _licensed(self, units: Sequence[Unit]) -> frozenset[int]:
        """Return the ids of the tokens that belong to a permitted phrase."""
        return frozenset(
            id(token)
            for unit in units
            for phrase in self.phrases
            for start, end in phrase.spans(unit.left)
            if not phrase.shown.startswith("to ") or unit.left[max(start - 1, 0)].text == "to"
            for token in unit.left[start:end]
        )


def _take_courtesies(unit: Unit, courtesy: Courtesy) -> None:
    for segment in list(unit.segments()):
        courtesy.take(segment, edge=True)


def _capitals(text: str) -> frozenset[str]:
    return capitals_of(text) - {*WEEKDAYS, *MONTHS} - words().function


def conversation(
    replies: Sequence[object],
    asks: Sequence[str] = (),
    may: Sequence[object] = (),
    names: Sequence[str] = (),
    secrets: Sequence[str] = (),
    opening: Sequence[str] = (),
) -> Conversation:
    """Read the arguments of `messages.only_replies`.

    Args:
        replies: Sentences with alternatives, "(I|we) have it(, too|)", or tables of `say` and
            `after`.
        asks: Further words that a question may use.
        may: Figures that a question may contain, and phrases that a message may contain.
        names: People and firms whom the message may greet and who may sign it.
        secrets: Values that a message must not tell in any form.
        opening: What the addressee said before the conversation, as far as the agent has read it.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    lists_of_texts = {"asks": asks, "names": names, "secrets": secrets, "opening": opening}
    for name, given in lists_of_texts.items():
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
    lists = words().conversation
    saved = read_replies(replies)
    return Conversation(
        saved,
        stems([*lists["asking"], *asks, *names]),
        figures,
        [one for one in phrases if not one.is_figure],
        names,
        secrets,
        opening,
        Courtesy(names, only=_COURTESIES, more=lists["courtesies"]),
        Courtesy(
            names, only=(*_COURTESIES, "reports"), more=[*lists["courtesies"], *lists["reports"]]
        ),
        Courtesy(names, more=lists["courtesies"]),
        _matter(saved, names),
    )


def _matter(replies: Sequence[Reply], names: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words by which replies and names tell of the matter."""
    known = words()
    empty = known.function | known.light | known.joining | known.filling | known.refusing
    empty |= known.looks | known.feelings | stems(NEGATIONS)
    return (stems(one.shown for one in replies) | stems(names)) - empty
