"""Packs token sequences of different lengths into rows of one length, so that little is padding.

Sequences are placed longest first, each into the first row that has room for it (first-fit
decreasing: Johnson 1973 shows that it needs at most 11/9 of the fewest rows, plus one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

PADDING: Final = -1
"""Segment of positions without a token."""


@dataclass(frozen=True)
class Packed:
    """Sequences in rows.

    Attributes:
        ids: ``int64[B, T]``, 0 at padding.
        positions: ``int64[B, T]``, the place of each token in its sequence.
        segments: ``int64[B, T]``, the index of each token's sequence; `PADDING` elsewhere.
        rows: ``int64[N]``, the row of each token, in the order of the sequences.
        columns: ``int64[N]``, its column.
    """

    ids: Tensor
    positions: Tensor
    segments: Tensor
    rows: Tensor
    columns: Tensor

    def unpacked(self, values: Tensor) -> Tensor:
        """Return ``[N, ...]``: the values ``[B, T, ...]`` of the tokens, sequence by sequence."""
        return values[self.rows.to(values.device), self.columns.to(values.device)]


def pack(sequences: Sequence[Sequence[int]], length: int) -> Packed:
    """Pack sequences into rows of `length` tokens.

    Args:
        sequences: Token ids; none longer than `length`.
        length: Tokens in a row.

    Raises:
        ValueError: There is no sequence, or one is empty or too long; the message gives its index.
    """
    for index, sequence in enumerate(sequences):
        if not 0 < len(sequence) <= length:
            raise ValueError(f"sequence {index} has {len(sequence)} tokens; expected 1 to {length}")
    if not sequences:
        raise ValueError("there is no sequence to pack")
    places = _places([len(sequence) for sequence in sequences], length)
    size = (1 + max(row for row, _ in places), length)
    ids, positions = torch.zeros(size, dtype=torch.long), torch.zeros(size, dtype=torch.long)
    segments = torch.full(size, PADDING)
    rows, columns = [], []
    for index, (sequence, (row, start)) in enumerate(zip(sequences, places, strict=True)):
        where = slice(start, start + len(sequence))
        ids[row, where] = torch.tensor(sequence)
        positions[row, where] = torch.arange(len(sequence))
        segments[row, where] = index
        rows.append(torch.full((len(sequence),), row))
        columns.append(torch.arange(start, start + len(sequence)))
    return Packed(ids, positions, segments, torch.cat(rows), torch.cat(columns))


def _places(lengths: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Return the row and the first column of each sequence."""
    places = [(0, 0)] * len(lengths)
    used: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        fits = (row for row, held in enumerate(used) if held + lengths[index] <= length)
        row = next(fits, len(used))
        if row == len(used):
            used.append(0)
        places[index] = (row, used[row])
        used[row] += lengths[index]
    return places
