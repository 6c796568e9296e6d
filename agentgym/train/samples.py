"""Token sequences to train on, built from the generations of an episode.

Prompts that continue each other become one sequence, so that a shared prefix is trained once. Where
a prompt does not continue the one before (a context that was cut, a template that changed an
earlier turn) a new sequence begins, and the break is counted: nothing is encoded anew.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from agentgym.errors import RecordError
from agentgym.records import Generation, Image

if TYPE_CHECKING:
    from agentgym.train.models.pictures import PictureTable, ShownTokens

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(eq=False)
class TokenSequence:
    """Tokens with what is known of those that the policy sampled.

    Attributes:
        ids: All tokens.
        mask: For each token, whether the policy sampled it and the loss counts it.
        logprobs: For each token its log-probability when it was sampled; 0 where `mask` is False.
        completions: For each token the number of the completion it belongs to; -1 where `mask` is
            False.
        pictures: What the placeholders that it read mean, in order.
    """

    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    completions: list[int] = field(default_factory=list)
    pictures: list[Image] = field(default_factory=list)

    def _read(self, ids: Sequence[int]) -> None:
        self.ids += ids
        self.mask += [False] * len(ids)
        self.logprobs += [0.0] * len(ids)
        self.completions += [-1] * len(ids)


@dataclass(frozen=True)
class EpisodeTokens:
    """The sequences of one episode.

    Attributes:
        sequences: In order; one, if every prompt continues the one before.
        breaks: Prompts that did not.
        oldest: The first policy version that sampled for it, None if no version is a number.
    """

    sequences: tuple[TokenSequence, ...]
    breaks: int
    oldest: int | None

    def completions(self) -> Iterator[list[int]]:
        """Yield the tokens of each completion that the loss counts."""
        for sequence in self.sequences:
            numbered = zip(sequence.completions, sequence.ids, strict=True)
            for number, tokens in itertools.groupby(numbered, key=lambda pair: pair[0]):
                if number >= 0:
                    yield [token for _, token in tokens]


def episode_tokens(
    generations: Iterable[tuple[int, Generation]], *, unknown_logprobs: bool = False
) -> EpisodeTokens:
    """Build the sequences of an episode.

    Args:
        generations: Each with its number, in the order they were sampled; rejected ones as well,
            because the policy sampled them.
        unknown_logprobs: Whether log-probabilities may be unknown; they become NaN.

    Raises:
        RecordError: A generation lacks its tokens or log-probabilities.
    """
    sequences: list[TokenSequence] = []
    versions = []
    for number, generation in generations:
        tokens = generation.tokens
        logprobs = tokens.logprobs
        if logprobs is None and unknown_logprobs and tokens.completion_ids is not None:
            logprobs = np.full(len(tokens.completion_ids), np.nan, np.float32)
        if tokens.prompt_ids is None or tokens.completion_ids is None or logprobs is None:
            raise RecordError(
                f"completion {number} has no token ids and log-probabilities to train on; "
                "record with a policy that gives them"
            )
        prompt, ids = tokens.prompt_ids.tolist(), tokens.completion_ids.tolist()
        if not sequences or prompt[: len(sequences[-1].ids)] != sequences[-1].ids:
            sequences.append(TokenSequence())
        sequence = sequences[-1]
        sequence._read(prompt[len(sequence.ids) :])
        mask = [True] * len(ids) if tokens.loss_mask is None else tokens.loss_mask.tolist()
        sequence.ids += ids
        sequence.mask += mask
        sequence.logprobs += [
            logprob if counts else 0.0
            for logprob, counts in zip(logprobs.tolist(), mask, strict=True)
        ]
        sequence.completions += [number if counts else -1 for counts in mask]
        if _NUMBER.fullmatch(generation.policy_version or ""):
            versions.append(int(generation.policy_version or ""))
    breaks = max(len(sequences) - 1, 0)
    return EpisodeTokens(tuple(sequences), breaks, min(versions, default=None))


def read_sequence(sequence: TokenSequence, table: PictureTable) -> ShownTokens:
    """Return a sequence as a model reads it: its placeholders name their pictures.

    A placeholder that the policy sampled stays what it is.

    Args:
        sequence: With its pictures.
        table: The pictures of the model.

    Raises:
        ValueError: It has other placeholders than its pictures need.
    """
    marked = list(zip(sequence.ids, sequence.mask, strict=True))
    shown = table.shown([token for token, own in marked if not own], sequence.pictures)
    read = iter(shown.ids)
    return replace(shown, ids=[token if own else next(read) for token, own in marked])
