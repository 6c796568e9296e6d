"""Measures what a batch of weighted samples is worth, and tempers weights until it is enough.

Source: Kong 1992, "A note on importance sampling using standardized weights".
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

_HALVINGS: Final = 50


def effective_sample_size(log_weights: Tensor) -> float:
    """Return ``(sum w)^2 / sum w^2`` of importance weights, from 1 to their number; 0 for none.

    Args:
        log_weights: ``float[N]``, natural logarithms of the weights; ``-inf`` is a weight of 0.

    Raises:
        ValueError: A logarithm is NaN or ``+inf``.
    """
    if bool(torch.isnan(log_weights).any()) or bool(torch.isposinf(log_weights).any()):
        raise ValueError("log_weights: expected numbers or -inf, got NaN or +inf")
    if not len(log_weights) or bool(torch.isneginf(log_weights).all()):
        return 0.0
    logs = log_weights.double()
    return float(torch.exp(2 * torch.logsumexp(logs, 0) - torch.logsumexp(2 * logs, 0)))


def temper(log_weights: Tensor, share: float) -> tuple[Tensor, float]:
    """Return weights raised to the largest power up to 1 whose effective sample size suffices.

    A power of 0 trusts every sample alike; a power of 1 leaves the weights as they are.

    Args:
        log_weights: ``float[N]``, finite natural logarithms of the weights.
        share: Smallest effective sample size as a share of the samples, from 0 to 1.

    Returns:
        ``float[N]`` weights with the mean 1, and the power.

    Raises:
        ValueError: A logarithm is not finite, or `share` is out of range.
    """
    if not bool(torch.isfinite(log_weights).all()):
        raise ValueError("log_weights: expected finite numbers")
    if not 0 <= share <= 1:
        raise ValueError(f"share: expected a number from 0 to 1, got {share}")
    wanted = share * len(log_weights)
    low, high = 0.0, 1.0
    if effective_sample_size(log_weights) >= wanted:
        low = 1.0
    else:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = effective_sample_size(middle * log_weights) >= wanted
            low, high = (middle, high) if enough else (low, middle)
    return torch.softmax(low * log_weights, 0) * len(log_weights), low
