"""Step rewards: discounted returns, and potentials that cannot change the optimal policy."""

from __future__ import annotations

import torch
from torch import Tensor

from agentgym.train.advantages.groups import EPSILON, grpo


def returns(rewards: Tensor, trajectories: Tensor, *, gamma: float = 1.0) -> Tensor:
    """Return the discounted sum of rewards from each step to the end of its trajectory.

    ``G_t = r_t + gamma * G_{t+1}``.

    Args:
        rewards: ``float[N]``, the reward of each step; the steps of a trajectory in their order.
        trajectories: ``int64[N]``, the trajectory of each step.
        gamma: Discount a step, from 0 to 1.

    Returns:
        ``float[N]``.

    Raises:
        ValueError: The shapes differ, a reward is not finite, or `gamma` is out of range.

    Example:
        >>> returns(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([4, 4, 4]), gamma=0.5).tolist()
        [0.25, 0.5, 1.0]
    """
    _checked(rewards, trajectories, gamma)
    found = rewards.tolist()
    later: dict[int, float] = {}
    for index, trajectory in reversed(list(enumerate(trajectories.tolist()))):
        found[index] = later[trajectory] = found[index] + gamma * later.get(trajectory, 0.0)
    return rewards.new_tensor(found)


def potential_rewards(
    rewards: Tensor, potentials: Tensor, trajectories: Tensor, *, gamma: float = 1.0
) -> Tensor:
    """Return ``r_t + gamma * phi(s_{t+1}) - phi(s_t)``; the potential after the last step is 0.

    The sum over a trajectory (with the discount) is its return minus ``phi`` of its first state,
    so every policy is ranked as before.

    Source: Ng, Harada and Russell 1999, "Policy invariance under reward transformations".

    Args:
        rewards: ``float[N]``, the reward of each step; the steps of a trajectory in their order.
        potentials: ``float[N]``, the potential of the state before each step, for instance the
            score of the checkpoints that hold there.
        trajectories: ``int64[N]``, the trajectory of each step.
        gamma: Discount a step, from 0 to 1.

    Returns:
        ``float[N]``.

    Raises:
        ValueError: The shapes differ, a number is not finite, or `gamma` is out of range.
    """
    _checked(rewards, trajectories, gamma)
    _checked(potentials, trajectories, gamma)
    following = potentials.tolist()
    after: dict[int, float] = {}
    for index, trajectory in reversed(list(enumerate(trajectories.tolist()))):
        following[index], after[trajectory] = after.get(trajectory, 0.0), following[index]
    return rewards + gamma * rewards.new_tensor(following) - potentials


def process_grpo(
    step_rewards: Tensor, trajectories: Tensor, groups: Tensor, *, epsilon: float = EPSILON
) -> Tensor:
    """Return the sum of normalised rewards from each step to the end of its trajectory.

    Each reward r becomes ``(r - mean) / (std + epsilon)`` over all steps of its group.

    Source: Shao et al. 2024, "DeepSeekMath", section 4.1.3 (GRPO, process supervision).

    Args:
        step_rewards: ``float[N]``, the reward of each step, that of the last step with the
            episode's own; the steps of a trajectory in their order.
        trajectories: ``int64[N]``, the trajectory of each step.
        groups: ``int64[N]``, the group of the trajectory of each step.
        epsilon: Is added to the standard deviation.

    Returns:
        ``float[N]``; 0 throughout a group whose steps all have the same reward.

    Raises:
        ValueError: The shapes differ, or a reward is not finite.
    """
    return returns(grpo(step_rewards, groups, epsilon=epsilon), trajectories)


def _checked(values: Tensor, trajectories: Tensor, gamma: float) -> None:
    if values.dim() != 1 or values.shape != trajectories.shape:
        raise ValueError(
            f"expected a value and a trajectory for each step, got the shapes "
            f"{tuple(values.shape)} and {tuple(trajectories.shape)}"
        )
    if not bool(torch.isfinite(values).all()):
        raise ValueError("a value of a step is not finite")
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma: expected a number from 0 to 1, got {gamma}")
