"""Advantages of steps over nested groups that share more and more of their history (HGPO).

Source: He et al. 2026, "Hierarchy-of-Groups Policy Optimization for Long-Horizon Agentic Tasks"
(arXiv 2602.22817).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from agentgym.train.advantages.groups import EPSILON
from agentgym.train.advantages.steps import gigpo_step


def hgpo(
    step_returns: Tensor,
    groups: Tensor,
    trajectories: Tensor,
    states: Sequence[Hashable],
    *,
    history: int = 2,
    alpha: float = 1.0,
    normalise: bool = True,
    epsilon: float = EPSILON,
) -> Tensor:
    """Return the weighted mean of a step's advantages in the groups of each depth of history.

    The group of depth ``k`` holds the steps of one task whose state and ``k`` states before are
    the same. Its weight is ``(k + 1) ** alpha``, divided by the weights of the depths that count
    for the step. A depth counts if the step has that much history and is not alone there.

    Args:
        step_returns: ``float[N]``, the discounted return from each step on.
        groups: ``int64[N]``, the group of the trajectory of each step.
        trajectories: ``int64[N]``, the trajectory of each step; its steps in their order.
        states: N anchor states.
        history: Largest depth, at least 0; depth 0 alone is GiGPO's part for steps.
        alpha: Larger values favour groups that share more history.
        normalise: Divide by the standard deviation of each group.
        epsilon: Is added to the standard deviation.

    Returns:
        ``float[N]``; 0 for a step whose state was met only once.

    Raises:
        ValueError: The lengths differ, a return is not finite, or `history` is negative.
    """
    if history < 0:
        raise ValueError(f"history: expected at least 0 steps, got {history}")
    if len(trajectories) != len(states):
        raise ValueError(f"{len(states)} states, but trajectories for {len(trajectories)} steps")
    total, weights = torch.zeros_like(step_returns), torch.zeros_like(step_returns)
    for depth in range(history + 1):
        contexts = _contexts(trajectories.tolist(), states, depth)
        advantages = gigpo_step(
            step_returns, groups, contexts, normalise=normalise, epsilon=epsilon
        )
        counts = _shared(groups.tolist(), contexts)
        weight = (depth + 1.0) ** alpha * step_returns.new_tensor(counts)
        total, weights = total + weight * advantages, weights + weight
    return total / weights.clamp(min=torch.finfo(weights.dtype).tiny)


def _contexts(
    trajectories: Sequence[int], states: Sequence[Hashable], depth: int
) -> list[Hashable]:
    """Return the last `depth` states and the present one, or a key of its own where fewer are."""
    seen: dict[int, list[Hashable]] = {}
    found: list[Hashable] = []
    for index, (trajectory, state) in enumerate(zip(trajectories, states, strict=True)):
        past = seen.setdefault(trajectory, [])
        past.append(state)
        recent = tuple(past[-depth - 1 :])
        found.append((True, recent) if len(recent) == depth + 1 else (False, index))
    return found


def _shared(groups: Sequence[int], contexts: Sequence[Hashable]) -> list[bool]:
    """Return for each step whether another step has its group and context."""
    keys = list(zip(groups, contexts, strict=True))
    counts: dict[tuple[int, Hashable], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return [counts[key] > 1 for key in keys]
