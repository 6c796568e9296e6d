"""Changes the weights of a policy by what its episodes were worth."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from agentgym.protocols.training import CausalModel
from agentgym.train.batches import TokenBatch, build_batch, plain_ids
from agentgym.train.config import AlgorithmConfig, Correction
from agentgym.train.control import effective_sample_size
from agentgym.train.logits import token_statistics
from agentgym.train.losses import Estimator, clipped, divergence, masked, token_weights, truncated
from agentgym.train.optimizer import Optimizer
from agentgym.train.packing import Packed, pack
from agentgym.train.rollouts import Group
from agentgym.train.samples import TokenSequence, read_sequence

if TYPE_CHECKING:
    from agentgym.train.models.pictures import PictureTable, ShownTokens


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


@dataclass(frozen=True)
class _MicroBatch:
    """Sequences of a batch that are computed at once.

    Attributes:
        tokens: ``int64[M]``, the indices of their tokens in the batch.
        packed: The sequences in rows.
    """

    tokens: Tensor
    packed: Packed


class Learner:
    """A policy's weights and the optimiser that changes them.

    Args:
        model: The policy; a `torch.nn.Module`.
        config: How to change it.
        temperature: The temperature at which its tokens are sampled, above 0.
        updates: Number of updates over which the learning rate decays.
        pictures: Of the model, None if it reads text only.
    """

    def __init__(
        self,
        model: CausalModel,
        config: AlgorithmConfig,
        *,
        temperature: float,
        updates: int,
        pictures: PictureTable | None = None,
    ) -> None:
        assert isinstance(model, nn.Module)
        self._pictures = pictures
        self._model, self._config, self._temperature = model, config, temperature
        self._reference = copy.deepcopy(model).eval() if config.kl else None
        self._optimizer = Optimizer(
            model.parameters(),
            config.learning_rate,
            weight_decay=config.weight_decay,
            final=config.final_learning_rate,
            updates=updates,
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
        # Their pictures are held until the batch is learnt from.
        shown: list[ShownTokens] = []

        def ids_of(sequence: TokenSequence) -> list[int]:
            if self._pictures is None:
                return plain_ids(sequence)
            shown.append(read_sequence(sequence, self._pictures))
            return shown[-1].ids

        batch = build_batch(groups, rewards, self._config.advantage, ids_of)
        parts = list(self._micro_batches(batch))
        known = self._known(batch, parts)
        figures: dict[str, float] = {}
        bound = self._config.largest_kl
        for _ in range(self._config.epochs):
            figures = self._epoch(batch, parts, known)
            if bound is not None and figures["kl"] > bound:
                break
        self._optimizer.decay()
        moved = (known.proximal - batch.behaviour)[batch.mask]
        return {**figures, "ess": effective_sample_size(moved) / max(len(moved), 1)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of optimiser and learning rate, and the reference policy if any."""
        reference = None if self._reference is None else self._reference.state_dict()
        return {"optimizer": self._optimizer.state_dict(), "reference": reference}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`."""
        self._optimizer.load_state_dict(state["optimizer"])
        if self._reference is not None:
            self._reference.load_state_dict(state["reference"])

    @torch.no_grad()
    def _known(self, batch: TokenBatch, parts: Sequence[_MicroBatch]) -> _Known:
        config = self._config
        weights = token_weights(batch.mask, batch.trajectories, config.weighting)
        reference = None
        if self._reference is not None:
            reference = self._logprobs(batch, parts, self._reference)
        proximal, correction = batch.behaviour, torch.ones_like(batch.behaviour)
        if config.correction is not Correction.NONE:
            found = self._logprobs(batch, parts, self._model)
            proximal = torch.where(batch.mask, found, batch.behaviour)
            told, level = (proximal, batch.behaviour, batch.owners), config.correction_level
            if config.correction is Correction.TRUNCATED:
                correction = truncated(*told, level=level)
            else:
                correction = masked(*told, level=level)
        return _Known(weights, proximal, correction, reference)

    def _logprobs(self, batch: TokenBatch, parts: Sequence[_MicroBatch], model: Any) -> Tensor:
        """Return ``float32[N]``: the log-probability of each token."""
        found = torch.zeros_like(batch.behaviour)
        for part in parts:
            found[part.tokens] = self._forward(part.packed, model)[0]
        return found

    def _epoch(
        self, batch: TokenBatch, parts: Sequence[_MicroBatch], known: _Known
    ) -> dict[str, float]:
        totals = dict.fromkeys(("loss", "entropy", "clipped", "kl"), 0.0)
        for part in parts:
            loss, figures = self._part(batch, part, known)
            self._optimizer.backward(loss)
            for name, value in figures.items():
                totals[name] += value
        return {**totals, "gradient_norm": self._optimizer.step(self._config.gradient_norm)}

    def _micro_batches(self, batch: TokenBatch) -> Iterator[_MicroBatch]:
        """Yield the sequences that are computed at once: whole packed rows."""
        length = self._config.row_tokens
        packed = pack(batch.sequences, length)
        starts = [0]
        for ids in batch.sequences[:-1]:
            starts.append(starts[-1] + len(ids))
        rows: dict[int, list[int]] = {}
        for index, start in enumerate(starts):
            rows.setdefault(int(packed.rows[start]), []).append(index)
        ordered = [rows[row] for row in sorted(rows)]
        for first in range(0, len(ordered), self._config.rows):
            chosen = [n for row in ordered[first : first + self._config.rows] for n in row]
            sequences = [batch.sequences[index] for index in chosen]
            yield _MicroBatch(batch.tokens_of(chosen), pack(sequences, length))

    def _part(
        self, batch: TokenBatch, part: _MicroBatch, known: _Known
    ) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of some sequences, and its figures weighted as the loss is."""
        config, tokens = self._config, part.tokens
        own, entropy = self._forward(part.packed, self._model)
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

    def _forward(self, packed: Packed, model: Any) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each token of some sequences, and the entropy there."""
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
        # The logits after a token are those of the next one; the first of a sequence has none.
        ids = packed.unpacked(packed.ids)[1:].to(logits.device)
        # Placeholders of pictures have ids above the vocabulary; nothing samples them.
        ids = ids.where(ids < logits.shape[-1], 0)
        found = token_statistics(logits[:-1], ids, self._temperature)
        own, entropy = (torch.cat([each.new_zeros(1), each]).cpu() for each in found)
        return own, entropy
