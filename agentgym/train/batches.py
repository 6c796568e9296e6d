"""Lays out the tokens of groups of trajectories, each with its advantage, for a learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from agentgym.train.advantages import (
    Tree,
    dr_grpo,
    fork_relative,
    gigpo,
    grpo,
    hgpo,
    mc_grpo,
    process_grpo,
    returns,
    rloo,
)
from agentgym.train.config import Advantage
from agentgym.train.rollouts import Group, Trajectory
from agentgym.train.samples import TokenSequence


@dataclass(frozen=True)
class TokenBatch:
    """All tokens of a batch of groups, sequence by sequence; N tokens.

    Attributes:
        sequences: The token ids of each sequence.
        mask: ``bool[N]``, True for sampled tokens that count.
        behaviour: ``float32[N]``, log-probabilities when the tokens were sampled.
        advantages: ``float32[N]``.
        owners: ``int64[N]``, the index of each token's sequence.
        trajectories: ``int64[N]``, the index of each token's trajectory.
    """

    sequences: list[list[int]]
    mask: Tensor
    behaviour: Tensor
    advantages: Tensor
    owners: Tensor
    trajectories: Tensor

    def tokens_of(self, sequences: Sequence[int]) -> Tensor:
        """Return the indices of the tokens of some sequences: ``int64[...]``."""
        lengths = torch.tensor([len(ids) for ids in self.sequences])
        ends = lengths.cumsum(0).tolist()
        parts = [torch.arange(ends[n] - len(self.sequences[n]), ends[n]) for n in sequences]
        return torch.cat(parts)


def plain_ids(sequence: TokenSequence) -> list[int]:
    """Return the tokens of a sequence without pictures.

    Raises:
        ValueError: It has pictures.
    """
    if sequence.pictures:
        raise ValueError("a sequence has pictures, and the model reads text only")
    return sequence.ids


def build_batch(
    groups: Sequence[Group],
    rewards: Sequence[float],
    advantage: Advantage,
    ids_of: Callable[[TokenSequence], list[int]] = plain_ids,
) -> TokenBatch:
    """Lay out the tokens of groups with their advantages.

    Args:
        groups: The groups.
        rewards: A reward for each trajectory, in order.
        advantage: Which advantage.
        ids_of: Returns the tokens of a sequence as the model reads them.

    Raises:
        ValueError: There are not as many rewards as trajectories, or no trajectory.
    """
    played = [(n, each) for n, group in enumerate(groups) for each in group.trajectories]
    if len(played) != len(rewards) or not played:
        raise ValueError(f"{len(rewards)} rewards for {len(played)} trajectories")
    by_completion, counted = _advantages(groups, played, torch.tensor(rewards), advantage)
    sequences: list[list[int]] = []
    mask, behaviour, advantages, owners, trajectories = [], [], [], list[int](), list[int]()
    shared = set[tuple[int, int, int]]()
    for number, (group, trajectory) in enumerate(played):
        values = by_completion[number]
        # What several leaves of a tree share is trained once, in the first of them.
        places = [(group, node, n) for n, node in enumerate(trajectory.nodes)]
        known = [place in shared for place in places] or [False] * trajectory.length
        shared.update(places)
        for sequence in trajectory.tokens.sequences:
            owners += [len(sequences)] * len(sequence.ids)
            trajectories += [number] * len(sequence.ids)
            sequences.append(ids_of(sequence))
            mask += [
                sampled and counted[number] and not known[n]
                for sampled, n in zip(sequence.mask, sequence.completions, strict=True)
            ]
            behaviour += sequence.logprobs
            advantages += [values[n] if n >= 0 else 0.0 for n in sequence.completions]
    tensors = (mask, behaviour, advantages, owners, trajectories)
    return TokenBatch(sequences, *map(torch.tensor, tensors))


def _advantages(
    batch_groups: Sequence[Group],
    played: Sequence[tuple[int, Trajectory]],
    rewards: Tensor,
    advantage: Advantage,
) -> tuple[list[list[float]], list[bool]]:
    """Return the advantage of each completion of each trajectory, and which trajectories count."""
    if advantage is Advantage.TREE:
        return _tree_advantages(batch_groups, rewards.tolist()), [True] * len(played)
    groups = torch.tensor([group for group, _ in played])
    counted = torch.ones(len(played), dtype=torch.bool)
    lengths = [trajectory.length for _, trajectory in played]
    trajectories = torch.arange(len(played)).repeat_interleave(torch.tensor(lengths))
    states = [state for _, trajectory in played for state in trajectory.states]
    step_rewards = _step_rewards(played, rewards)
    from_here_on = returns(step_rewards, trajectories)
    if advantage is Advantage.GIGPO:
        steps = gigpo(rewards, from_here_on, trajectories, groups, states)
    elif advantage is Advantage.HGPO:
        steps = hgpo(from_here_on, groups[trajectories], trajectories, states)
    elif advantage is Advantage.PROCESS_GRPO:
        steps = process_grpo(step_rewards, trajectories, groups[trajectories])
    else:
        if advantage is Advantage.MC_GRPO:
            values, counted = mc_grpo(rewards, groups)
        else:
            whole = {Advantage.GRPO: grpo, Advantage.DR_GRPO: dr_grpo, Advantage.RLOO: rloo}
            values = whole[advantage](rewards, groups)
        steps = values[trajectories]
    return [part.tolist() for part in torch.split(steps, lengths)], counted.tolist()


def _step_rewards(played: Sequence[tuple[int, Trajectory]], rewards: Tensor) -> Tensor:
    """Return the reward of each completion: ``float[N]``, the episode's own with the last."""
    found = list[float]()
    for (_, trajectory), reward in zip(played, rewards.tolist(), strict=True):
        own = list(trajectory.step_rewards or (0.0,) * trajectory.length)
        if own:
            own[-1] += reward
        found += own
    return rewards.new_tensor(found)


def _tree_advantages(groups: Sequence[Group], rewards: Sequence[float]) -> list[list[float]]:
    """Return the fork-relative advantage of each completion of each trajectory."""
    found, first = list[list[float]](), 0
    for group in groups:
        own = rewards[first : first + len(group.trajectories)]
        first += len(own)
        tree, nodes = _scored_tree(group, own)
        values = fork_relative(tree).tolist()
        for number, trajectory in enumerate(group.trajectories):
            places = trajectory.nodes if group.parents else (number,) * trajectory.length
            found.append([values[nodes[place]] for place in places])
    return found


def _scored_tree(group: Group, rewards: Sequence[float]) -> tuple[Tree, dict[int, int]]:
    """Return the nodes that lead to a scored leaf, and the new index of each."""
    parents = group.parents or (-1,) * len(rewards)
    leaves = {
        (trajectory.leaf if group.parents else number): reward
        for number, (trajectory, reward) in enumerate(zip(group.trajectories, rewards, strict=True))
    }
    kept = set[int]()
    for node in leaves:
        while node >= 0:
            kept.add(node)
            node = parents[node]
    nodes = {node: index for index, node in enumerate(sorted(kept))}
    above = [nodes[parents[node]] if parents[node] >= 0 else -1 for node in nodes]
    return Tree(above, [leaves.get(node) for node in nodes]), nodes
