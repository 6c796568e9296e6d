"""Advantages of steps among all steps that were taken from the same state (GiGPO).

Source: Feng et al. 2025, "Group-in-Group Policy Optimization for LLM Agent Training"
(arXiv 2505.10978).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from agentgym.train.advantages.groups import EPSILON, dr_grpo, grpo


def gigpo_step(
    step_returns: Tensor,
    groups: Tensor,
    states: Sequence[Hashable],
    *,
    normalise: bool = True,
    epsilon: float = EPSILON,
) -> Tensor:
    """Return the advantage of each step among the steps of its group that share its state.

    Args:
        step_returns: ``float[N]``, the discounted return from each step on
            (`agentgym.train.advantages.returns`).
        groups: ``int64[N]``, the group of the trajectory of each step.
        states: N anchor states, such as the hash of the state before the step.
        normalise: Divide by the standard deviation; without it the difference from the mean.
        epsilon: Is added to the standard deviation.

    Returns:
        ``float[N]``; 0 for a step whose state was met only once.

    Raises:
        ValueError: The lengths differ, or a return is not finite.
    """
    if len(states) != len(groups):
        raise ValueError(f"{len(states)} states, but group numbers for {len(groups)} steps")
    numbers: dict[tuple[int, Hashable], int] = {}
    keys = zip(groups.tolist(), states, strict=True)
    anchors = torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys])
    anchors = anchors.to(device=groups.device, dtype=groups.dtype)
    if normalise:
        return grpo(step_returns, anchors, epsilon=epsilon)
    return dr_grpo(step_returns, anchors)


def gigpo(
    rewards: Tensor,
    step_returns: Tensor,
    trajectories: Tensor,
    groups: Tensor,
    states: Sequence[Hashable],
    *,
    weight: float = 1.0,
    normalise: bool = True,
) -> Tensor:
    """Return ``A_episode + weight * A_step`` for each step.

    The episode's part is taken over trajectories, not over steps, so a long trajectory counts as
    much as a short one.

    Args:
        rewards: ``float[M]``, the return of each trajectory.
        step_returns: ``float[N]``, the discounted return from each step on.
        trajectories: ``int64[N]``, the trajectory of each step, as an index into `rewards`.
        groups: ``int64[M]``, the group of each trajectory.
        states: N anchor states.
        weight: Weight of the step's part.
        normalise: Divide both parts by standard deviations.

    Returns:
        ``float[N]``.

    Raises:
        ValueError: The lengths differ, or a number is not finite.
    """
    episode = grpo(rewards, groups) if normalise else dr_grpo(rewards, groups)
    step = gigpo_step(step_returns, groups[trajectories], states, normalise=normalise)
    return episode[trajectories] + weight * step
