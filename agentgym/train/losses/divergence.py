"""Estimates how far the policy has moved from a reference, on its own tokens.

Source: Schulman 2020, "Approximating KL Divergence".
"""

from __future__ import annotations

from enum import StrEnum

from torch import Tensor


class Estimator(StrEnum):
    """Estimators of ``KL(pi || pi_ref)`` on tokens that ``pi`` sampled; ``d = log pi - log ref``.

    As a term of a loss, `K2` has the gradient of the divergence in expectation; that of `K1` is 0
    in expectation, and that of `K3` is the gradient of the divergence the other way round (Tang
    and Munos 2025, "On a few pitfalls in KL divergence gradient estimation for RL").
    """

    K1 = "k1"
    """``d``: without bias, with the largest variance; may be negative."""
    K2 = "k2"
    """``d ** 2 / 2``: biased, with little variance near the reference."""
    K3 = "k3"
    """``exp(-d) - 1 + d``: without bias and never negative."""


def divergence(logprobs: Tensor, reference: Tensor, estimator: Estimator) -> Tensor:
    """Return the estimate for each token.

    Args:
        logprobs: ``float[...]``, of the trained policy.
        reference: The same shape, of the policy to stay near; a constant.
        estimator: Which estimator.

    Returns:
        ``float[...]``, in nats.

    Raises:
        ValueError: The shapes differ.
    """
    if logprobs.shape != reference.shape:
        raise ValueError(f"shapes differ: {tuple(logprobs.shape)} and {tuple(reference.shape)}")
    difference = logprobs - reference.detach()
    if estimator is Estimator.K1:
        return difference
    if estimator is Estimator.K2:
        return difference**2 / 2
    return (-difference).expm1() + difference
