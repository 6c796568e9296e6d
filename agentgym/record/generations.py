"""Stores the generations of models in a column and a blob: arrays are stored as arrays.

The blob of a step holds the bytes of all its arrays in sequence, little-endian; the column lists
their dtypes and shapes in numpy's notation: ``{"logprobs": ["<f4", [17]]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from agentgym.record.packing import Packing
from agentgym.record.reading import read
from agentgym.records import Generation, Json, TokenTrace

_DTYPES: Final = {
    "prompt_ids": "<i4",
    "completion_ids": "<i4",
    "logprobs": "<f4",
    "loss_mask": "|b1",
}


_Layout: TypeAlias = tuple[str, tuple[int, ...]]
"""Dtype and shape of an array."""


@dataclass(frozen=True, slots=True)
class _Arrays:
    """The arrays of one generation, in the order of their bytes; None if an array is unknown."""

    prompt_ids: _Layout | None = None
    completion_ids: _Layout | None = None
    logprobs: _Layout | None = None
    loss_mask: _Layout | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    """The written form of one generation."""

    arrays: _Arrays = field(default_factory=_Arrays)
    finish_reason: str | None = None
    policy_version: str | None = None
    sampling: Mapping[str, Json] | None = None
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    """The generations of a step, and the name of the blob with their arrays, None if empty."""

    generations: tuple[_Written, ...]
    blob: str | None = None


class GenerationColumn:
    """Packs the generations of a decision into a column and back.

    Args:
        packing: Packs values into columns.
    """

    def __init__(self, packing: Packing) -> None:
        self._packing = packing

    def pack(self, generations: tuple[Generation, ...] | None) -> str | None:
        """Return the column; None if the generations are not known.

        Raises:
            RecordError: The blob cannot be written.
        """
        if generations is None:
            return None
        data = bytearray()
        written = tuple(_written(generation, data) for generation in generations)
        blob = self._packing.blobs.put(bytes(data)) if data else None
        return self._packing.pack(_Column(written, blob))

    def unpack(self, column: object) -> tuple[Generation, ...] | None:
        """Return the generations of a column that `pack` returned.

        Raises:
            ValueError: The column is damaged; the message names the field.
            RecordError: The blob is damaged.
        """
        if column is None:
            return None
        found = read(_Column, self._packing.unpack(column, "generations"), "generations")
        data = b"" if found.blob is None else self._packing.blobs.get(found.blob)
        source = _Source(data)
        generations = tuple(source.generation(written) for written in found.generations)
        if source.left:
            raise ValueError(f"generations.blob: {source.left} bytes that belong to no array")
        return generations


def _written(generation: Generation, data: bytearray) -> _Written:
    arrays = {}
    for name, dtype in _DTYPES.items():
        if (array := getattr(generation.tokens, name)) is not None:
            arrays[name] = (dtype, tuple(array.shape))
            data += array.astype(dtype, copy=False).tobytes()
    return _Written(
        _Arrays(**arrays),
        generation.finish_reason,
        generation.policy_version,
        generation.sampling,
        generation.rejected,
    )


class _Source:
    """Cuts arrays out of a blob, in the order of writing."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    @property
    def left(self) -> int:
        return len(self._data)

    def generation(self, written: _Written) -> Generation:
        where = "generations.arrays"
        arrays = {
            name: self._array(f"{where}.{name}", dtype, *layout)
            for name, dtype in _DTYPES.items()
            if (layout := getattr(written.arrays, name)) is not None
        }
        try:
            tokens = TokenTrace(**arrays)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        return Generation(
            tokens,
            written.finish_reason,
            written.policy_version,
            written.sampling,
            written.rejected,
        )

    def _array(self, where: str, expected: str, dtype: str, shape: tuple[int, ...]) -> Any:
        if dtype != expected or len(shape) != 1 or shape[0] < 0:
            raise ValueError(f"{where}: expected {expected} in one dimension, got {dtype[:20]!r}")
        size = shape[0] * np.dtype(dtype).itemsize
        if size > self.left:
            raise ValueError(f"{where}: expected {size} bytes, the blob has {self.left} more")
        part, self._data = self._data[:size], self._data[size:]
        if dtype == "|b1" and bytes(part).strip(b"\0\1"):
            raise ValueError(f"{where}: a byte that is neither true nor false")
        return np.frombuffer(part, dtype)
