"""Protocols of trainable policies: a model over tokens, and the template of its dialogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agentgym.records import Action, Briefing, Observation, ToolSpec

if TYPE_CHECKING:
    from torch import Tensor


class Cache(Protocol):
    """Keys and values of the tokens that a model has read, in a number of rows."""

    def clear(self, row: int) -> None:
        """Forget the tokens of a row."""
        ...

    def length(self, row: int) -> int:
        """Return the number of tokens that a row holds."""
        ...


class CausalModel(Protocol):
    """A causal language model that trains on packed rows and samples from cached ones."""

    @property
    def context(self) -> int:
        """Largest number of tokens of one sequence."""
        ...

    def __call__(self, ids: Tensor, positions: Tensor, segments: Tensor) -> Tensor:
        """Return the logits of the token after each position.

        Args:
            ids: ``int64[B, T]``.
            positions: ``int64[B, T]``, the place of each token in its own sequence.
            segments: ``int64[B, T]``, the sequence of each token; a token sees those before it in
                its sequence only. A negative number is padding.

        Returns:
            ``float[B, T, V]`` on the model's device; the arguments may be on another.
        """
        ...

    def start_cache(self, rows: int) -> Cache:
        """Return an empty cache with a number of rows."""
        ...

    def extend(self, ids: Sequence[Sequence[int]], rows: Sequence[int], cache: Any) -> Tensor:
        """Read more tokens into different rows of a cache.

        Args:
            ids: For each row at least one token.
            rows: Which rows.
            cache: What `start_cache` gave.

        Returns:
            ``float32[len(rows), V]``, the logits of the token after the last one of each row.
        """
        ...

    def parameters(self) -> Iterable[Tensor]:
        """Return the weights that are trained."""
        ...


class SampledTokens(Protocol):
    """Tokens that were sampled."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens, with the one that stopped it."""
        ...

    @property
    def logprobs(self) -> tuple[float, ...]:
        """Their natural log-probabilities under the distribution they were drawn from."""
        ...

    @property
    def finish_reason(self) -> str:
        """``"stop"``, ``"length"`` or ``"context"`` (the dialogue has no room for more)."""
        ...

    @property
    def version(self) -> int:
        """The number of the weights that sampled it."""
        ...


class TokenSampler(Protocol):
    """Samples completions of dialogues: from a model of this process, or from a server."""

    async def generate(
        self,
        dialogue: Any,
        new_ids: Sequence[int],
        *,
        limit: int,
        stop_ids: Sequence[int],
        temperature: float = 1.0,
        seed: int = 0,
    ) -> SampledTokens:
        """Append tokens to a dialogue, then sample until a stop token, the limit or the context.

        Args:
            dialogue: An `agentgym.train.sampling.sampler.Dialogue`, not continued elsewhere.
            new_ids: Tokens to read before sampling; at least one for a new dialogue.
            limit: Largest number of tokens to sample.
            stop_ids: A completion ends with the first of these.
            temperature: 0 takes the likeliest token.
            seed: Seed of this completion's draws.

        Raises:
            ValueError: There is nothing to read, or `limit` or `temperature` is out of range.
        """
        ...

    def end(self, dialogue: Any) -> None:
        """Free what a dialogue holds; it may be continued."""
        ...


class DialogueTemplate(Protocol):
    """Turns an episode into tokens by appending, and completions into tool calls.

    A sampled token is never decoded and encoded again: what a model reads in a later turn are the
    ids that it sampled, followed by the ids that this template appends.
    """

    @property
    def stop_ids(self) -> Sequence[int]:
        """Tokens that end a completion."""
        ...

    def opening(
        self, briefing: Briefing, observation: Observation, tools: Sequence[ToolSpec]
    ) -> list[int]:
        """Return the tokens before the first completion."""
        ...

    def following(self, observation: Observation, *, stopped: bool) -> list[int]:
        """Return the tokens after a completion, up to the next one.

        Args:
            observation: What the call led to.
            stopped: Whether the completion ends with one of `stop_ids`; if not, the tokens that
                end it come first.
        """
        ...

    def parse(self, completion: Sequence[int], tools: Sequence[ToolSpec]) -> Action:
        """Return the call that a completion makes.

        Raises:
            ValueError: It makes no usable call; the message says why.
        """
        ...

    def drifts(self, completion: Sequence[int]) -> bool:
        """Return whether the text of a completion, encoded anew, has other tokens."""
        ...


class EncodingTemplate(DialogueTemplate, Protocol):
    """A template that also writes the completion of a given call, for calls of other agents."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The text of each token."""
        ...

    def encode(self, action: Action) -> list[int]:
        """Return the tokens of a completion that makes a call.

        Raises:
            ValueError: No completion makes it; the message says why.
        """
        ...
