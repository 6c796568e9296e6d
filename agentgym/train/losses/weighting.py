"""The weight of each token in a batch.

The weight of a token depends on its trajectory, not on the sample it travels in. A trajectory
whose steps are trained as separate samples counts as much as one that is trained whole.
"""

from __future__ import annotations

from enum import StrEnum

from torch import Tensor

from agentgym.train import segments


class Weighting(StrEnum):
    """The ways to make one number of the losses of tokens."""

    TRAJECTORIES = "trajectories"
    """The mean over trajectories of the mean over their tokens (GRPO, Shao et al. 2024)."""
    TOKENS = "tokens"
    """The mean over all tokens (DAPO, Yu et al. 2025): long trajectories count more."""
    CONSTANT = "constant"
    """The sum over tokens, divided by trajectories times a constant (Dr. GRPO, Liu et al. 2025)."""


def token_weights(
    mask: Tensor, trajectories: Tensor, weighting: Weighting, *, constant: float = 1024.0
) -> Tensor:
    """Return the weight of each token; the loss is the sum of weights times token losses.

    A trajectory none of whose tokens count is left out of the number of trajectories.

    Args:
        mask: ``bool[T]``, True for tokens that the policy sampled and the loss counts.
        trajectories: ``int64[T]``, the trajectory of each token; of the whole batch, so that
            micro-batches sum to the batch.
        weighting: How losses become one number.
        constant: The divisor of `Weighting.CONSTANT`, in tokens: the longest trajectory's.

    Returns:
        ``float32[T]``; sums to 1 but with `Weighting.CONSTANT`, or to 0 if no token counts.

    Raises:
        ValueError: The shapes differ, or `constant` is not positive.
    """
    if mask.shape != trajectories.shape or mask.dim() != 1:
        raise ValueError(
            "expected two vectors of one length, got the shapes "
            f"{tuple(mask.shape)} and {tuple(trajectories.shape)}"
        )
    if constant <= 0:
        raise ValueError(f"constant: expected a number above 0, got {constant}")
    counted = mask.float()
    if weighting is Weighting.TOKENS:
        return counted / counted.sum().clamp(min=1)
    numbers, count = segments.relabelled(trajectories)
    tokens = segments.sums(counted, numbers, count)
    number = (tokens > 0).sum().clamp(min=1)
    if weighting is Weighting.CONSTANT:
        return counted / (number * constant)
    return counted / (number * tokens.clamp(min=1)[numbers])
