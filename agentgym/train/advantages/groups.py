"""Advantages of whole trajectories within a group: the attempts at one task with one seed.

Every function takes a reward and a group number for each trajectory. A trajectory that is alone in
its group has nothing to be compared with, so its advantage is 0.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from agentgym.train import segments

EPSILON: Final = 1e-6


def grpo(rewards: Tensor, groups: Tensor, *, epsilon: float = EPSILON) -> Tensor:
    """Return ``(R_i - mean(R)) / (std(R) + epsilon)`` for each trajectory.

    Source: Shao et al. 2024, "DeepSeekMath", section 4.1.2 (GRPO, outcome supervision). The
    standard deviation divides by ``G - 1``.

    Args:
        rewards: ``float[N]``, a return for each trajectory.
        groups: ``int64[N]``, the group of each trajectory.
        epsilon: Is added to the standard deviation.

    Returns:
        ``float[N]``; 0 throughout a group whose rewards are equal.

    Raises:
        ValueError: The shapes differ, or a reward is not finite.

    Example:
        >>> grpo(torch.tensor([1.0, 0.0, 0.0, 1.0]), torch.tensor([7, 7, 8, 8])).sign().tolist()
        [1.0, -1.0, -1.0, 1.0]
    """
    centred = dr_grpo(rewards, groups)
    numbers, count = segments.relabelled(groups)
    return centred / (
        segments.deviations(rewards, numbers, count, unbiased=True)[numbers] + epsilon
    )


def dr_grpo(rewards: Tensor, groups: Tensor) -> Tensor:
    """Return ``R_i - mean(R)`` for each trajectory.

    Source: Liu et al. 2025, "Understanding R1-Zero-Like Training" (Dr. GRPO), which drops the
    division by the standard deviation; the matching loss sums over tokens and divides by a
    constant (`agentgym.train.losses.Weighting.CONSTANT`).

    Args:
        rewards: ``float[N]``, a return for each trajectory.
        groups: ``int64[N]``, the group of each trajectory.

    Returns:
        ``float[N]``.

    Raises:
        ValueError: The shapes differ, or a reward is not finite.
    """
    segments.checked(rewards, groups)
    numbers, count = segments.relabelled(groups)
    centred = rewards - segments.means(rewards, numbers, count)[numbers]
    # Rounding may leave a little of nothing, which a division would blow up.
    return torch.where(_all_equal(rewards, numbers, count)[numbers], 0.0, centred)


def rloo(rewards: Tensor, groups: Tensor) -> Tensor:
    """Return ``R_i`` minus the mean reward of the other trajectories of its group.

    Source: Ahmadian et al. 2024, "Back to Basics" (REINFORCE leave-one-out), equation 8.

    Args:
        rewards: ``float[N]``, a return for each trajectory.
        groups: ``int64[N]``, the group of each trajectory.

    Returns:
        ``float[N]``.

    Raises:
        ValueError: The shapes differ, or a reward is not finite.
    """
    centred = dr_grpo(rewards, groups)
    numbers, count = segments.relabelled(groups)
    size = segments.sizes(rewards, numbers, count)[numbers]
    return centred * size / (size - 1).clamp(min=1)


def mc_grpo(rewards: Tensor, groups: Tensor, *, epsilon: float = EPSILON) -> tuple[Tensor, Tensor]:
    """Return median-centred advantages, and which trajectories a loss should count.

    The advantage is ``(R_i - median(R)) / (MAD(R) + epsilon)`` with the median absolute deviation.
    The MAD of rewards of 0 and 1 is 0 as soon as more than half of a group agree; such a group is
    divided by its standard deviation instead.

    Source: Kim 2026, "MC-GRPO" (arXiv 2601.22582). A group of odd size holds its own median: one
    trajectory of that reward is left out of the loss, so sample ``G + 1`` to train on ``G``.

    Args:
        rewards: ``float[N]``, a return for each trajectory.
        groups: ``int64[N]``, the group of each trajectory.
        epsilon: Is added to the deviation.

    Returns:
        ``float[N]``, and ``bool[N]`` that is False for the one pivot of each group of odd size.

    Raises:
        ValueError: The shapes differ, or a reward is not finite.
    """
    segments.checked(rewards, groups)
    numbers, count = segments.relabelled(groups)
    centred = rewards - segments.medians(rewards, numbers, count)[numbers]
    spread = segments.medians(centred.abs(), numbers, count)
    deviation = segments.deviations(rewards, numbers, count, unbiased=True)
    scale = torch.where(spread > 0, spread, deviation)
    advantages = centred / (scale[numbers] + epsilon)
    advantages = torch.where(_all_equal(rewards, numbers, count)[numbers], 0.0, advantages)
    return advantages, ~_pivots(centred, numbers, count)


def _pivots(centred: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return which value is the first of its group of odd size that equals the median."""
    odd = torch.bincount(numbers, minlength=count) % 2 == 1
    candidates = torch.nonzero((centred == 0) & odd[numbers]).flatten()
    first = torch.full((count,), len(centred), device=centred.device)
    first = first.scatter_reduce(0, numbers[candidates], candidates, "amin")
    pivots = torch.zeros_like(centred, dtype=torch.bool)
    pivots[first[first < len(centred)]] = True
    return pivots


def _all_equal(rewards: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return for each group whether its rewards are all the same."""
    lowest = rewards.new_full((count,), torch.inf).scatter_reduce(0, numbers, rewards, "amin")
    highest = rewards.new_full((count,), -torch.inf).scatter_reduce(0, numbers, rewards, "amax")
    return lowest == highest
