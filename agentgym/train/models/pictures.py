"""Pictures as tokens: each placeholder of a picture has an id of its own above the vocabulary.

A vision-language model reads a picture as a run of placeholder tokens, whose embeddings are
replaced by features of the picture. Which picture a placeholder means is told beside the tokens, so
rows, caches and packing would all have to carry pictures. Here a placeholder becomes an id that
names its picture and its place in it, and the model alone resolves it. A record holds plain
placeholders, and the pictures in the observations.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from agentgym.records import Image
from agentgym.train.models.picture_layout import (
    PictureLayout,
    PreparedPicture,
    UnreadablePictureError,
)

_MOST: Final = 1 << 20
"""More placeholders than a picture has."""
_MOST_RATIO: Final = 200
"""Of the sides of a picture. Resized by its short side, a thinner one takes much memory."""
_KEPT: Final = 16
"""Pictures that stay prepared; others are prepared anew when a model reads them again."""


@dataclass(frozen=True, eq=False)
class ShownPicture:
    """A picture that tokens name; it is forgotten when nothing holds it any more.

    Attributes:
        image: The picture.
        number: Which it is; never used again.
        digest: Of its pixels.
        offsets: ``int64[axes, n]``; see `PreparedPicture`.
        gain: See `PreparedPicture`.
    """

    image: Image
    number: int
    digest: str
    offsets: Tensor
    gain: int


@dataclass(frozen=True)
class ShownTokens:
    """Tokens as a model reads them.

    Attributes:
        ids: The tokens.
        pictures: Those that they name. Hold them as long as a model reads the tokens.
    """

    ids: list[int]
    pictures: tuple[ShownPicture, ...] = ()


@dataclass(frozen=True)
class FoundPictures:
    """The pictures that the placeholders of a batch name; N placeholders.

    Attributes:
        inputs: Inputs of ``get_image_features`` for the distinct pictures.
        rows: ``int64[N]``, the feature of each placeholder among those of all these pictures.
        patches: ``int64[N]``, its place in its picture.
        offsets: ``int64[axes, N]``, how far its position is from the picture's first.
        gains: ``int64[N]``, how much further the positions after it are: 0 but for the last one of
            a picture.
    """

    inputs: Mapping[str, Tensor]
    rows: Tensor
    patches: Tensor
    offsets: Tensor
    gains: Tensor


class PictureTable:
    """The pictures of the dialogues of one model. Any thread may ask it.

    Copies of a model share the table of the original.

    Args:
        vocabulary: Number of tokens of the model; ids of pictures begin there.
        layout: How the model lays out pictures.

    Attributes:
        first: The first id of a picture.
        layout: As above.
    """

    def __init__(self, vocabulary: int, layout: PictureLayout) -> None:
        self.first, self.layout = vocabulary, layout
        self._lock = threading.RLock()
        self._entered = 0
        self._by_digest = WeakValueDictionary[str, ShownPicture]()
        self._by_number = WeakValueDictionary[int, ShownPicture]()
        self._prepared = OrderedDict[str, PreparedPicture]()

    def __deepcopy__(self, memo: object) -> PictureTable:
        return self

    def __len__(self) -> int:
        """Return the number of pictures that something holds."""
        return len(self._by_number)

    @property
    def placeholder(self) -> int:
        """Id of the placeholder token."""
        return self.layout.placeholder

    def count(self, picture: Image) -> int:
        """Return the number of placeholders of a picture.

        Raises:
            UnreadablePictureError: The model cannot read a picture of this size.
        """
        with self._lock:
            return self._prepare(_digest(picture), picture).placeholders

    def shown(self, ids: Sequence[int], pictures: Sequence[Image]) -> ShownTokens:
        """Return tokens in which each placeholder names its picture and its place there.

        Args:
            ids: Tokens with placeholders.
            pictures: The pictures, in the order of their placeholders.

        Raises:
            ValueError: There are not as many placeholders as the pictures need, or those of a
                picture do not follow each other.
            UnreadablePictureError: The model cannot read a picture of such a size.
        """
        with self._lock:
            entered = tuple(map(self._enter, pictures))
        counts = [each.offsets.shape[1] for each in entered]
        places = [place for place, token in enumerate(ids) if token == self.placeholder]
        if len(places) != sum(counts):
            raise ValueError(
                f"{len(counts)} pictures need {sum(counts)} placeholders, not {len(places)}"
            )
        read, begin = list(ids), 0
        for number, (each, count) in enumerate(zip(entered, counts, strict=True)):
            mine, begin = places[begin : begin + count], begin + count
            if mine[-1] - mine[0] != count - 1:
                raise ValueError(f"the {count} placeholders of picture {number} are not in a row")
            start = self.first + each.number * _MOST
            read[mine[0] : mine[-1] + 1] = range(start, start + count)
        return ShownTokens(read, entered)

    def plain(self, ids: Sequence[int]) -> list[int]:
        """Return tokens with placeholders, as a record holds them."""
        return [self.placeholder if token >= self.first else token for token in ids]

    def find(self, ids: Tensor) -> FoundPictures:
        """Return the pictures of ids.

        Args:
            ids: ``int64[N]``, all of them ids of pictures; at least one.

        Raises:
            ValueError: A picture is not held any more.
        """
        places = ids.cpu() - self.first
        numbers, which = torch.unique(places // _MOST, return_inverse=True)
        patches = places % _MOST
        with self._lock:
            shown = [self._held(number) for number in numbers.tolist()]
            prepared = [self._prepare(each.digest, each.image) for each in shown]
        counts = torch.tensor([each.placeholders for each in prepared])
        gains = torch.tensor([each.gain for each in prepared])
        rows = (counts.cumsum(0) - counts)[which] + patches
        return FoundPictures(
            {name: torch.cat([p.inputs[name] for p in prepared]) for name in prepared[0].inputs},
            rows,
            patches,
            torch.cat([each.offsets for each in prepared], 1)[:, rows],
            torch.where(patches == counts[which] - 1, gains[which], 0),
        )

    def _enter(self, picture: Image) -> ShownPicture:
        digest = _digest(picture)
        found = self._by_digest.get(digest)
        if found is None:
            laid = self._prepare(digest, picture)
            found = ShownPicture(picture, self._entered, digest, laid.offsets, laid.gain)
            self._entered += 1
            self._by_digest[digest] = self._by_number[found.number] = found
        return found

    def _held(self, number: int) -> ShownPicture:
        found = self._by_number.get(number)
        if found is None:
            raise ValueError("tokens name a picture that is not held any more")
        return found

    def _prepare(self, digest: str, picture: Image) -> PreparedPicture:
        prepared = self._prepared.pop(digest, None)
        if prepared is None:
            height, width, _ = picture.shape
            try:
                _refuse_thin(height, width)
                prepared = self.layout.prepare(picture)
            except ValueError as error:
                told = f"a picture of {width} x {height} pixels: {error}"
                raise UnreadablePictureError(told) from error
            if not 0 < prepared.placeholders <= _MOST:
                raise UnreadablePictureError(
                    f"a picture of {width} x {height} pixels has {prepared.placeholders:,} "
                    f"placeholders; expected 1 to {_MOST:,}"
                )
        self._prepared[digest] = prepared
        while len(self._prepared) > _KEPT:
            self._prepared.popitem(last=False)
        return prepared


def _refuse_thin(height: int, width: int) -> None:
    """Refuse a picture of which no model sees anything.

    Raises:
        ValueError: It has no pixel, or one side is many times as long as the other.
    """
    short, long = sorted((height, width))
    if short < 1 or long > _MOST_RATIO * short:
        raise ValueError(f"expected sides with a ratio of at most {_MOST_RATIO}")


def _digest(picture: Image) -> str:
    return hashlib.sha256(str(picture.shape).encode() + picture.tobytes()).hexdigest()
