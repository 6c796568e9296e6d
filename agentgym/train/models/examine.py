"""Finds out what a model of transformers can do, by trying it.

Architectures differ in how they read positions and masks, and few say so. Two facts are tried:
sequences that share a row must not see each other, and a text that is read piece by piece must give
the same logits as one that is read at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from agentgym.train.models.huggingface import HuggingFaceModel

_FIRST: Final = (2, 3, 5, 7, 11)
_SECOND: Final = (13, 17, 2)


def can_pack(model: HuggingFaceModel) -> bool:
    """Return whether sequences in one row are computed as if each were alone."""
    taken = inspect.signature(model.inner.forward).parameters
    if not {"position_ids", "inputs_embeds"} <= set(taken):
        return False
    with torch.no_grad():
        packed = model(*_row(_FIRST, _SECOND))[0, : len(_FIRST + _SECOND)]
        alone = torch.cat([model(*_row(each))[0, : len(each)] for each in (_FIRST, _SECOND)])
    return _agree(packed, alone) and not _leaks(model)


def can_continue(model: HuggingFaceModel) -> bool:
    """Return whether a text that is read in pieces, beside another, has the logits of the whole."""
    whole = [*_FIRST, *_SECOND]
    with torch.no_grad():
        wanted = model(*_row(whole))[0, len(whole) - 1]
    cache = model.start_cache(2)
    model.extend([whole[:3], whole[:1]], [0, 1], cache)
    model.extend([whole[1:]], [1], cache)
    found = model.extend([[5, 3], whole[3:]], [1, 0], cache)
    return _agree(found[1], wanted)


def _leaks(model: HuggingFaceModel) -> bool:
    """Return whether the logits of a second sequence depend on the first at all."""
    ids, positions, _ = _row(_FIRST, _SECOND)
    embedded = model.inner.get_input_embeddings()(ids.to(model.device)).detach().requires_grad_()
    inputs = {"inputs_embeds": embedded, "position_ids": positions.to(model.device)}
    logits = model.inner(**inputs, use_cache=False).logits
    (slope,) = torch.autograd.grad(logits[0, len(_FIRST) :].float().square().sum(), embedded)
    return bool((slope[0, : len(_FIRST)] != 0).any())


def _row(*sequences: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    ids = [token for each in sequences for token in each]
    positions = [place for each in sequences for place in range(len(each))]
    segments = [number for number, each in enumerate(sequences) for _ in each]
    return torch.tensor([ids]), torch.tensor([positions]), torch.tensor([segments])


def _agree(found: Tensor, wanted: Tensor) -> bool:
    """Return whether logits agree as far as the precision of their numbers lets them."""
    tolerance = 1e-3 if wanted.dtype == torch.float32 else 6e-2
    found, wanted = found.float(), wanted.float()
    spread = (wanted - wanted.mean(-1, keepdim=True)).abs().max()
    return bool((found - wanted).abs().max() <= tolerance * spread)
