"""Changes the weights of a policy by what its episodes were worth."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from agentgym.protocols.training import CausalModel
from agentgym.train.batches import TokenBatch, build_batch
from agentgym.train.config import AlgorithmConfig, Correction
from agentgym.train.control import effective_sample_size
from agentgym.train.losses import Estimator, clipped, divergence, masked, token_weights, truncated
from agentgym.train.packing import pack
from agentgym.train.rollouts import Group


@dataclass(frozen=True)
class _Known:
    """The constants of a batch while it is learnt from; N tokens.

    Attributes:
        weights: ``float32[N]``, of each token in the loss.
        proximal: ``float32[N]``, log-probabilities that the bounds are around.
        correction: ``float32[N]``, for tokens that another policy sampled.
        reference: ``float32[N]``, log-probabilities to stay near, None if the loss has no such
            term.
    """

    weights: Tensor
    proximal: Tensor
    correction: Tensor
    reference: Tensor | None


class Learner:
    """A policy's weights and the optimiser that changes them.

    Args:
        model: The policy; a `torch.nn.Module`.
        config: How to change it.
        temperature: The temperature at which its tokens are sampled, above 0.
        updates: Number of updates over which the learning rate decays.
    """

    def __init__(
        self, model: CausalModel, config: AlgorithmConfig, *, temperature: float, updates: int
    ) -> None:
        assert isinstance(model, nn.Module)
        self._model, self._config, self._temperature = model, config, temperature
        self._reference = copy.deepcopy(model).eval() if config.kl else None
        self._optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self._schedule = torch.optim.lr_scheduler.LinearLR(
            self._optimizer, 1.0, config.final_learning_rate, total_iters=updates
        )

    def update(self, groups: Sequence[Group], rewards: Sequence[float]) -> dict[str, float]:
        """Train on groups, and return figures about it.

        Args:
            groups: Groups in which rewards differ.
            rewards: A reward for each of their trajectories in order, which replaces its own.

        Returns:
            ``loss``, ``entropy`` (nats a token), ``clipped`` (share of tokens that the bounds
            held), ``kl`` (k3, nats a token, from the policy that sampled) and ``gradient_norm`` of
            the last epoch; ``ess``, the effective sample size of the correction as a share.
        """
        batch = build_batch(groups, rewards, self._config.advantage)
        known = self._known(batch)
        figures: dict[str, float] = {}
        bound = self._config.largest_kl
        for _ in range(self._config.epochs):
            figures = self._epoch(batch, known)
            if bound is not None and figures["kl"] > bound:
                break
        self._schedule.step()
        moved = (known.proximal - batch.behaviour)[batch.mask]
        return {**figures, "ess": effective_sample_size(moved) / max(len(moved), 1)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of optimiser and learning rate, and the reference policy if any."""
        reference = None if self._reference is None else self._reference.state_dict()
        return {
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "reference": reference,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`."""
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        if self._reference is not None:
            self._reference.load_state_dict(state["reference"])

    @torch.no_grad()
    def _known(self, batch: TokenBatch) -> _Known:
        config = self._config
        weights = token_weights(batch.mask, batch.trajectories, config.weighting)
        reference = None if self._reference is None else self._logprobs(batch, self._reference)
        proximal, correction = batch.behaviour, torch.ones_like(batch.behaviour)
        if config.correction is not Correction.NONE:
            found = self._logprobs(batch, self._model)
            proximal = torch.where(batch.mask, found, batch.behaviour)
            told, level = (proximal, batch.behaviour, batch.owners), config.correction_level
            if config.correction is Correction.TRUNCATED:
                correction = truncated(*told, level=level)
            else:
                correction = masked(*told, level=level)
        return _Known(weights, proximal, correction, reference)

    def _logprobs(self, batch: TokenBatch, model: Any) -> Tensor:
        """Return ``float32[N]``: the log-probability of each token."""
        found = torch.zeros_like(batch.behaviour)
        for chosen in self._micro_batches(batch):
            found[batch.tokens_of(chosen)] = self._forward(batch, chosen, model)[0]
        return found

    def _epoch(self, batch: TokenBatch, known: _Known) -> dict[str, float]:
        self._optimizer.zero_grad()
        totals = dict.fromkeys(("loss", "entropy", "clipped", "kl"), 0.0)
        for chosen in self._micro_batches(batch):
            loss, figures = self._part(batch, chosen, known)
            torch.autograd.backward(loss)
            for name, value in figures.items():
                totals[name] += value
        parameters = list(self._model.parameters())
        norm = nn.utils.clip_grad_norm_(parameters, self._config.gradient_norm)
        self._optimizer.step()
        return {**totals, "gradient_norm": float(norm)}

    def _micro_batches(self, batch: TokenBatch) -> Iterator[list[int]]:
        """Yield the sequences that are computed at once: whole packed rows."""
        packed = pack(batch.sequences, self._config.row_tokens)
        starts = [0]
        for ids in batch.sequences[:-1]:
            starts.append(starts[-1] + len(ids))
        rows: dict[int, list[int]] = {}
        for index, start in enumerate(starts):
            rows.setdefault(int(packed.rows[start]), []).append(index)
        ordered = [rows[row] for row in sorted(rows)]
        for first in range(0, len(ordered), self._config.rows):
            yield [index for row in ordered[first : first + self._config.rows] for index in row]

    def _part(
        self, batch: TokenBatch, chosen: Sequence[int], known: _Known
    ) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of some sequences, and its figures weighted as the loss is."""
        config, tokens = self._config, batch.tokens_of(chosen)
        own, entropy = self._forward(batch, chosen, self._model)
        mask, weights = batch.mask[tokens], known.weights[tokens]
        own = torch.where(mask, own, known.proximal[tokens])
        surrogate = clipped(
            *(own, known.proximal[tokens], batch.advantages[tokens]),
            low=config.clip_low,
            high=config.clip_high,
            dual=config.dual_clip,
        )
        values = known.correction[tokens] * surrogate.values - config.entropy * entropy
        if known.reference is not None:
            reference = torch.where(mask, known.reference[tokens], own.detach())
            values = values + config.kl * divergence(own, reference, Estimator.K2)
        loss = (weights * values).sum()
        moved = divergence(own.detach(), batch.behaviour[tokens], Estimator.K3)
        return loss, {
            "loss": float(loss.detach()),
            "entropy": float((weights * entropy).sum().detach()),
            "clipped": float((weights * surrogate.held).sum()),
            "kl": float((weights * moved).sum()),
        }

    def _forward(
        self, batch: TokenBatch, chosen: Sequence[int], model: Any
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each token of some sequences, and the entropy there."""
        packed = pack([batch.sequences[index] for index in chosen], self._config.row_tokens)
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
        logprobs = (logits / self._temperature).log_softmax(-1)
        # The logits after a token are those of the next one; the first of a sequence has none.
        ids = packed.unpacked(packed.ids)
        own = logprobs[:-1].gather(-1, ids[1:, None])[:, 0]
        entropy = -(logprobs.exp() * logprobs).sum(-1)
        return torch.cat([own.new_zeros(1), own]), torch.cat([own.new_zeros(1), entropy[:-1]])
