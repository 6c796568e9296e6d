"""Stores the generations of models in a column and a blob: arrays are stored as arrays.

The blob of a step holds the bytes of all its arrays in sequence, little-endian; the column lists
their dtypes and shapes in numpy's notation: ``{"logprobs": ["<f4", [17]]}``. Of a prompt it holds
the ids that an earlier generation lacks (`prompts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from agentgym.record.packing import Packing
from agentgym.record.prompts import PromptBase, RecentTokens
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
    """The written form of one generation; with a base, `prompt_ids` are the ids after it."""

    arrays: _Arrays = field(default_factory=_Arrays)
    finish_reason: str | None = None
    policy_version: str | None = None
    sampling: Mapping[str, Json] | None = None
    rejected: bool = False
    prompt_base: PromptBase | None = None


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

    def pack(
        self, generations: tuple[Generation, ...] | None, step: int, recent: RecentTokens
    ) -> str | None:
        """Return the column; None if the generations are not known.

        Args:
            generations: The generations of a step.
            step: Index of the step.
            recent: The generations before it in the trajectory.

        Raises:
            RecordError: The blob cannot be written.
        """
        if generations is None:
            return None
        data, written = bytearray(), list[_Written]()
        for number, generation in enumerate(generations):
            written.append(_written(generation, recent, data))
            recent = recent.after_one(step, number, generation.tokens)
        blob = self._packing.blobs.put(bytes(data)) if data else None
        return self._packing.pack(_Column(tuple(written), blob))

    def unpack(
        self, column: object, step: int, recent: RecentTokens
    ) -> tuple[Generation, ...] | None:
        """Return the generations of a column that `pack` returned.

        Args:
            column: The column.
            step: Index of the step.
            recent: The generations before it in the trajectory.

        Raises:
            ValueError: The column is damaged; the message names the field.
            RecordError: The blob is damaged.
        """
        if column is None:
            return None
        found = read(_Column, self._packing.unpack(column, "generations"), "generations")
        data = b"" if found.blob is None else self._packing.blobs.get(found.blob)
        source, generations = _Source(data), list[Generation]()
        for number, written in enumerate(found.generations):
            generations.append(source.generation(written, recent))
            recent = recent.after_one(step, number, generations[-1].tokens)
        if source.left:
            raise ValueError(f"generations.blob: {source.left} bytes that belong to no array")
        return tuple(generations)


def _written(generation: Generation, recent: RecentTokens, data: bytearray) -> _Written:
    arrays, base = {}, None
    for name, dtype in _DTYPES.items():
        if (array := getattr(generation.tokens, name)) is not None:
            if name == "prompt_ids":
                base, array = recent.split(array)
            arrays[name] = (dtype, tuple(array.shape))
            data += array.astype(dtype, copy=False).tobytes()
    return _Written(
        _Arrays(**arrays),
        generation.finish_reason,
        generation.policy_version,
        generation.sampling,
        generation.rejected,
        base,
    )


class _Source:
    """Cuts arrays out of a blob, in the order of writing."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    @property
    def left(self) -> int:
        return len(self._data)

    def generation(self, written: _Written, recent: RecentTokens) -> Generation:
        where = "generations.arrays"
        arrays = {
            name: self._array(f"{where}.{name}", dtype, *layout)
            for name, dtype in _DTYPES.items()
            if (layout := getattr(written.arrays, name)) is not None
        }
        if written.prompt_base is not None:
            try:
                arrays["prompt_ids"] = recent.join(written.prompt_base, arrays["prompt_ids"])
            except (KeyError, ValueError) as error:
                raise ValueError(f"generations.prompt_base: {error}") from error
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
