"""The inputs of a model of transformers for the tokens of a batch: ids, positions, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from agentgym.train.models.pictures import FoundPictures, PictureTable

_DEEP = "deepstack_features"
"""Features that further layers add to the placeholders (Qwen3-VL)."""


@dataclass(frozen=True)
class BatchInputs:
    """The tokens of B rows as a model takes them.

    Attributes:
        ids: ``int64[B, T]``, with plain placeholders.
        positions: ``int64[B, T]`` the place of each token in its sequence; for models whose
            positions have parts ``int64[1 + axes, B, T]``, where the places come first.
        shown: ``bool[B, T]``, the placeholders of pictures.
        pictures: The pictures that they name, in order; None if `shown` is False everywhere.
        gains: ``int64[B]``, how much further positions are after a row than its tokens alone would
            make them.
    """

    ids: Tensor
    positions: Tensor
    shown: Tensor
    pictures: FoundPictures | None
    gains: Tensor


def batch_inputs(
    table: PictureTable, ids: Tensor, places: Tensor, before: Tensor | None = None
) -> BatchInputs:
    """Lay out the tokens of a batch.

    Args:
        table: The pictures of the model.
        ids: ``int64[B, T]``.
        places: ``int64[B, T]``, the place of each token in its sequence.
        before: ``int64[B]``, how much further positions are where each row begins, if rows go on
            after tokens that were read before; None: sequences begin within the rows.
    """
    shown = ids >= table.first
    pictures = table.find(ids[shown]) if bool(shown.any()) else None
    patches, gained = torch.zeros_like(ids), torch.zeros_like(ids)
    offsets = ids.new_zeros(table.layout.axes, *ids.shape)
    if pictures is not None:
        patches[shown] = pictures.patches.to(ids.device)
        gained[shown] = pictures.gains.to(ids.device)
        offsets[:, shown] = pictures.offsets.to(ids.device)
    further = gained.cumsum(-1) - gained
    if before is None:  # What the sequences before in the row have gained does not count.
        starts = torch.arange(ids.shape[-1], device=ids.device) - places
        further = further - further.gather(-1, starts)
    else:
        further = further + before[:, None]
    positions = places
    if table.layout.axes > 1:
        positions = torch.cat([places[None], places - patches + further + offsets])
    plain = ids.masked_fill(shown, table.placeholder)
    return BatchInputs(plain, positions, shown, pictures, gained.sum(-1))


def picture_inputs(inner: Any, inputs: BatchInputs, pictures: FoundPictures) -> Mapping[str, Any]:
    """Return what a model takes beside the ids, so that placeholders have features of pictures.

    A placeholder that a policy sampled keeps its own embedding.

    Args:
        inner: A vision-language model of transformers.
        inputs: The tokens.
        pictures: Those of the tokens.
    """
    ids, device = inputs.ids, inputs.ids.device
    taken = {
        name: value.to(device, inner.dtype if value.is_floating_point() else None)
        for name, value in pictures.inputs.items()
    }
    encoded = inner.get_image_features(**taken, return_dict=True)
    embedding: nn.Module = inner.get_input_embeddings()
    placeholder = ids[inputs.shown][0]
    places = ids == placeholder
    (pictured,) = inputs.shown[places].nonzero(as_tuple=True)
    rows = pictures.rows.to(device)

    def features(parts: Any, otherwise: Tensor) -> list[Tensor]:
        found = torch.cat([*parts])[rows].to(otherwise.dtype)
        return [otherwise.index_put((pictured,), found)]

    own: Tensor = embedding(ids[places])
    encoded.pooler_output = features(encoded.pooler_output, own)
    if getattr(encoded, _DEEP, None) is not None:
        nothing = torch.zeros_like(own)
        deep = [features(parts, nothing) for parts in encoded[_DEEP]]
        encoded[_DEEP] = deep
    return {"mm_encoder_outputs": {"image": encoded}}
