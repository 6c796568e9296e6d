"""Pictures as tokens: each patch of a picture has an id of its own above the vocabulary.

A vision-language model reads a picture as a run of placeholder tokens, whose embeddings are
replaced by features of the picture. Which picture a placeholder means is told beside the tokens, so
rows, caches and packing would all have to carry pictures. Here a placeholder becomes an id that
names its picture and its patch, and the model alone resolves it. A record holds plain placeholders,
and the pictures in the observations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from agentgym.records import Image


class PictureTable:
    """The pictures of the dialogues of one model.

    Copies of a model share the table of the original.

    Args:
        vocabulary: Number of tokens of the model; ids of patches begin there.
        placeholder: Id of the placeholder token.
        patches: Number of placeholders of a picture.
        prepare: Turns a picture, ``uint8[H, W, 3]``, into ``float[3, h, w]`` as the model sees it.

    Attributes:
        first: The first id of a patch.
        placeholder: As above.
        patches: As above.

    Raises:
        ValueError: A picture has no placeholder.
    """

    def __init__(
        self,
        vocabulary: int,
        placeholder: int,
        patches: int,
        prepare: Callable[[Image], Tensor],
    ) -> None:
        if patches < 1:
            raise ValueError(f"expected at least one placeholder for a picture, got {patches}")
        self.first, self.placeholder, self.patches = vocabulary, placeholder, patches
        self._prepare = prepare
        self._numbers: dict[str, int] = {}
        self._pixels: list[Tensor] = []

    def __deepcopy__(self, memo: object) -> PictureTable:
        return self

    def shown(self, ids: Sequence[int], pictures: Sequence[Image]) -> list[int]:
        """Return tokens in which each placeholder names its picture and its patch.

        Args:
            ids: Tokens with placeholders.
            pictures: The pictures, in the order of their placeholders.

        Raises:
            ValueError: There are not as many placeholders as the pictures need.
        """
        wanted, held = len(pictures) * self.patches, list(ids).count(self.placeholder)
        if held != wanted:
            raise ValueError(f"{len(pictures)} pictures need {wanted} placeholders, not {held}")
        patches = (patch for picture in pictures for patch in self._ids(picture))
        return [next(patches) if token == self.placeholder else token for token in ids]

    def plain(self, ids: Sequence[int]) -> list[int]:
        """Return tokens with placeholders, as a record holds them."""
        return [self.placeholder if token >= self.first else token for token in ids]

    def find(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the pictures of ids of patches: ``float[P, 3, h, w]``, and where each id points.

        Args:
            ids: ``int64[N]``, all of them ids of patches.

        Returns:
            The pixels of the distinct pictures, for each id the index of its picture there, and
            its patch.
        """
        places = ids - self.first
        numbers, which = torch.unique(places // self.patches, return_inverse=True)
        pixels = torch.stack([self._pixels[number] for number in numbers.tolist()])
        return pixels, which, places % self.patches

    def _ids(self, picture: Image) -> range:
        digest = hashlib.sha256(str(picture.shape).encode() + picture.tobytes()).hexdigest()
        number = self._numbers.setdefault(digest, len(self._pixels))
        if number == len(self._pixels):
            self._pixels.append(self._prepare(picture))
        begin = self.first + number * self.patches
        return range(begin, begin + self.patches)
