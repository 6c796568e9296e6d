"""A closed vocabulary of words for policies that learn from nothing.

A prompt holds the words that the vocabulary knows; every other word is one unknown token. A
completion is one token: each action of the vocabulary stands for a tool call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agentgym.records import Action, Briefing, Observation, ToolSpec

_MARKS: Final = ("<end>", "<unknown>", "<task>", "<seen>", "<act>")
_END, _UNKNOWN, _TASK, _SEEN, _ACT = range(len(_MARKS))
_WORD: Final = re.compile(r"\w+")


class WordTemplate:
    """See the module.

    Args:
        actions: The call of each word that may be sampled.
        words: Further words that prompts may hold.
        seen_words: Largest number of words of an observation that are read.

    Raises:
        ValueError: There is no action, or a word is not one word.

    Attributes:
        vocabulary: The text of each token.
    """

    def __init__(
        self, actions: Mapping[str, Action], words: Sequence[str] = (), *, seen_words: int = 8
    ) -> None:
        if not actions:
            raise ValueError("actions: expected at least one")
        check_words((*actions, *words))
        self.vocabulary = (*_MARKS, *dict.fromkeys((*actions, *words)))
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        self._calls = {self._ids[word]: call for word, call in actions.items()}
        self._seen_words = seen_words

    @property
    def stop_ids(self) -> Sequence[int]:
        """Every token ends a completion."""
        return range(len(self.vocabulary))

    def opening(
        self, briefing: Briefing, observation: Observation, tools: Sequence[ToolSpec]
    ) -> list[int]:
        """Return the words of the instruction."""
        return [_TASK, *self._read(briefing.instruction), _ACT]

    def following(self, observation: Observation, *, stopped: bool) -> list[int]:
        """Return the first words of what the call showed."""
        return [_SEEN, *self._read(observation.text)[: self._seen_words], _ACT]

    def parse(self, completion: Sequence[int], tools: Sequence[ToolSpec]) -> Action:
        """Return the call of the sampled word.

        Raises:
            ValueError: It is no action.
        """
        word = completion[-1] if completion else _END
        if word not in self._calls:
            raise ValueError(f"{self.vocabulary[word]!r} is no action")
        return self._calls[word]

    def drifts(self, completion: Sequence[int]) -> bool:
        """Return False: a word is one token, and a token one word."""
        return False

    def encode(self, action: Action) -> list[int]:
        """Return the word of a call; a `submit` without an answer may also be the end mark.

        Raises:
            ValueError: No word makes this call.
        """
        for word, call in self._calls.items():
            if call == action:
                return [word]
        if action == Action("submit"):
            return [_END]
        raise ValueError(f"no word of the vocabulary makes the call {action.tool}")

    def _read(self, text: str) -> list[int]:
        return [self._ids.get(word.lower(), _UNKNOWN) for word in _WORD.findall(text)]


def check_words(words: Iterable[str]) -> None:
    """Check that each text is one word, which a prompt can hold.

    Raises:
        ValueError: One is not.
    """
    if odd := [word for word in words if not _WORD.fullmatch(word)]:
        raise ValueError(f"expected single words, got {odd[0]!r:.80}")
