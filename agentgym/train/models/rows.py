"""Keys and values of many dialogues for models of transformers: a row each, with its own length.

The caches of transformers give all rows of a batch one length. Here each row has its own, so that
dialogues join and leave a batch at any token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(frozen=True)
class Reading:
    """The tokens that one pass adds, B rows of which the shorter are padded in front.

    Attributes:
        rows: ``int64[B]``, rows of the cache in ascending order.
        positions: ``int64[B, T]``, of each token in its row; 0 at padding.
        seen: ``bool[B, 1, T, end]``, the places of the row that each token sees.
        real: Two vectors ``int64[N]``: row of the batch and column of each token.
        end: One past the largest position.
        first: The first row if the rows follow one another, else None.
    """

    rows: Tensor
    positions: Tensor
    seen: Tensor
    real: tuple[Tensor, Tensor]
    end: int
    first: int | None


class RowCache(Cache):  # type: ignore[misc]
    """See the module. `begin`, a pass of the model and `finish` add tokens.

    Args:
        rows: Number of rows.
        context: Largest number of tokens of a row.
    """

    def __init__(self, rows: int, context: int) -> None:
        super().__init__(layer_class_to_replicate=_RowLayer)
        self._lengths, self._gains, self._context = [0] * rows, [0] * rows, context
        self._reading: Reading | None = None
        self._counts: list[tuple[int, int]] = []

    def clear(self, row: int) -> None:
        """Forget the tokens of a row."""
        self._lengths[row] = self._gains[row] = 0

    def length(self, row: int) -> int:
        """Return the number of tokens that a row holds."""
        return self._lengths[row]

    def gain(self, row: int) -> int:
        """Return how much further positions are after a row than its tokens alone would make."""
        return self._gains[row]

    def begin(self, rows: Sequence[int], counts: Sequence[int], device: torch.device) -> Reading:
        """Plan to add tokens to rows.

        Args:
            rows: In ascending order.
            counts: Number of tokens for each.
            device: Where the keys and values are.

        Raises:
            ValueError: A row would hold more tokens than the context, or gets none.
        """
        before = [self._lengths[row] for row in rows]
        for count, held in zip(counts, before, strict=True):
            if not 0 < count <= self._context - held:
                raise ValueError(f"{count} tokens after {held} with a context of {self._context}")
        longest = max(counts)
        ends = torch.tensor([held + count for held, count in zip(before, counts, strict=True)])
        places = ends[:, None] - longest + torch.arange(longest)
        real = (places >= torch.tensor(before)[:, None]).nonzero()
        places, end = places.clamp(min=0), int(ends.max())
        seen = places[:, None, :, None] >= torch.arange(end)
        self._counts = list(zip(rows, counts, strict=True))
        self._reading = Reading(
            *(torch.tensor(rows, device=device), places.to(device), seen.to(device)),
            (real[:, 0].to(device), real[:, 1].to(device)),
            end,
            rows[0] if rows[-1] - rows[0] == len(rows) - 1 else None,
        )
        return self._reading

    def finish(self, gains: Sequence[int]) -> None:
        """Count the tokens that `begin` planned.

        Args:
            gains: For each row, what its pictures add to the positions after them.
        """
        for (row, count), gain in zip(self._counts, gains, strict=True):
            self._lengths[row] += count
            self._gains[row] += gain
        self._reading, self._counts = None, []

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *arguments: object,
        **options: object,
    ) -> tuple[Tensor, Tensor]:
        """Add ``[B, heads, T, D]`` to a layer; return all that the rows hold."""
        assert self._reading is not None  # A pass follows `begin`.
        while len(self.layers) <= layer_idx:
            self.layers.append(_RowLayer())
        layer = self.layers[layer_idx]
        size = (len(self._lengths), self._context)
        held: tuple[Tensor, Tensor] = layer.update(
            key_states, value_states, reading=self._reading, size=size
        )
        return held


class _RowLayer(CacheLayerMixin):  # type: ignore[misc]
    """Keys and values of one layer: ``[rows, heads, context, D]``."""

    is_sliding = False

    def lazy_initialization(
        self, key_states: Tensor, value_states: Tensor, size: tuple[int, int] = (0, 0)
    ) -> None:
        """Make room, in the kind and on the device of the first keys and values."""
        rows, context = size
        self.keys, self.values = (
            states.new_zeros(rows, states.shape[1], context, states.shape[3])
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        *arguments: object,
        reading: Reading,
        size: tuple[int, int],
    ) -> tuple[Tensor, Tensor]:
        """Add keys and values; return all that the rows of `reading` hold."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states, size)
        assert self.keys is not None and self.values is not None
        row, column = reading.real
        target, position = reading.rows[row], reading.positions[row, column]
        self.keys[target, :, position] = key_states[row, :, column]
        self.values[target, :, position] = value_states[row, :, column]
        return _held(self.keys, reading), _held(self.values, reading)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of keys, and the first."""
        return self.get_seq_length(), 0

    def get_seq_length(self) -> int:
        """Return the largest number of keys of a row."""
        return 0 if self.keys is None else int(self.keys.shape[2])

    def get_max_length(self) -> int:
        """Return the largest number of keys of a row."""
        return self.get_seq_length()


def _held(states: Tensor, reading: Reading) -> Tensor:
    if reading.first is not None:
        return states[reading.first : reading.first + len(reading.rows), :, : reading.end]
    return states[reading.rows, :, : reading.end]
