"""A small transformer that learns from nothing on a CPU.

Decoder blocks with root-mean-square norms (Zhang and Sennrich 2019), rotary positions (Su et al.
2021) and gated feed-forward layers (Shazeer 2020); the embedding also gives the logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

_ROTARY_BASE: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class TinyShape:
    """Sizes of a tiny transformer.

    Attributes:
        vocabulary: Number of tokens.
        width: Size of a token's vector; a multiple of twice the heads.
        layers: Number of blocks.
        heads: Number of attention heads.
        context: Largest number of tokens of one sequence.

    Raises:
        ValueError: A size is not positive, or the width does not divide.
    """

    vocabulary: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 256

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "layers", "heads", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected a positive number, got {getattr(self, name)}")
        if self.width % (2 * self.heads):
            raise ValueError(
                f"width: expected a multiple of {2 * self.heads} (twice the heads), "
                f"got {self.width}"
            )


class TinyCache:
    """Keys and values by layer: ``float32[rows, heads, context, width / heads]``."""

    def __init__(self, shape: TinyShape, rows: int, device: torch.device) -> None:
        size = (rows, shape.heads, shape.context, shape.width // shape.heads)
        self.keys = [torch.zeros(size, device=device) for _ in range(shape.layers)]
        self.values = [torch.zeros(size, device=device) for _ in range(shape.layers)]
        self.lengths = [0] * rows

    def clear(self, row: int) -> None:
        """Forget the tokens of a row."""
        self.lengths[row] = 0

    def length(self, row: int) -> int:
        """Return the number of tokens that a row holds."""
        return self.lengths[row]


class TinyTransformer(nn.Module):
    """See the module. Weights are drawn from PyTorch's global generator.

    Args:
        shape: Its sizes.
    """

    def __init__(self, shape: TinyShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(_Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        nn.init.normal_(self.embedding.weight, std=0.02)

    @property
    def context(self) -> int:
        """Largest number of tokens of one sequence."""
        return self.shape.context

    @property
    def _device(self) -> torch.device:
        return self.embedding.weight.device

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor) -> Tensor:
        """Return ``float32[B, T, V]``; see `agentgym.protocols.training.CausalModel`."""
        ids, positions, segments = (each.to(self._device) for each in (ids, positions, segments))
        mine = segments[:, None, :, None] == segments[:, None, None, :]
        earlier = positions[:, None, :, None] >= positions[:, None, None, :]
        hidden, turn = self.embedding(ids), _rotation(positions, self.shape)
        for block in self.blocks:
            hidden = cast(_Block, block)(hidden, turn, mine & earlier)
        return self._logits(hidden)

    def start_cache(self, rows: int) -> TinyCache:
        """Return an empty cache with a number of rows."""
        return TinyCache(self.shape, rows, self._device)

    @torch.inference_mode()
    def extend(self, ids: Sequence[Sequence[int]], rows: Sequence[int], cache: TinyCache) -> Tensor:
        """Read more tokens into rows; see `agentgym.protocols.training.CausalModel`.

        Raises:
            ValueError: A row would hold more tokens than the context, or gets none.
        """
        counts, before = [len(each) for each in ids], [cache.lengths[row] for row in rows]
        for count, held in zip(counts, before, strict=True):
            if not 0 < count <= self.context - held:
                raise ValueError(f"{count} tokens after {held} with a context of {self.context}")
        longest = max(counts)
        padded = [[*each, *[0] * (longest - len(each))] for each in ids]
        device = self._device
        positions = torch.tensor(before, device=device)[:, None]
        offsets = torch.arange(longest, device=device)
        positions = positions + offsets
        real = (offsets < torch.tensor(counts, device=device)[:, None]).nonzero().T
        where = torch.tensor(rows, device=device)
        end = max(held + count for held, count in zip(before, counts, strict=True))
        seen = positions[:, None, :, None] >= torch.arange(end, device=device)
        hidden = self.embedding(torch.tensor(padded, device=device))
        turn = _rotation(positions, self.shape)
        for number, block in enumerate(self.blocks):
            keys, values = cache.keys[number], cache.values[number]
            store = _Store(keys, values, where, real, positions[real[0], real[1]], end)
            hidden = cast(_Block, block)(hidden, turn, seen, store)
        for row, count in zip(rows, counts, strict=True):
            cache.lengths[row] += count
        last = torch.tensor(counts, device=device) - 1
        return self._logits(hidden[torch.arange(len(rows), device=device), last])

    def _logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(self.norm(hidden), self.embedding.weight).float()


@dataclass(frozen=True)
class _Store:
    """The part of a cache that one layer extends, and where the real tokens of a batch go."""

    keys: Tensor
    values: Tensor
    rows: Tensor
    real: Tensor
    positions: Tensor
    end: int

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write ``[B, heads, T, D]`` and return all that the rows hold, up to `end`."""
        row, column = self.real
        for held, new in ((self.keys, keys), (self.values, values)):
            held[self.rows[row], :, self.positions] = new[row, :, column]
        return self.keys[self.rows, :, : self.end], self.values[self.rows, :, : self.end]


class _Block(nn.Module):
    def __init__(self, shape: TinyShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.attention_norm = nn.RMSNorm(shape.width)
        self.attention = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.output = nn.Linear(shape.width, shape.width, bias=False)
        self.feed_norm = nn.RMSNorm(shape.width)
        self.gate = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.down = nn.Linear(2 * shape.width, shape.width, bias=False)

    def forward(
        self, hidden: Tensor, turn: Tensor, seen: Tensor, store: _Store | None = None
    ) -> Tensor:
        queries, keys, values = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention(self.attention_norm(hidden)).chunk(3, dim=-1)
        )
        queries, keys = _rotated(queries, turn), _rotated(keys, turn)
        if store is not None:
            keys, values = store.add(keys, values)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
        hidden = hidden + self.output(mixed.transpose(1, 2).flatten(-2))
        gate, value = self.gate(self.feed_norm(hidden)).chunk(2, dim=-1)
        return cast(Tensor, hidden + self.down(functional.silu(gate) * value))


def _rotation(positions: Tensor, shape: TinyShape) -> Tensor:
    """Return the complex rotation of each pair of dimensions: ``complex64[B, 1, T, D / 2]``."""
    pairs = shape.width // shape.heads // 2
    exponents = torch.arange(pairs, device=positions.device) / pairs
    angles = positions[:, None, :, None] * _ROTARY_BASE**-exponents
    return torch.polar(torch.ones_like(angles), angles)


def _rotated(vectors: Tensor, turn: Tensor) -> Tensor:
    pairs = torch.view_as_complex(vectors.float().reshape(*vectors.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2).type_as(vectors)
