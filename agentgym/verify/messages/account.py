"""Accounts: a message may say only what its rubric lists.

An account compares a message with the sentences of a template, the lines of a form, facts and
courtesies. Words and figures that match none of these are an excess, and the message fails.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentgym.errors import VerifierError
from agentgym.verify.messages.beside import take_beside
from agentgym.verify.messages.claims import deeds, stance
from agentgym.verify.messages.days import WEEKDAYS, weekdays_of
from agentgym.verify.messages.figures import Reading, find_figures
from agentgym.verify.messages.plain import MOST_CHARS, capitals_of, plain
from agentgym.verify.messages.statements import Fact, facts, hear
from agentgym.verify.messages.units import NEGATIONS, Message, Token, Unit, read_message
from agentgym.verify.messages.wanted import Part, Wanted, wanted
from agentgym.verify.messages.words import Courtesy, stems, topic_words, words

_SHOWN = 80
_TELLING = frozenset(
    ("has", "have", "had", "is", "was", "can", "could", "will", "would", "does", "did", "knows")
)
_OF_WHOM = frozenset(("for", "of", "to", "with", "by", "from"))


@dataclass(frozen=True, slots=True)
class Field:
    """A line of a form.

    Attributes:
        labels: The accepted labels; reports use the first.
        value: The expected value behind the label.
    """

    labels: tuple[Wanted, ...]
    value: Wanted

    def is_called(self, segment: Sequence[Token]) -> bool:
        """Return whether a segment is one of its labels."""
        return any(label.is_all_of(segment) for label in self.labels)


@dataclass(frozen=True, slots=True)
class Review:
    """The faults of a message.

    Attributes:
        excess: What the message says and may not say; empty if it says nothing of the kind.
        lacking: What the message must say and does not.
    """

    excess: str = ""
    lacking: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """Describe the faults; empty if the message is right."""
        if self.excess or not self.lacking:
            return self.excess
        more = len(self.lacking) - 3
        return (
            f"does not say {'; '.join(self.lacking[:3])}{f' and {more} more' if more > 0 else ''}"
        )


@dataclass(frozen=True)
class Account:
    """The content that a message must have, and the content that it may have.

    Attributes:
        template: The sentences of the template: text for reports, and runs of words and figures.
        form: The lines of a form.
        facts: Facts that the message must state.
        may: Facts that the message may state.
        phrases: Sentences and phrases that the message may contain.
        words: Stems that the message may use.
        own: The stems among `words` that the rubric itself lists.
        people: Stems of the names of people whom the message may greet and who may sign it.
        surface: Words, as written, that may tell of a deed.
        courtesy: Recognises greetings and closings.
        most_chars: Greatest length in characters; a longer message fails.
        ids: Letters and digits of every id in the other attributes.
    """

    template: Sequence[tuple[str, tuple[Part, ...]]]
    form: Sequence[Field]
    facts: Sequence[Fact]
    may: Sequence[Fact]
    phrases: Sequence[Wanted]
    words: frozenset[str]
    own: frozenset[str]
    people: frozenset[str]
    surface: frozenset[str]
    courtesy: Courtesy
    most_chars: int
    ids: frozenset[tuple[str, str]]

    def review(self, text: str) -> Review:
        """Review a message."""
        if len(text) > self.most_chars:
            return Review(f"has {len(text)} characters, expected at most {self.most_chars}")
        message = read_message(self._with_ids(text))
        lacking = self._take_template(message)
        filled: set[int] = set()
        fault = self._take_form(message, filled)
        for phrase in self.phrases:
            _take_all(phrase, message)
        self._take_courtesies(message)
        known = [*self.facts, *self.may, *(Fact(field.value) for field in self.form)]
        heard = hear(message, known)
        if fault := fault or heard.fault or self._excess(message.units, capitals_of(text)):
            return Review(fault)
        lacking += [str(f) for n, f in enumerate(self.facts) if n not in heard.said]
        for number, field in enumerate(self.form):
            if number not in filled and len(known) - len(self.form) + number not in heard.said:
                lacking.append(f"{field.labels[0]}: {field.value}")
        return Review("", tuple(lacking))

    def _with_ids(self, text: str) -> str:
        """Write every expected id in one form: "PO 2026-0184" becomes "po-20260184"."""
        text = plain(text)
        for prefix, digits in self.ids:
            parts = "[/-]?".join(digits)
            text = re.sub(rf"\b{prefix}[ _./#-]{{0,2}}{parts}\b", f"{prefix}-{digits}", text)
        return text

    def _take_template(self, message: Message) -> list[str]:
        """Account for the sentences of the template and return the missing ones."""
        light = words().light
        lacking = []
        for shown, parts in self.template:
            said = self._sentence(Wanted(shown, (parts,)), _open(message))
            if not said:
                lacking.append(repr(shown[:_SHOWN]))
                continue
            if "?" not in shown and _is_asked(message, said):
                lacking.append(repr(shown[:_SHOWN]))
                continue
            for token in said:
                token.taken = True
        if self.template:
            # A light word belongs to the sentence in which it stands.
            for unit in message.units:
                if all(t.figure is None and t.stem in light for t in unit.left):
                    for token in unit.left:
                        token.taken = True
        return lacking

    def _sentence(self, sentence: Wanted, tokens: Sequence[Token]) -> Sequence[Token]:
        """Return the tokens that say a sentence of the template; empty if it is missing.

        The sentence may also contain words that the rubric allows beside the template.
        """
        strict = [t for t in tokens if t.figure is not None or t.stem not in self.own]
        for some in (tokens, strict):
            if spans := sentence.spans(some):
                return some[spans[0][0] : spans[0][1]]
        return ()

    def _take_form(self, message: Message, filled: set[int]) -> str:
        """Account for the lines of the form and return the first with a wrong value."""
        for label, value in list(_labelled(message, self.form)):
            meant = [n for n, f in enumerate(self.form) if f.is_called(label)]
            right = [n for n in meant if self.form[n].value.is_all_of(value)]
            if not right:
                said, field = " ".join(t.text for t in value)[:_SHOWN], self.form[meant[0]]
                return f"{field.labels[0]}: says {said!r}, expected {field.value}"
            filled.update(right)
            for token in (*label, *value):
                token.taken = True
        return ""

    def _take_courtesies(self, message: Message) -> None:
        for number, unit in enumerate(message.units):
            edge = number < 2 or number >= len(message.units) - 4
            for segment in list(unit.segments()):
                self.courtesy.take(segment, edge=edge)

    def _excess(self, units: Sequence[Unit], capitals: frozenset[str]) -> str:
        may_use = self.words | words().function | words().report
        is_fixed = bool(self.template or self.form)
        for unit in units:
            for place in deeds(unit, words().deeds):
                token = unit.tokens[place]
                listed = token.text in self.surface and token.stem not in words().told
                if not listed and stance(unit, place) == "said":
                    return f"tells that something was {token.text}: {unit.text[:_SHOWN]!r}"
            if person := self._person(unit):
                return f"says something of {person!r}: {unit.text[:_SHOWN]!r}"
            take_beside(unit, self.words, self.people, capitals, is_fixed=is_fixed)
            left = unit.left
            for token in left:
                if token.figure is not None:
                    return f"says {token.text!r}, which it may not: {unit.text[:_SHOWN]!r}"
                if token.text in NEGATIONS and token.stem not in self.words:
                    return f"denies something: {unit.text[:_SHOWN]!r}"
                if token.text == "can" and self._may_do(unit, token):
                    continue
                if token.stem not in may_use:
                    return (
                        f"says {token.text!r}, which nothing accounts for: {unit.text[:_SHOWN]!r}"
                    )
            if "?" in unit.text and left and not unit.may_ask:
                return f"asks something: {unit.text[:_SHOWN]!r}"
        return ""

    def _person(self, unit: Unit) -> str:
        """Return the person of whom a sentence tells more than the facts: "Ada has it already"."""
        before = ""
        for name, verb in itertools.pairwise(unit.tokens):
            told = name.stem in self.people and before not in _OF_WHOM and verb.text in _TELLING
            if told and not (name.taken or verb.taken) and name.segment == verb.segment:
                return name.text
            before = name.text
        return ""

    def _may_do(self, unit: Unit, token: Token) -> bool:
        """Return whether "can" refers to reader or writer: "the numbers you can pass on"."""
        place = unit.tokens.index(token)
        return place > 0 and unit.tokens[place - 1].text in ("you", "i", "we")


def account(
    *,
    template: str = "",
    form: Mapping[str, object] | None = None,
    facts_: object = (),
    may: object = (),
    topics: Sequence[str] = (),
    words_: Sequence[str] = (),
    names: Sequence[str] = (),
    most_chars: int = 3000,
) -> Account:
    """Read the requirements of a rubric for a message.

    Args:
        template: The text, slots filled.
        form: Value by label; a label may list others behind ``|``.
        facts_: Facts that the message must state.
        may: Facts or phrases that the message may contain.
        topics: Named lists of words that the message may use.
        words_: Further words that the message may use.
        names: People whom the message may greet and who may sign it.
        most_chars: Greatest length in characters; a longer message fails.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    for name, given in (("topics", topics), ("words", words_), ("names", names)):
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise VerifierError(f"{name}: expected a list of texts, got {given!r}")
    if (
        isinstance(most_chars, bool)
        or not isinstance(most_chars, int)
        or not 1 <= most_chars <= MOST_CHARS
    ):
        raise VerifierError(f"most_chars: expected 1 to {MOST_CHARS}, got {most_chars!r}")
    if not isinstance(template, str) or not isinstance(form or {}, Mapping):
        raise VerifierError("expected template as a text and form as a table")
    courtesy = Courtesy(names)
    sentences = _template(template, courtesy)
    fields = [_field(label, value) for label, value in (form or {}).items()]
    wanted_facts = facts("facts", facts_)
    if not (sentences or fields or wanted_facts):
        raise VerifierError("expected a template, a form or facts; got none of them")
    if isinstance(may, (str, Mapping)) or not isinstance(may, Sequence):
        raise VerifierError(f"may: expected a list of facts and phrases, got {may!r}")
    phrases = [wanted("may", one) for one in may if isinstance(one, str)]
    single = [one for phrase in phrases if _is_word(phrase) for one in _stems(phrase)]
    single_texts = [one for one in may if isinstance(one, str)]
    labels = [w for f in fields for one in f.labels for w in _stems(one)]
    licensed = [wanted("words", one) for one in words_ if find_figures(plain(one))]
    may_facts = facts("may", [one for one in may if not isinstance(one, str)])
    known = [f.value for f in (*wanted_facts, *may_facts)]
    known += [f.about for f in (*wanted_facts, *may_facts) if f.about]
    known += [*phrases, *(field.value for field in fields)]
    spellings = [parts for _, parts in sentences] + [p for one in known for p in one.spellings]
    listed = topic_words(topics, [*words_, *names])
    if days := [value for kind, value in _readings(spellings) if kind == "date"]:
        listed -= stems(set(WEEKDAYS) - set(weekdays_of(days))) - topic_words((), words_)
    return Account(
        sentences,
        fields,
        wanted_facts,
        [*may_facts, *map(Fact, licensed)],
        sorted((p for p in phrases if not _is_word(p)), key=_width, reverse=True),
        listed | frozenset(labels) | frozenset(single),
        topic_words((), words_),
        stems(names),
        _surface(topics, words_, single_texts),
        courtesy,
        most_chars,
        frozenset(_ids(spellings)),
    )


def _surface(topics: Sequence[str], *some: Sequence[str]) -> frozenset[str]:
    """Return words as they are written: a licence for "refund" does not cover "refunded"."""
    listed = [word for name in topics for word in words().topic_forms[name]]
    given = [word for texts in some for text in texts for word in plain(text).split()]
    return frozenset((*listed, *given))


def _readings(spellings: Sequence[Sequence[Part]]) -> Iterator[Reading]:
    for parts in spellings:
        for part in parts:
            yield from () if isinstance(part, str) else part


def _ids(spellings: Sequence[Sequence[Part]]) -> Iterator[tuple[str, str]]:
    for kind, value in _readings(spellings):
        if kind == "id" and (found := re.fullmatch(r"([a-z]{1,20})(\d{2,20})", value)):
            yield found[1], found[2]


def _template(text: str, courtesy: Courtesy) -> list[tuple[str, tuple[Part, ...]]]:
    """Return the sentences of a template without its greeting and closing, which may differ."""
    message = read_message(text)
    for number, unit in enumerate(message.units):
        edge = number < 2 or number >= len(message.units) - 4
        for segment in list(unit.segments()):
            courtesy.take(segment, edge=edge)
    light = words().light
    found = []
    for unit in message.units:
        heavy = [t for t in unit.left if t.figure is not None or t.stem not in light]
        if heavy:
            parts = tuple(t.stem if t.figure is None else t.figure.readings for t in heavy)
            found.append((unit.text, parts))
    return found


def _field(label: str, value: object) -> Field:
    labels = tuple(wanted("form", one.strip()) for one in label.split("|") if one.strip())
    if not labels:
        raise VerifierError(f"form: expected a label, got {label!r}")
    return Field(labels, wanted(f"form.{label}", value))


def _labelled(message: Message, form: Sequence[Field]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Yield each label of a form with the tokens behind it.

    A label is a whole segment; its value reaches to the next label, or is the next line.
    """
    units = message.units
    for number, unit in enumerate(units):
        segments = list(unit.segments())
        places = [
            place
            for place, segment in enumerate(segments)
            if any(field.is_called(segment) for field in form)
        ]
        for here, after in itertools.pairwise([*places, len(segments)]):
            value = [token for segment in segments[here + 1 : after] for token in segment]
            if not value and here == len(segments) - 1 and number + 1 < len(units):
                value = units[number + 1].left
            if value:
                yield segments[here], value


def _is_asked(message: Message, tokens: Sequence[Token]) -> bool:
    """Return whether some tokens stand in a question."""
    some = {id(token) for token in tokens}
    return any("?" in u.text and any(id(t) in some for t in u.tokens) for u in message.units)


def _open(message: Message) -> list[Token]:
    return [token for token in message.tokens() if not token.taken]


def _take_all(phrase: Wanted, message: Message) -> None:
    tokens = _open(message)
    for start, end in phrase.spans(tokens):
        for token in tokens[start:end]:
            token.taken = True


def _is_word(one: Wanted) -> bool:
    return all(len(parts) == 1 and isinstance(parts[0], str) for parts in one.spellings)


def _width(one: Wanted) -> int:
    return max(map(len, one.spellings))


def _stems(one: Wanted) -> list[str]:
    return [part for parts in one.spellings for part in parts if isinstance(part, str)]
