"""Tokens of a reply, as far as the server tells them: ids, log-probabilities, its model's version.

OpenAI's API tells log-probabilities if it is asked (``logprobs``). vLLM adds the ids of the prompt
and of the completion (``return_token_ids``), or writes ids in place of the tokens
(``return_tokens_as_token_ids``). What cannot be right is dropped, not guessed: a server's odd
number must not fail the model that it serves.
"""

from __future__ import annotations

from typing import Any, Final

from agentgym.records import TokenTrace
from agentgym.records.generations import MOST_TOKENS

_AS_ID: Final = "token_id:"
_MOST_CHARACTERS: Final = 200


class TokenCollector:
    """Takes down the tokens of one reply, which may come in pieces.

    Attributes:
        version: The model as the server names it, with its fingerprint; None if it does not say.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        self._prompt: list[int] | None = None
        self._ids = _Numbers()
        self._named_ids = _Numbers()
        self._logprobs = _Numbers()

    def add_version(self, model: object, fingerprint: object) -> None:
        """Take down what a body or an event says of its model."""
        words = [word for word in (model, fingerprint) if isinstance(word, str) and word]
        if words and words[0] is model:
            self.version = "@".join(word[:_MOST_CHARACTERS] for word in words)

    def add_prompt(self, ids: object) -> None:
        """Take down the token ids of the prompt."""
        if isinstance(ids, list) and len(ids) <= MOST_TOKENS and self._prompt is None:
            self._prompt = ids

    def add(self, ids: object, logprobs: object) -> None:
        """Take down the next tokens of the completion.

        Args:
            ids: Their ids, None if this piece has none.
            logprobs: The ``logprobs`` object of the choice, None if this piece has none.
        """
        if ids is not None:
            self._ids.extend(ids)
        if logprobs is None:
            return
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        if content is None:
            return
        entries = content if isinstance(content, list) else [None]
        self._logprobs.extend([_field(entry, "logprob") for entry in entries])
        names = [_field(entry, "token") for entry in entries]
        self._named_ids.extend([_id(name) for name in names])

    def trace(self) -> TokenTrace:
        """Return what is known, without the arrays that cannot be right."""
        prompt = _kept("prompt_ids", self._prompt)
        ids = _kept("completion_ids", self._ids.values)
        if ids is None:
            ids = _kept("completion_ids", self._named_ids.values)
        logprobs = _kept("logprobs", self._logprobs.values)
        if ids is not None and logprobs is not None and len(ids) != len(logprobs):
            logprobs = None
        told = ids if ids is not None else logprobs
        mask: Any = None if told is None else [True] * len(told)
        return TokenTrace(prompt, ids, logprobs, mask)


class _Numbers:
    """Numbers that come in pieces; unknown for good once a piece is not a list, or too long."""

    def __init__(self) -> None:
        self.values: list[Any] | None = None
        self._broken = False

    def extend(self, piece: object) -> None:
        if self._broken:
            return
        values = self.values or []
        if not isinstance(piece, list) or len(values) + len(piece) > MOST_TOKENS:
            self.values, self._broken = None, True
            return
        values.extend(piece)
        self.values = values


def _kept(name: str, values: list[Any] | None) -> Any:
    """Return values as the array of a trace, None if they are not valid."""
    if values is None:
        return None
    try:
        given: dict[str, Any] = {name: values}
        return getattr(TokenTrace(**given), name)
    except ValueError:
        return None


def _field(entry: object, name: str) -> object:
    return entry.get(name) if isinstance(entry, dict) else None


def _id(token: object) -> int | None:
    if not isinstance(token, str) or not token.startswith(_AS_ID):
        return None
    digits = token[len(_AS_ID) :]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 11 else None
