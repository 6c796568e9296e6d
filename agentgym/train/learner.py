"""Changes the weights of a policy by what its episodes were worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from agentgym.protocols.training import CausalModel
from agentgym.train.advantages import dr_grpo, gigpo, grpo, hgpo, mc_grpo, rloo
from agentgym.train.config import Advantage, AlgorithmConfig
from agentgym.train.losses import clipped, token_weights
from agentgym.train.packing import pack
from agentgym.train.rollouts import Group, Trajectory


@dataclass(frozen=True)
class Batch:
    """All tokens of an iteration, one entry for each.

    Attributes:
        sequences: The token ids, sequence by sequence.
        mask: ``bool[N]``, True for sampled tokens that count.
        logprobs: ``float32[N]``, log-probabilities when they were sampled.
        advantages: ``float32[N]``.
        trajectories: ``int64[N]``, the trajectory of each token.
    """

    sequences: list[list[int]]
    mask: Tensor
    logprobs: Tensor
    advantages: Tensor
    trajectories: Tensor


class Learner:
    """A policy's weights and the optimiser that changes them.

    Args:
        model: The policy; a `torch.nn.Module`.
        config: How to change it.
        temperature: The temperature at which its tokens are sampled.
    """

    def __init__(self, model: CausalModel, config: AlgorithmConfig, *, temperature: float) -> None:
        assert isinstance(model, nn.Module)
        self._model, self._config, self._temperature = model, config, temperature
        self._optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, weight_decay=0.0
        )

    def update(self, groups: Sequence[Group], rewards: Sequence[float]) -> dict[str, float]:
        """Train on groups, and return figures about it.

        Args:
            groups: Groups in which rewards differ.
            rewards: A reward for each of their trajectories in order, which replaces its own.

        Returns:
            ``loss``, ``entropy`` (nats a token), ``clipped`` (share of tokens that the bounds
            held), ``kl`` (k3 from the policy that sampled) and ``gradient_norm`` of the last epoch.
        """
        batch = build_batch(groups, rewards, self._config.advantage)
        figures: dict[str, float] = {}
        for _ in range(self._config.epochs):
            figures = self._epoch(batch)
        return figures

    def _epoch(self, batch: Batch) -> dict[str, float]:
        self._optimizer.zero_grad()
        weights = token_weights(batch.mask, batch.trajectories, self._config.weighting)
        totals = dict.fromkeys(("loss", "entropy", "clipped", "kl"), 0.0)
        ends = torch.tensor([len(ids) for ids in batch.sequences]).cumsum(0).tolist()
        packed_whole = pack(batch.sequences, self._config.row_tokens)
        per_row: dict[int, list[int]] = {}
        for index, end in enumerate(ends):
            per_row.setdefault(int(packed_whole.rows[end - 1]), []).append(index)
        rows = [per_row[row] for row in sorted(per_row)]
        for first in range(0, len(rows), self._config.rows):
            chosen = [index for row in rows[first : first + self._config.rows] for index in row]
            tokens = torch.cat(
                [torch.arange(ends[i] - len(batch.sequences[i]), ends[i]) for i in chosen]
            )
            loss, figures = self._part(batch, chosen, tokens, weights[tokens])
            torch.autograd.backward(loss)
            for name, value in figures.items():
                totals[name] += value
        parameters = list(self._model.parameters())
        norm = nn.utils.clip_grad_norm_(parameters, self._config.gradient_norm)
        self._optimizer.step()
        return {**totals, "gradient_norm": float(norm)}

    def _part(
        self, batch: Batch, chosen: Sequence[int], tokens: Tensor, weights: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of some sequences, and its figures weighted as the loss is."""
        packed = pack([batch.sequences[index] for index in chosen], self._config.row_tokens)
        logits = packed.unpacked(self._model(packed.ids, packed.positions, packed.segments))
        logprobs = (logits / self._temperature).log_softmax(-1)
        # The logits after a token are those of the next one; the first of a sequence has none.
        ids = packed.unpacked(packed.ids)
        own = logprobs[:-1].gather(-1, ids[1:, None])[:, 0]
        own = torch.cat([own.new_zeros(1), own])
        entropy = -(logprobs.exp() * logprobs).sum(-1)
        entropy = torch.cat([entropy.new_zeros(1), entropy[:-1]])
        mask, old = batch.mask[tokens], batch.logprobs[tokens]
        own = torch.where(mask, own, old)
        surrogate = clipped(
            own,
            old,
            batch.advantages[tokens],
            low=self._config.clip_low,
            high=self._config.clip_high,
        )
        loss = (weights * (surrogate.values - self._config.entropy * entropy)).sum()
        moved = (own - old).detach()
        figures = {
            "loss": float(loss.detach()),
            "entropy": float((weights * entropy).sum().detach()),
            "clipped": float((weights * surrogate.held).sum()),
            "kl": float((weights * (moved.exp() - 1 - moved)).sum()),
        }
        return loss, figures

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state."""
        return self._optimizer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`."""
        self._optimizer.load_state_dict(dict(state))


def build_batch(groups: Sequence[Group], rewards: Sequence[float], advantage: Advantage) -> Batch:
    """Lay out the tokens of groups with their advantages.

    Args:
        groups: The groups.
        rewards: A reward for each trajectory, in order.
        advantage: Which advantage.

    Raises:
        ValueError: There are not as many rewards as trajectories.
    """
    played = [(n, each) for n, group in enumerate(groups) for each in group.trajectories]
    if len(played) != len(rewards):
        raise ValueError(f"{len(rewards)} rewards for {len(played)} trajectories")
    by_completion, counted = _advantages(played, torch.tensor(rewards), advantage)
    sequences, mask, logprobs, advantages, owners = [], [], [], [], []
    for owner, (_, trajectory) in enumerate(played):
        for sequence in trajectory.tokens.sequences:
            sequences.append(sequence.ids)
            mask += [each and counted[owner] for each in sequence.mask]
            logprobs += sequence.logprobs
            values = by_completion[owner]
            advantages += [values[n] if n >= 0 else 0.0 for n in sequence.completions]
            owners += [owner] * len(sequence.ids)
    return Batch(
        sequences,
        torch.tensor(mask),
        torch.tensor(logprobs),
        torch.tensor(advantages),
        torch.tensor(owners),
    )


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
