"""The families of vision-language models whose way to lay out pictures is known.

A family is the `model_type` of a configuration. Whether a model lays out pictures as its family
does is tried when it is loaded (`examine`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from torch import Tensor

from agentgym.errors import ConfigError
from agentgym.records import Image
from agentgym.train.models.foreign_model import named
from agentgym.train.models.picture_layout import (
    PictureLayout,
    Prepare,
    in_a_grid,
    in_a_row,
)
from agentgym.train.models.pictures import PictureTable

_MOST_SIDE: Final = 4_096
"""Pixels of a side to which a picture is resized or cut, or of a patch."""
_MOST_PIXELS: Final = 1 << 25
"""Pixels of a picture that is resized in its own proportions."""
_MOST_ENLARGED: Final = 1 << 20
"""Pixels to which a smaller picture is enlarged."""

_Lay: TypeAlias = Callable[[Any, Any, Prepare], PictureLayout]


def _lay_in_a_row(inner: Any, processor: Any, prepare: Prepare) -> PictureLayout:
    """Lay out pictures that are all resized to one size."""
    _refuse_others(processor, "CLIPImageProcessor", "LlavaImageProcessor", "SiglipImageProcessor")
    _refuse_sizes(processor, ("size", "crop_size", "pad_size"), _MOST_SIDE)
    blank = np.zeros((8, 8, 3), np.uint8)
    pixels = {name: value.to(inner.device, inner.dtype) for name, value in prepare(blank).items()}
    (features,) = inner.get_image_features(**pixels, return_dict=True).pooler_output
    return in_a_row(inner.config.image_token_id, len(features), prepare)


def _lay_in_a_grid(inner: Any, processor: Any, prepare: Prepare) -> PictureLayout:
    """Lay out pictures that keep their proportions."""
    _refuse_others(processor, "Qwen2VLImageProcessor")
    _refuse_sizes(processor, ("size",), _MOST_PIXELS)
    sides = ("pad_size", "patch_size", "temporal_patch_size", "merge_size")
    _refuse_sizes(processor, sides, _MOST_SIDE)
    if (fewest := dict(processor.size)["shortest_edge"]) > _MOST_ENLARGED:
        raise ValueError(f"its preprocessor enlarges pictures to {fewest:,} pixels")
    vision = inner.config.vision_config
    for name, given in (("patch_size", "patch_size"), ("merge_size", "spatial_merge_size")):
        if getattr(processor, name, None) != getattr(vision, given):
            raise ValueError(f"its preprocessor and its configuration differ in {name}")
    return in_a_grid(inner.config.image_token_id, vision.spatial_merge_size, prepare)


FAMILIES: Final[Mapping[str, _Lay]] = {
    "llava": _lay_in_a_row,
    "qwen2_vl": _lay_in_a_grid,
    "qwen2_5_vl": _lay_in_a_grid,
    "qwen3_vl": _lay_in_a_grid,
    "qwen3_vl_moe": _lay_in_a_grid,
}
"""By the `model_type` of a configuration."""


def sees_pictures(config: Any, path: str, *, wanted: bool) -> bool:
    """Return whether a model of a known family is to be loaded, which reads pictures.

    Args:
        config: The configuration of the model.
        path: Names it in messages.
        wanted: Whether the user asks for pictures.

    Raises:
        ConfigError: Pictures are wanted, or the model is nothing without them, and how its family
            lays them out is not known.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    if config.model_type in FAMILIES:
        return True
    if wanted:
        told = "reads pictures in a way that is" if _has_vision(config) else "is"
    elif _has_vision(config) and type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        told = "reads pictures in a way that is"
    else:
        return False
    raise ConfigError(
        f"policy.path: {path} is of the family {config.model_type!r}, which {told} none of those "
        f"known here: {', '.join(FAMILIES)}; choose a model of one of these"
    )


def open_pictures(inner: Any, processor: Any, path: str) -> PictureTable:
    """Return the pictures of a model of a known family.

    Args:
        inner: The model.
        processor: Its image processor.
        path: Names it in messages.

    Raises:
        ConfigError: The processor and the model do not belong together.
    """

    def prepare(image: Image) -> Mapping[str, Tensor]:
        made: Mapping[str, Tensor] = processor(images=[image], return_tensors="pt").data
        return made

    with named(path):
        layout = FAMILIES[inner.config.model_type](inner, processor, prepare)
        return PictureTable(inner.get_input_embeddings().num_embeddings, layout)


def load_processor(path: str) -> Any:
    """Return the image processor of a model.

    Raises:
        ConfigError: It cannot be loaded.
    """
    from transformers import AutoImageProcessor

    is_folder = Path(path).is_dir()
    names = ("preprocessor_config.json", "processor_config.json")
    if is_folder and not any((Path(path) / name).is_file() for name in names):
        raise ConfigError(
            f"policy.path: {path} has no {names[0]}, which says how pictures are read; save the "
            "image processor of the model beside it"
        )
    with named(path):
        # The other backend rounds otherwise, and is there on some machines only.
        return AutoImageProcessor.from_pretrained(
            path, trust_remote_code=False, local_files_only=is_folder, backend="pil"
        )


def _has_vision(config: Any) -> bool:
    return getattr(config, "vision_config", None) is not None


def _refuse_others(processor: Any, *names: str) -> None:
    """Refuse processors of other kinds, which may make pictures of any size.

    Raises:
        ValueError: It has another name than these.
    """
    name = type(processor).__name__.removesuffix("Pil")
    if name not in names:
        raise ValueError(f"its preprocessor is a {name}; expected {' or '.join(names)}")


def _refuse_sizes(processor: Any, names: tuple[str, ...], most: int) -> None:
    """Refuse sizes to which no model resizes pictures.

    Raises:
        ValueError: One is too large, or not positive.
    """
    for name in names:
        value = getattr(processor, name, None)
        sizes = [value] if value is None or isinstance(value, int) else dict(value).values()
        for each in sizes:
            if each is not None and not (isinstance(each, int) and 0 < each <= most):
                raise ValueError(f"its preprocessor: {name} is {each!r:.40}, more than {most:,}")
