"""Advantages on a tree of forked episodes.

A node is a stretch of steps that no fork divides. Its value is the mean of its leaves' rewards, so
each leaf counts once whatever the shape of the tree. A fork compares its children with each other:
what the branches share, they neither gain nor lose.

Sources: Ji et al. 2025, "Tree Search for LLM Agent Reinforcement Learning" (Tree-GRPO, arXiv
2509.21240); Hou et al. 2025, "TreeRL" (arXiv 2506.11902) for values of nodes by their leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tree:
    """The nodes of one or more trees, each after its parent.

    Attributes:
        parents: For each node the index of its parent, or -1 for a root.
        rewards: For each leaf its reward; None for a node with children.

    Raises:
        ValueError: A parent does not stand before its child, a leaf has no reward, or a node with
            children has one.
    """

    parents: Sequence[int]
    rewards: Sequence[float | None]

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.rewards):
            raise ValueError(f"{len(self.parents)} parents, but {len(self.rewards)} rewards")
        inner = set(self.parents)
        for node, (parent, reward) in enumerate(zip(self.parents, self.rewards, strict=True)):
            if not -1 <= parent < node:
                raise ValueError(f"node {node} has the parent {parent}; parents come first")
            if (reward is None) != (node in inner):
                raise ValueError(
                    f"node {node} has children and a reward"
                    if node in inner
                    else f"leaf {node} has no reward; leave out unscored branches"
                )


def step_values(tree: Tree) -> tuple[Tensor, Tensor]:
    """Return the Monte-Carlo value of each node, and the number of leaves below it.

    Args:
        tree: The nodes.

    Returns:
        ``float64[N]`` and ``int64[N]``; a leaf's value is its reward and its number is 1.
    """
    total = [0.0 if reward is None else float(reward) for reward in tree.rewards]
    leaves = [int(reward is not None) for reward in tree.rewards]
    for node in reversed(range(len(total))):
        if (parent := tree.parents[node]) >= 0:
            total[parent] += total[node]
            leaves[parent] += leaves[node]
    count = torch.tensor(leaves)
    return torch.tensor(total, dtype=torch.float64) / count, count


def fork_relative(tree: Tree, *, between: float = 1.0) -> Tensor:
    """Return the advantage of each node's steps.

    The value of a node minus the mean value of its siblings (without itself) is its gain at the
    fork. The advantage is that gain, plus the gain of the root of its tree over the other roots
    times `between`. An only child takes what its parent has, because no choice divides them.

    Args:
        tree: The nodes; several roots are trees of one task.
        between: Weight of the comparison between trees.

    Returns:
        ``float64[N]``.
    """
    values, _ = step_values(tree)
    families: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents):
        families.setdefault(parent, []).append(node)
    gains = torch.zeros_like(values)
    for children in families.values():
        if len(children) > 1:
            own = values[children]
            gains[children] = own - (own.sum() - own) / (len(children) - 1)
    advantages, across = torch.zeros_like(values), torch.zeros_like(values)
    for node, parent in enumerate(tree.parents):
        if parent < 0:
            across[node] = advantages[node] = between * gains[node]
            continue
        across[node] = across[parent]
        only = len(families[parent]) == 1
        advantages[node] = advantages[parent] if only else gains[node] + across[node]
    return advantages
