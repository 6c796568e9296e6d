"""Finds out what a model of transformers can do, by trying it.

Architectures differ in how they read positions and masks, and few say so. Three facts are tried:
sequences that share a row must not see each other, a text that is read piece by piece must give
the same logits as one that is read at once, and so must pictures that are laid out here and those
that the model lays out itself. The texts have pictures if the model has.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from agentgym.records import Image
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.pictures import ShownTokens

_FIRST: Final = (2, 3, 5, 7, 11)
_SECOND: Final = (13, 17, 2)
_SIZES: Final = ((56, 56), (56, 140))
"""Height and width of the pictures of the first text; the second has one of the last size."""


def needed_context(model: HuggingFaceModel) -> int:
    """Return how many tokens the texts have with which it is tried."""
    return sum(len(each.ids) for each in _texts(model))


def can_pack(model: HuggingFaceModel) -> bool:
    """Return whether sequences in one row are computed as if each were alone."""
    if "position_ids" not in inspect.signature(model.inner.forward).parameters:
        return False
    texts = _texts(model)
    first, second = (each.ids for each in texts)
    with torch.no_grad():
        packed = model(*_row(first, second))[0]
        alone = torch.cat([model(*_row(each))[0] for each in (first, second)])
    return _agree(packed, alone) and not _leaks(model, first, second)


def can_continue(model: HuggingFaceModel) -> bool:
    """Return whether a text that is read in pieces, beside another, has the logits of the whole."""
    texts = _texts(model)
    first, second = (each.ids for each in texts)
    whole = [*first, *second]
    with torch.no_grad():
        wanted = model(*_row(whole))[0, -1]
    cache = model.start_cache(2)
    model.extend([whole[:3], whole[:1]], [0, 1], cache)
    model.extend([whole[1:]], [1], cache)
    found = model.extend([[5, 3], whole[3:]], [1, 0], cache)
    return _agree(found[1], wanted)


def reads_pictures(model: HuggingFaceModel) -> bool:
    """Return whether its pictures have the places and features that the model itself gives them."""
    table = model.pictures
    assert table is not None  # Only such a model is asked.
    text, _ = _texts(model)
    shown = torch.tensor([text.ids], device=model.device)
    plain = torch.tensor([table.plain(text.ids)], device=model.device)
    given: dict[str, Any] = {
        "mm_token_type_ids": (plain == table.placeholder).int(),
        **table.find(shown[shown >= table.first]).inputs,
    }
    taken = inspect.signature(model.inner.forward).parameters
    inputs = {name: value.to(model.device) for name, value in given.items() if name in taken}
    with torch.no_grad():
        found = model(*_row(text.ids))[0]
        wanted = model.inner(input_ids=plain, **inputs, use_cache=False).logits[0]
    return _agree(found, wanted)


def _leaks(model: HuggingFaceModel, first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether the logits of a second sequence depend on the first at all."""
    embedded = list[Tensor]()

    def keep(_: object, __: object, vectors: Tensor) -> Tensor:
        embedded.append(vectors.detach().requires_grad_())
        return embedded[-1]

    hook = model.inner.get_input_embeddings().register_forward_hook(keep)
    try:
        logits = model(*_row(first, second))
    finally:
        hook.remove()
    # The embeddings of the row are asked for last, after those of sampled placeholders.
    told = logits[0, len(first) :].float().square().sum()
    (slope,) = torch.autograd.grad(told, embedded[-1])
    return bool((slope[0, : len(first)] != 0).any())


def _texts(model: HuggingFaceModel) -> tuple[ShownTokens, ShownTokens]:
    """Return two texts; hold them as long as the model reads them."""
    table = model.pictures
    if table is None:
        return ShownTokens(list(_FIRST)), ShownTokens(list(_SECOND))
    one, other = (_noise(*size) for size in _SIZES)
    runs = [[table.placeholder] * table.count(each) for each in (one, other)]
    first = [*_FIRST[:2], *runs[0], *_FIRST[2:4], *runs[1], *_FIRST[4:]]
    second = [*_SECOND[:1], *runs[1], *_SECOND[1:]]
    return table.shown(first, [one, other]), table.shown(second, [other])


def _noise(height: int, width: int) -> Image:
    drawn: Image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return drawn


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
