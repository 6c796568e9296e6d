"""The layout of a picture in a family of models: inputs, placeholders, and their positions.

A picture takes as many placeholders as the family says, one after the other. In models such as
LLaVA each has the next position. In Qwen2-VL and its successors (Wang et al. 2024, "M-RoPE") a
position has three parts (time, height, width). A picture begins at the next position in all three,
its placeholders differ in height and width, and the text goes on after the largest part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from torch import Tensor

from agentgym.records import Image

Prepare: TypeAlias = Callable[[Image], Mapping[str, Tensor]]
"""Turns a picture, ``uint8[H, W, 3]``, into the inputs of ``get_image_features``. Those of several
pictures are joined along their first axis."""

GRID: Final = "image_grid_thw"
"""The input that tells the patches of a picture in time, height and width: ``int64[1, 3]``."""


class UnreadablePictureError(ValueError):
    """A model cannot read a picture of such a size; the message says why."""


@dataclass(frozen=True)
class PreparedPicture:
    """A picture as a model takes it.

    Attributes:
        inputs: Inputs of ``get_image_features``.
        offsets: ``int64[axes, n]``: how far the position of each of its n placeholders is from the
            one at which the picture begins.
    """

    inputs: Mapping[str, Tensor]
    offsets: Tensor

    @property
    def placeholders(self) -> int:
        """Number of its placeholders."""
        return int(self.offsets.shape[1])

    @property
    def gain(self) -> int:
        """The distance by which it moves the positions after it, beyond its placeholders."""
        return int(self.offsets.max()) + 1 - self.placeholders


@dataclass(frozen=True)
class PictureLayout:
    """The way in which a model lays out pictures.

    Attributes:
        placeholder: Id of the placeholder token.
        axes: Number of parts of a position.
        prepare: Turns a picture into what the model takes; raises `ValueError` for a picture of a
            size that the model does not read.
    """

    placeholder: int
    axes: int
    prepare: Callable[[Image], PreparedPicture]


def in_a_row(placeholder: int, count: int, prepare: Prepare) -> PictureLayout:
    """Return the layout of models whose pictures all take `count` placeholders, as text does.

    Raises:
        ValueError: A picture has no placeholder.
    """
    if count < 1:
        raise ValueError(f"expected at least one placeholder for a picture, got {count}")
    offsets = torch.arange(count)[None]
    return PictureLayout(placeholder, 1, lambda image: PreparedPicture(prepare(image), offsets))


def in_a_grid(placeholder: int, merge: int, prepare: Prepare) -> PictureLayout:
    """Return the layout of models whose positions have the parts time, height and width.

    Args:
        placeholder: Id of the placeholder token.
        merge: A placeholder stands for so many patches in height, and in width.
        prepare: Its inputs hold `GRID`.

    Raises:
        ValueError: `merge` is not positive.
    """
    if merge < 1:
        raise ValueError(f"expected a positive number of patches for a placeholder, got {merge}")

    def prepared(image: Image) -> PreparedPicture:
        inputs = prepare(image)
        ((time, height, width),) = inputs[GRID].tolist()
        counts = [torch.arange(each) for each in (time, height // merge, width // merge)]
        axes = torch.meshgrid(*counts, indexing="ij")
        return PreparedPicture(inputs, torch.stack(axes).reshape(3, -1))

    return PictureLayout(placeholder, 3, prepared)
