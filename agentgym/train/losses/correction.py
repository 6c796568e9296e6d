"""Weights that correct for tokens which another program or an older policy sampled.

An inference server and a trainer give one model different probabilities, and data waits while the
policy learns. The ratio ``trained / sampled`` corrects for both; bounded, it does so with less
variance and some bias.
"""

from __future__ import annotations

from enum import StrEnum

import torch
from torch import Tensor

from agentgym.train import segments


class Level(StrEnum):
    """The tokens that one ratio is taken over."""

    TOKEN = "token"
    SEQUENCE = "sequence"
    GEOMETRIC = "geometric"
    """The geometric mean over a sequence's tokens, so that its length does not matter."""


def truncated(
    trained: Tensor,
    sampled: Tensor,
    sequences: Tensor,
    *,
    cap: float = 2.0,
    level: Level = Level.TOKEN,
) -> Tensor:
    """Return ``min(ratio, cap)`` for each token; nothing is backpropagated through it.

    Source: Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL
    Training" (truncated importance sampling).

    Args:
        trained: ``float[T]``, log-probabilities that the trainer computes.
        sampled: ``float[T]``, log-probabilities recorded when the tokens were sampled.
        sequences: ``int64[T]``, the sequence of each token.
        cap: Largest weight, above 0.
        level: What a ratio is taken over.

    Returns:
        ``float[T]``.

    Raises:
        ValueError: The shapes differ, or `cap` is not positive.
    """
    if cap <= 0:
        raise ValueError(f"cap: expected a number above 0, got {cap}")
    return _ratios(trained, sampled, sequences, level).clamp(max=cap)


def masked(
    trained: Tensor,
    sampled: Tensor,
    sequences: Tensor,
    *,
    low: float = 0.5,
    high: float = 2.0,
    level: Level = Level.SEQUENCE,
) -> Tensor:
    """Return the ratio for each token, and 0 where it lies outside ``[low, high]``.

    A sequence, or token, that the trained policy finds too likely or too unlikely is rejected
    whole instead of being pulled back to a bound.

    Sources: Liu et al. 2025, "When Speed Kills Stability" (masked importance sampling); the Ling
    team's "IcePop" for two bounds on tokens.

    Args:
        trained: ``float[T]``, log-probabilities that the trainer computes.
        sampled: ``float[T]``, log-probabilities recorded when the tokens were sampled.
        sequences: ``int64[T]``, the sequence of each token.
        low: Smallest ratio that counts.
        high: Largest ratio that counts.
        level: What a ratio is taken over.

    Returns:
        ``float[T]``.

    Raises:
        ValueError: The shapes differ, or the bounds are not in order.
    """
    if not 0 <= low < high:
        raise ValueError(f"expected 0 <= low < high, got {low} and {high}")
    ratios = _ratios(trained, sampled, sequences, level)
    return torch.where((ratios >= low) & (ratios <= high), ratios, 0.0)


def _ratios(trained: Tensor, sampled: Tensor, sequences: Tensor, level: Level) -> Tensor:
    if not trained.shape == sampled.shape == sequences.shape or trained.dim() != 1:
        shapes = [tuple(each.shape) for each in (trained, sampled, sequences)]
        raise ValueError(f"expected three vectors of one length, got the shapes {shapes}")
    logs = (trained - sampled).detach()
    if level is not Level.TOKEN:
        numbers, count = segments.relabelled(sequences)
        over = segments.means if level is Level.GEOMETRIC else segments.sums
        logs = over(logs, numbers, count)[numbers]
    # A float32 holds exp(88); an infinite weight times 0 would be NaN.
    return logs.clamp(max=80.0).exp()
