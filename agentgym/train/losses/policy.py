"""Surrogate losses of policy gradients, a value for each sampled token.

Multiply a value by its weight (`agentgym.train.losses.token_weights`) and sum to get the loss.
Log-probabilities of other policies than the trained one are constants: nothing is backpropagated
through them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenLoss:
    """A loss by token.

    Attributes:
        values: ``float[...]``, to be minimised.
        ratio: ``float[...]``, the probability of the trained policy over the proximal one;
            detached.
        held: ``bool[...]``, True where the bounds hold the token, so it has no gradient.
    """

    values: Tensor
    ratio: Tensor
    held: Tensor


def clipped(
    logprobs: Tensor,
    proximal: Tensor,
    advantages: Tensor,
    *,
    low: float = 0.2,
    high: float = 0.2,
    dual: float | None = None,
) -> TokenLoss:
    """Return ``-min(r * A, clip(r, 1 - low, 1 + high) * A)`` with ``r = pi / pi_proximal``.

    With `dual`, the objective of a token with a negative advantage is at least ``dual * A``.

    Sources: Schulman et al. 2017, "Proximal Policy Optimization Algorithms", equation 7; a `high`
    above `low` is "clip-higher" of Yu et al. 2025 (DAPO); `dual` is Ye et al. 2020, "Mastering
    Complex Control in MOBA Games", equation 5 (dual clip).

    Args:
        logprobs: ``float[...]``, of the trained policy.
        proximal: The same shape, of the policy that the bounds are around.
        advantages: The same shape, or one that broadcasts to it.
        low: Bound below 1, from 0 to 1.
        high: Bound above 1, at least 0.
        dual: Above 1, or None for no bound on tokens with negative advantages.

    Raises:
        ValueError: A bound is out of range, or the shapes differ.
    """
    _checked(logprobs, proximal, low, high)
    if dual is not None and dual <= 1:
        raise ValueError(f"dual: expected a number above 1, got {dual}")
    advantages = advantages.detach()
    ratio = torch.exp(logprobs - proximal.detach())
    free, bound = ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages
    objective = torch.minimum(free, bound)
    held = bound < free
    if dual is not None:
        least = dual * advantages
        below = (advantages < 0) & (objective < least)
        objective, held = torch.where(below, least.expand_as(objective), objective), held | below
    return TokenLoss(-objective, ratio.detach(), held)


def decoupled(
    logprobs: Tensor,
    proximal: Tensor,
    behaviour: Tensor,
    advantages: Tensor,
    *,
    low: float = 0.2,
    high: float = 0.2,
    cap: float | None = None,
) -> TokenLoss:
    """Return the clipped loss around `proximal`, weighted by ``pi_proximal / pi_behaviour``.

    The weight corrects for the policy that sampled the data; the bounds hold the update near a
    recent policy. With ``proximal`` equal to ``behaviour`` it is the clipped loss.

    Sources: Hilton et al. 2022, "Batch size-invariance for policy optimization", equation 3;
    Fu et al. 2025, "AReaL", equation 5, for language models.

    Args:
        logprobs: ``float[...]``, of the trained policy.
        proximal: The same shape, of the recent policy.
        behaviour: The same shape, of the policy that sampled.
        advantages: The same shape, or one that broadcasts to it.
        low: Bound below 1.
        high: Bound above 1.
        cap: Largest weight; None for no limit.

    Raises:
        ValueError: A bound is out of range, or the shapes differ.
    """
    if behaviour.shape != proximal.shape:
        raise ValueError(f"shapes differ: {tuple(behaviour.shape)}, {tuple(proximal.shape)}")
    if cap is not None and cap <= 0:
        raise ValueError(f"cap: expected a number above 0, got {cap}")
    loss = clipped(logprobs, proximal, advantages, low=low, high=high)
    weight = torch.exp(proximal.detach() - behaviour.detach())
    weight = weight if cap is None else weight.clamp(max=cap)
    return TokenLoss(weight * loss.values, loss.ratio, loss.held)


def _checked(logprobs: Tensor, proximal: Tensor, low: float, high: float) -> None:
    if logprobs.shape != proximal.shape:
        raise ValueError(f"shapes differ: {tuple(logprobs.shape)} and {tuple(proximal.shape)}")
    if not 0 <= low <= 1:
        raise ValueError(f"low: expected a number from 0 to 1, got {low}")
    if high < 0:
        raise ValueError(f"high: expected a number of at least 0, got {high}")
