"""Learning from data sets before any episode is played: supervised fine-tuning and DPO.

- Supervised: the mean negative log-probability of the trained tokens, ``-sum_t w_t log pi(a_t |
  s_t)``, with the weights of `agentgym.train.losses.token_weights`; behaviour cloning (Pomerleau
  1991).
- Preferences: `agentgym.train.losses.dpo` with the policy before this stage as the reference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import torch
from torch import Tensor

from agentgym.errors import ConfigError
from agentgym.protocols.training import CausalModel
from agentgym.train.datasets.encoding import vocabulary_digest
from agentgym.train.datasets.native import PAIRS, SEQUENCES, TokenEpisode, TokenSet, read_tokens
from agentgym.train.logits import token_statistics
from agentgym.train.losses import Weighting, dpo, token_weights
from agentgym.train.optimizer import Optimizer
from agentgym.train.packing import pack
from agentgym.train.samples import TokenSequence
from agentgym.train.stages import PreferenceConfig, SupervisedConfig

T = TypeVar("T")

_AT_ONCE: Final = 64
"""Episodes or pairs that are computed at once without gradients."""


@dataclass(frozen=True)
class Bounds:
    """The limits within which sequences are computed.

    Attributes:
        context: Largest number of tokens of a sequence.
        row_tokens: Tokens of a packed row.
        rows: Packed rows that are computed at once.
        temperature: The temperature at which the policy samples.
        gradient_norm: Largest norm of a gradient.
    """

    context: int
    row_tokens: int
    rows: int = 32
    temperature: float = 1.0
    gradient_norm: float = 1.0


def load_data(
    path: str,
    vocabulary: Sequence[str] | None,
    bounds: Bounds,
    *,
    tokens: int,
    pairs: bool,
) -> TokenSet:
    """Read a data set and check that a policy can learn from it.

    Args:
        path: The file.
        vocabulary: The text of each token of the policy, None if it is not known.
        bounds: The limits on sequences.
        tokens: Number of tokens that the policy knows.
        pairs: Whether it holds preference pairs.

    Raises:
        RecordError: It is missing or damaged.
        ConfigError: It was made for another vocabulary, a sequence is too long, or an episode has
            no token to learn from.
    """
    data = read_tokens(Path(path), PAIRS if pairs else SEQUENCES)
    known = "" if vocabulary is None else vocabulary_digest(vocabulary)
    if data.vocabulary and data.vocabulary != known:
        raise ConfigError(
            f"{path}: its calls were encoded by another vocabulary; make it again with the "
            "--template of this configuration"
        )
    longest = min(bounds.context, bounds.row_tokens)
    if not data.episodes:
        raise ConfigError(f"{path}: it holds nothing to learn from")
    for episode in data.episodes:
        if not any(any(sequence.mask) for sequence in episode.tokens.sequences):
            raise ConfigError(
                f"{path}: no token of the episode of {episode.origin['task']!r:.200} with seed "
                f"{episode.origin['seed']} is to be learnt"
            )
        for sequence in episode.tokens.sequences:
            if len(sequence.ids) > longest:
                raise ConfigError(
                    f"{path}: a sequence has {len(sequence.ids)} tokens, but policy.context and "
                    f"algorithm.row_tokens allow {longest}"
                )
            if max(sequence.ids) >= tokens:
                raise ConfigError(
                    f"{path}: token {max(sequence.ids)} is not in the policy's vocabulary of "
                    f"{tokens} tokens"
                )
    return data


def fit_supervised(
    model: CausalModel,
    episodes: Sequence[TokenEpisode],
    config: SupervisedConfig,
    bounds: Bounds,
    *,
    seed: int,
) -> dict[str, float]:
    """Raise the probability of recorded completions.

    Args:
        model: The policy; a `torch.nn.Module`.
        episodes: Recorded episodes; at least one.
        config: How to learn.
        bounds: The limits on sequences.
        seed: Seed of the order.

    Returns:
        ``supervised_nll_before`` and ``supervised_nll``, nats a token over all episodes.
    """
    optimizer = Optimizer(model.parameters(), config.learning_rate)
    before = _mean_nll(model, episodes, config.weighting, bounds)
    for epoch in range(config.epochs):
        for chosen in _batches(episodes, config.batch, f"{seed} supervised {epoch}"):
            for loss in _nll_parts(model, chosen, config.weighting, bounds):
                optimizer.backward(loss)
            optimizer.step(bounds.gradient_norm)
    after = _mean_nll(model, episodes, config.weighting, bounds)
    return {"supervised_nll_before": round(before, 6), "supervised_nll": round(after, 6)}


def fit_preferences(
    model: CausalModel,
    pairs: Sequence[TokenEpisode],
    config: PreferenceConfig,
    bounds: Bounds,
    *,
    seed: int,
) -> dict[str, float]:
    """Prefer the chosen completion of each pair to the rejected one.

    Args:
        model: The policy, which is also the reference as it is now.
        pairs: Pairs; each has two sequences, the chosen one first. At least one.
        config: How to learn.
        bounds: The limits on sequences.
        seed: Seed of the order.

    Returns:
        ``preference_loss``, ``preference_margin`` (the mean difference of implicit rewards of the
        recorded pairs, 0 before) and ``preference_accuracy`` (the share with a margin above 0).
    """
    draws = random.Random(f"{seed} preferences shuffled")
    swapped = [config.shuffle and draws.random() < 0.5 for _ in pairs]
    reference = _all_pair_logprobs(model, pairs, bounds)
    optimizer = Optimizer(model.parameters(), config.learning_rate)
    for epoch in range(config.epochs):
        order = range(len(pairs))
        for chosen in _batches(order, config.batch, f"{seed} preferences {epoch}"):
            for part in _fitting(chosen, lambda index: pairs[index].tokens.sequences, bounds):
                own = _pair_logprobs(model, [pairs[index] for index in part], bounds)
                held = reference[list(part)]
                turned = torch.tensor([swapped[index] for index in part])[:, None]
                own, held = (torch.where(turned, each.flip(1), each) for each in (own, held))
                told = (*own.unbind(1), *held.unbind(1))
                loss = dpo(*told, beta=config.beta, smoothing=config.smoothing)
                optimizer.backward(loss.values.mean() * (len(part) / len(chosen)))
            optimizer.step(bounds.gradient_norm)
    own = _all_pair_logprobs(model, pairs, bounds)
    last = dpo(*own.unbind(1), *reference.unbind(1), beta=config.beta, smoothing=config.smoothing)
    return {
        "preference_loss": round(float(last.values.mean()), 6),
        "preference_margin": round(float(last.margins.mean()), 6),
        "preference_accuracy": round(float((last.margins > 0).float().mean()), 6),
    }


def token_logprobs(
    model: CausalModel, sequences: Sequence[TokenSequence], bounds: Bounds
) -> Tensor:
    """Return the log-probability of each token, sequence by sequence: ``float32[N]``.

    The first token of a sequence has 0: nothing comes before it.
    """
    packed = pack([sequence.ids for sequence in sequences], bounds.row_tokens)
    logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
    ids, segments = packed.unpacked(packed.ids), packed.unpacked(packed.segments)
    told = ids[1:].to(logits.device)
    own = token_statistics(logits[:-1], told, bounds.temperature)[0].cpu()
    own = torch.where(segments[1:] == segments[:-1], own, 0.0)
    return torch.cat([own.new_zeros(1), own])


def _nll_parts(
    model: CausalModel, episodes: Sequence[TokenEpisode], weighting: Weighting, bounds: Bounds
) -> Iterator[Tensor]:
    """Yield losses of a bounded number of rows each, whose sum is that of the episodes."""
    sequences = [one for episode in episodes for one in episode.tokens.sequences]
    owners = [n for n, each in enumerate(episodes) for _ in each.tokens.sequences]
    lengths = [len(sequence.ids) for sequence in sequences]
    mask = torch.tensor([counts for sequence in sequences for counts in sequence.mask])
    owner = torch.tensor(owners).repeat_interleave(torch.tensor(lengths))
    weights = torch.split(token_weights(mask, owner, weighting), lengths)
    for part in _fitting(range(len(sequences)), lambda index: (sequences[index],), bounds):
        values = token_logprobs(model, [sequences[index] for index in part], bounds)
        yield -(torch.cat([weights[index] for index in part]) * values).sum()


def _fitting(
    items: Sequence[T], sequences: Callable[[T], Sequence[TokenSequence]], bounds: Bounds
) -> Iterator[Sequence[T]]:
    """Yield the items in order, so many at a time as fit into `Bounds.rows`, and at least one.

    Args:
        items: The items.
        sequences: Returns the sequences of an item.
        bounds: The limits on sequences.
    """
    ids = [one.ids for item in items for one in sequences(item)]
    if len(items) == 1 or len(pack(ids, bounds.row_tokens).ids) <= bounds.rows:
        yield items
        return
    half = len(items) // 2
    yield from _fitting(items[:half], sequences, bounds)
    yield from _fitting(items[half:], sequences, bounds)


@torch.no_grad()
def _mean_nll(
    model: CausalModel, episodes: Sequence[TokenEpisode], weighting: Weighting, bounds: Bounds
) -> float:
    """Return the loss over all episodes, a bounded number at a time."""
    parts = [episodes[n : n + _AT_ONCE] for n in range(0, len(episodes), _AT_ONCE)]
    losses = [
        sum(float(loss) for loss in _nll_parts(model, part, weighting, bounds)) * len(part)
        for part in parts
    ]
    return sum(losses) / len(episodes)


@torch.no_grad()
def _all_pair_logprobs(model: CausalModel, pairs: Sequence[TokenEpisode], bounds: Bounds) -> Tensor:
    """Return the log-probabilities of all pairs, a bounded number at a time: ``float32[P, 2]``."""
    parts = [pairs[n : n + _AT_ONCE] for n in range(0, len(pairs), _AT_ONCE)]
    fitting = [
        each
        for part in parts
        for each in _fitting(part, lambda pair: pair.tokens.sequences, bounds)
    ]
    return torch.cat([_pair_logprobs(model, each, bounds) for each in fitting])


def _pair_logprobs(model: CausalModel, pairs: Sequence[TokenEpisode], bounds: Bounds) -> Tensor:
    """Return the log-probabilities of both completions of each pair: ``float32[P, 2]``."""
    sequences = [one for pair in pairs for one in pair.tokens.sequences]
    lengths = torch.tensor([len(sequence.ids) for sequence in sequences])
    mask = torch.tensor([counts for sequence in sequences for counts in sequence.mask])
    values = torch.where(mask, token_logprobs(model, sequences, bounds), 0.0)
    owners = torch.arange(len(sequences)).repeat_interleave(lengths)
    return values.new_zeros(len(sequences)).index_add(0, owners, values).view(-1, 2)


def _batches(items: Sequence[T], size: int, seed: str) -> Iterator[list[Any]]:
    """Yield all items in a drawn order, some at a time."""
    order = list(items)
    random.Random(seed).shuffle(order)
    for first in range(0, len(order), size):
        yield order[first : first + size]
