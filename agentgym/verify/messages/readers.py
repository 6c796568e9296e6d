"""Readers: the checks of pack `messages` for a single text, without an episode.

The checks and the calibration share them, so that both judge a text alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.messages.account import Account, Review, account
from agentgym.verify.messages.closed_world import ClosedWorld, closed_world
from agentgym.verify.messages.conversation import conversation
from agentgym.verify.messages.replies import Reply, read_replies, replied
from agentgym.verify.messages.requests import asked, requests
from agentgym.verify.messages.units import read_message
from agentgym.verify.messages.wanted import Wanted, wanted

PACK: Final = "messages"
MOST_SUBJECT_CHARS: Final = 500


@dataclass(frozen=True)
class Says:
    """Reads messages that must have a given content and no other.

    Attributes:
        account: The account of the text.
        subjects: The accepted subjects. If there are several, another subject also passes as long
            as it says only what the text may say. If empty, the subject is read as text.
    """

    account: Account
    subjects: Sequence[Wanted]

    def review(self, text: str, subject: str = "") -> Review:
        """Review a message."""
        if not subject:
            return self.account.review(text)
        if not self.subjects:
            return self.account.review(f"{subject}\n\n{text}")
        if len(subject) > MOST_SUBJECT_CHARS:
            seen = f"{len(subject)} characters, expected at most {MOST_SUBJECT_CHARS}"
            return Review(f"has a subject of {seen}")
        tokens = read_message(subject).tokens()
        if any(one.is_all_of(tokens) for one in self.subjects):
            return self.account.review(text)
        if len(self.subjects) > 1 and not self.account.review(subject).excess:
            return self.account.review(text)
        return Review(f"has the subject {subject[:80]!r}, expected {self.subjects[0]}")


def says(
    template: str = "",
    form: Mapping[str, object] | None = None,
    facts: Sequence[object] = (),
    may: Sequence[object] = (),
    topics: Sequence[str] = (),
    words: Sequence[str] = (),
    names: Sequence[str] = (),
    subject: str | Sequence[str] = (),
    most_chars: int = 3000,
) -> Says:
    """Read the arguments of `messages.says`. Raises VerifierError if one has the wrong form."""
    subjects = [subject] if isinstance(subject, str) else list(subject)
    return Says(
        account(
            template=template,
            form=form,
            facts_=facts,
            may=may,
            topics=topics,
            words_=words,
            names=names,
            most_chars=most_chars,
        ),
        [wanted("subject", one) for one in subjects],
    )


Fault = Callable[[str, str, Sequence[str]], str]
"""Takes a text, its subject and what its reader had said; returns the fault, empty if right."""


def fault_reader(use: str, arguments: Mapping[str, Any]) -> Fault | None:
    """Return a function that finds the fault of one text; None for checks without a text.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    pack, _, name = use.partition(".")
    if pack != PACK:
        return None
    given = {key: value for key, value in arguments.items() if key not in _EPISODE[name]}
    if name == "says":
        reader = says(**given)
        return lambda text, subject, heard: reader.review(text, subject).fault
    if name == "keeps_to":
        world: ClosedWorld = closed_world(**given)
        return lambda text, subject, heard: world.fault(f"{subject}\n{text}".strip(), heard)
    if name == "only_replies":
        talk = conversation(**given)
        return lambda text, subject, heard: talk.fault(text, tuple(heard))
    if name == "replied":
        wanted_replies = read_replies(given["replies"])
        return lambda text, subject, heard: _unsaid(wanted_replies, text)
    if name == "asked":
        about = requests(given["about"])
        return lambda text, subject, heard: _unasked(about, asked(text, about))
    raise VerifierError(str(NotFoundError("check of messages", name, _EPISODE)))


def _unasked(about: Sequence[Wanted], found: set[int]) -> str:
    missing = [str(one) for number, one in enumerate(about) if number not in found]
    return f"does not ask for {', '.join(missing)}" if missing else ""


def _unsaid(wanted_replies: Sequence[Reply], text: str) -> str:
    missing = [one.shown for one in wanted_replies if one not in replied(text, wanted_replies)]
    return f"does not say {missing[0]!r}" if missing else ""


_EPISODE: Final[Mapping[str, frozenset[str]]] = {
    "says": frozenset({"source", "every"}),
    "keeps_to": frozenset({"sources"}),
    "only_replies": frozenset({"sources"}),
    "replied": frozenset({"source"}),
    "asked": frozenset({"before"}),
}
"""Arguments that concern the episode and not a text."""
