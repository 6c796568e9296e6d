"""A causal language model of Hugging Face transformers as a policy.

Packed rows are told apart by their position ids, which every attention kernel of transformers
understands (docs of `DataCollatorWithFlattening`); models that do not are given padded rows. For
sampling, each dialogue keeps a row of keys and values (`rows.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from agentgym.train.models.pictures import PictureTable
from agentgym.train.models.reading import BatchInputs, batch_inputs, picture_inputs
from agentgym.train.models.rows import RowCache

_FLASH: Final = "flash_attention_2"


class HuggingFaceModel(nn.Module):
    """See the module. Dropout is switched off, so that sampler and learner see one policy.

    Args:
        inner: An `AutoModelForCausalLM`.
        context: Largest number of tokens of one sequence.
        gradient_checkpointing: Whether to compute activations anew in the backward pass.
        packed: Whether sequences may share a row; `examine` finds out.
        pictures: Pictures that tokens stand for, if it is a vision-language model. Its `forward`
            takes features of pictures as ``mm_encoder_outputs``.

    Raises:
        ValueError: Its activations cannot be computed anew.

    Attributes:
        inner: The model of transformers.
        packed: As above.
        pictures: As above.
    """

    def __init__(
        self,
        inner: Any,
        *,
        context: int,
        gradient_checkpointing: bool = False,
        packed: bool = True,
        pictures: PictureTable | None = None,
    ) -> None:
        super().__init__()
        self.pictures = pictures
        self.inner, self._context, self.packed = inner, context, packed
        self._attention: str = inner.config._attn_implementation
        self._checkpointing = gradient_checkpointing
        if gradient_checkpointing:
            inner.activation_checkpointing_enable()
        accepted = inspect.signature(inner.forward).parameters
        self._last_only = "logits_to_keep" in accepted
        # Transformers 5.24 calls the cache so; `past_key_values` is the older name.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        _without_dropout(inner)
        inner.eval()

    @property
    def context(self) -> int:
        """Largest number of tokens of one sequence."""
        return self._context

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        found: torch.device = self.inner.device
        return found

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor) -> Tensor:
        """Return ``float[B, T, V]``; see `agentgym.protocols.training.CausalModel`."""
        self._prepare(sampling=False)
        ids, positions = ids.to(self.device), positions.to(self.device)
        if not self.packed:
            return self._padded(ids, segments)
        shape = ids.shape
        if self._attention == _FLASH:  # Its kernels find the sequences of a single row only.
            ids, positions = ids.view(1, -1), positions.view(1, -1)
        read = self._read(ids, positions)
        logits = self._logits(read, position_ids=read.positions, use_cache=False)
        return logits.view(*shape, -1)

    def start_cache(self, rows: int) -> RowCache:
        """Return an empty cache with a number of rows."""
        return RowCache(rows, self._context)

    @torch.inference_mode()
    def extend(self, ids: Sequence[Sequence[int]], rows: Sequence[int], cache: RowCache) -> Tensor:
        """Read more tokens into rows; see `agentgym.protocols.training.CausalModel`.

        Raises:
            ValueError: A row would hold more tokens than the context, or gets none.
        """
        self._prepare(sampling=True)
        # Neighbouring rows are read without a copy.
        order = sorted(range(len(rows)), key=lambda number: rows[number])
        read = cache.begin([rows[n] for n in order], [len(ids[n]) for n in order], self.device)
        longest = read.positions.shape[1]
        padded = [[*[0] * (longest - len(ids[n])), *ids[n]] for n in order]
        options: dict[str, object] = {self._cache_name: cache}
        if self._last_only:
            options["logits_to_keep"] = 1
        before = torch.tensor([cache.gain(rows[n]) for n in order], device=self.device)
        inputs = self._read(torch.tensor(padded, device=self.device), read.positions, before)
        logits = self._logits(
            inputs,
            position_ids=inputs.positions,
            attention_mask=self._mask(read.seen),
            use_cache=True,
            **options,
        )
        cache.finish(inputs.gains.tolist())
        last = logits.new_empty(len(rows), logits.shape[-1], dtype=torch.float32)
        last[torch.tensor(order, device=self.device)] = logits[:, -1].float()
        return last

    def _padded(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Compute each sequence in a row of its own."""
        places = [
            (segments == number).nonzero() for number in sorted({*segments.flatten().tolist()})
        ]
        places = [place.to(ids.device) for place in places if segments[tuple(place[0])] >= 0]
        rows = [ids[place[:, 0], place[:, 1]] for place in places]
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        padded = pad_sequence(rows, batch_first=True)
        counted = torch.arange(padded.shape[1], device=padded.device).expand_as(padded)
        read = self._read(padded, counted)
        told = {"position_ids": read.positions} if read.positions.dim() == 3 else {}
        found = self._logits(read, attention_mask=mask, use_cache=False, **told)
        whole = found.new_zeros(*ids.shape, found.shape[-1])
        where = torch.cat(places)
        return whole.index_put((where[:, 0], where[:, 1]), found[mask.bool()])

    def _read(self, ids: Tensor, places: Tensor, before: Tensor | None = None) -> BatchInputs:
        """Return what the model is given for tokens; see `batch_inputs`."""
        if self.pictures is not None:
            return batch_inputs(self.pictures, ids, places, before)
        nothing = torch.zeros_like(ids)
        return BatchInputs(ids, places, nothing.bool(), None, nothing[:, 0])

    def _logits(self, read: BatchInputs, **inputs: Any) -> Tensor:
        if read.pictures is not None:
            inputs |= picture_inputs(self.inner, read, read.pictures)
        logits: Tensor = self.inner(input_ids=read.ids, **inputs).logits
        return logits

    def _mask(self, seen: Tensor) -> Tensor:
        """Return which keys each query sees, in the form that the attention takes."""
        if self._attention != "eager":
            return seen
        kind = self.inner.dtype
        return torch.where(seen, 0.0, torch.finfo(kind).min).to(kind)

    def _prepare(self, *, sampling: bool) -> None:
        """Choose the attention and the mode for sampling, or for computing packed rows."""
        training = self._checkpointing and not sampling
        if self.inner.training != training:
            self.inner.train(training)
        if self._attention == _FLASH:  # It takes no mask, which rows of a cache need.
            self.inner.set_attn_implementation("sdpa" if sampling else _FLASH)


def _without_dropout(inner: nn.Module) -> None:
    """Set every rate of dropout to 0: checkpointing needs the training mode."""
    for module in inner.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
