"""Lays out the tokens of groups of trajectories, each with its advantage, for a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from agentgym.train.advantages import dr_grpo, gigpo, grpo, hgpo, mc_grpo, rloo
from agentgym.train.config import Advantage
from agentgym.train.rollouts import Group, Trajectory


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


def build_batch(
    groups: Sequence[Group], rewards: Sequence[float], advantage: Advantage
) -> TokenBatch:
    """Lay out the tokens of groups with their advantages.

    Args:
        groups: The groups.
        rewards: A reward for each trajectory, in order.
        advantage: Which advantage.

    Raises:
        ValueError: There are not as many rewards as trajectories, or no trajectory.
    """
    played = [(n, each) for n, group in enumerate(groups) for each in group.trajectories]
    if len(played) != len(rewards) or not played:
        raise ValueError(f"{len(rewards)} rewards for {len(played)} trajectories")
    by_completion, counted = _advantages(played, torch.tensor(rewards), advantage)
    sequences: list[list[int]] = []
    mask, behaviour, advantages, owners, trajectories = [], [], [], list[int](), list[int]()
    for number, (_, trajectory) in enumerate(played):
        values = by_completion[number]
        for sequence in trajectory.tokens.sequences:
            owners += [len(sequences)] * len(sequence.ids)
            trajectories += [number] * len(sequence.ids)
            sequences.append(sequence.ids)
            mask += [each and counted[number] for each in sequence.mask]
            behaviour += sequence.logprobs
            advantages += [values[n] if n >= 0 else 0.0 for n in sequence.completions]
    tensors = (mask, behaviour, advantages, owners, trajectories)
    return TokenBatch(sequences, *map(torch.tensor, tensors))


def _advantages(
    played: Sequence[tuple[int, Trajectory]], rewards: Tensor, advantage: Advantage
) -> tuple[list[list[float]], list[bool]]:
    """Return the advantage of each completion of each trajectory, and which trajectories count."""
    groups = torch.tensor([group for group, _ in played])
    counted = torch.ones(len(played), dtype=torch.bool)
    lengths = [trajectory.length for _, trajectory in played]
    trajectories = torch.arange(len(played)).repeat_interleave(torch.tensor(lengths))
    states = [state for _, trajectory in played for state in trajectory.states]
    # The reward comes at the end, so the return is the same from every step.
    returns = rewards[trajectories]
    if advantage is Advantage.GIGPO:
        steps = gigpo(rewards, returns, trajectories, groups, states)
    elif advantage is Advantage.HGPO:
        steps = hgpo(returns, groups[trajectories], trajectories, states)
    else:
        if advantage is Advantage.MC_GRPO:
            values, counted = mc_grpo(rewards, groups)
        else:
            whole = {Advantage.GRPO: grpo, Advantage.DR_GRPO: dr_grpo, Advantage.RLOO: rloo}
            values = whole[advantage](rewards, groups)
        steps = values[trajectories]
    return [part.tolist() for part in torch.split(steps, lengths)], counted.tolist()
