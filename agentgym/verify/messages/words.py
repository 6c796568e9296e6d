"""The closed lists of ``words.toml``: function words, courtesies, commitments."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from agentgym.verify.messages.units import Token, read_message, stem

_FILE: Final = "words.toml"
_COUNT: Final = "#"
"""Stands for a small number in the patterns of courtesies: "two quick questions"."""
_LISTED: Final = re.compile(r"[^\W\d_]+")
_MOST_TOKENS: Final = 30
_MOST_AMBIGUOUS: Final = 8
"""Tokens of a courtesy that are words of the list and names, too, as "Mr" of "Mr Holm": a search
tries both readings of each, in all combinations."""


@dataclass(frozen=True, slots=True)
class Words:
    """The lists, as stems.

    Attributes:
        function: Words without a meaning of their own.
        light: Words that do not change the meaning of a sentence.
        courtesy: Patterns of whole segments by their kind.
        commitments: Phrases by the name of their set.
        deeds: Verbs of deeds that an agent may claim.
        harmless: Verbs that senders may always use of themselves.
        stance: Lists that `claims` uses to read a sentence, by name.
    """

    function: frozenset[str]
    light: frozenset[str]
    courtesy: Mapping[str, Sequence[str]]
    commitments: Mapping[str, Sequence[str]]
    deeds: frozenset[str]
    harmless: frozenset[str]
    stance: Mapping[str, Sequence[str]]


@lru_cache(maxsize=1)
def words() -> Words:
    """Return the lists that come with agentgym."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    lists: Mapping[str, Any] = tomllib.loads(text)
    return Words(
        stems(lists["function"].split()),
        stems(lists["light"].split()),
        lists["courtesy"],
        lists["commitments"],
        stems(f"{lists['deeds']['done']} {lists['deeds']['told']}".split()),
        stems(lists["deeds"]["harmless"].split()),
        lists["stance"],
    )


def stems(some: Iterable[str]) -> frozenset[str]:
    """Return the stems of words; each part of a hyphenated word has its own stem."""
    return frozenset(one for word in some for one in phrase_stems(word))


def phrase_stems(phrase: str) -> tuple[str, ...]:
    """Return the stems of a phrase; figures in it are left out."""
    return tuple(t.stem for unit in read_message(phrase).units for t in unit.tokens if t.stem)


class Courtesy:
    """Recognises greetings, thanks, offers and closings: a closed list.

    Args:
        names: People who may be greeted or sign; each word of a name counts alone.
    """

    def __init__(self, names: Iterable[str]) -> None:
        parts = {re.escape(one) for name in names for one in phrase_stems(name)}
        name = f"(?:{'|'.join(sorted(parts))})" if parts else "(?!)"
        known = words().courtesy
        listed = [_stemmed(one) for some in known.values() for one in some]
        self._ambiguous = parts & {word for one in listed for word in _LISTED.findall(one)}
        patterns = [one.replace("{name}", name) for one in listed]
        one = "|".join(f"(?:{pattern})" for pattern in patterns)
        # One or two courtesies. The list is long, so the pattern has it only once.
        self._pattern = re.compile(rf"(?:(?:\Aand |\A| and )(?:{one})){{1,2}}")
        self._only_names = re.compile(rf"{name}(?: {name})*")

    def take(self, segment: Sequence[Token], *, edge: bool) -> bool:
        """Account for a segment if it is a courtesy as a whole.

        Args:
            segment: Tokens between two signs.
            edge: Whether it is the first or last segment, where a name alone greets or signs.
        """
        if len(segment) > _MOST_TOKENS or (
            sum(token.stem in self._ambiguous for token in segment) > _MOST_AMBIGUOUS
        ):
            return False
        if not all(t.figure is None or t.figure.is_count for t in segment):
            return False
        said = " ".join(_COUNT if token.figure else token.stem for token in segment)
        if self._pattern.fullmatch(said) is None:
            return False
        if not edge and self._only_names.fullmatch(said):
            return False
        for token in segment:
            token.taken = True
        return True


def _stemmed(pattern: str) -> str:
    """Return a pattern of words as a pattern of stems."""
    return re.sub(r"(?<![\\{])\b[a-z]{2,}\b", lambda m: stem(m[0]), pattern)
