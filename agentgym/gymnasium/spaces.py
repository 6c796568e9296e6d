"""Gymnasium spaces for tool calls, text and JSON, and their transport between processes.

`gymnasium.vector` moves observations through fixed arrays that it reads once, when it is built.
Text and JSON therefore get length-prefixed slots, and a view that decodes them on access.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, Generic, TypeVar, cast, overload

import numpy as np
from gymnasium.spaces import Box, Dict, Space
from gymnasium.vector.utils import (
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray

from agentgym.errors import ActionError
from agentgym.records import Action, Json, ObservationLimits, ToolSpec
from agentgym.surfaces.calls import check_call, draw_value, sample_call

NO_IMAGE: Final = (1, 1, 3)
_SIZE: Final = struct.Struct("<II")
_DRAWN: Final = 16

T = TypeVar("T")


def observation_space(limits: ObservationLimits) -> Dict:
    """Return the space of observations.

    Its parts are ``text`` (str), ``image`` (``uint8[H, W, 3]``) and ``data`` (JSON). One black
    pixel, ``uint8[1, 1, 3]``, stands for "no picture".

    Args:
        limits: Largest size of an observation. Without images the image is that one pixel.
    """
    image: Space[Any] = Box(0, 255, NO_IMAGE, np.uint8)
    if limits.pictures:
        image = PictureSpace(limits.image_width, limits.image_height)
    text, data = TextSpace(limits.text_bytes), JsonSpace(limits.data_bytes)
    return Dict({"text": text, "image": image, "data": data})


class ToolCallSpace(Space[dict[str, Json]]):
    """Legal calls of some tools: ``{"tool": "bash", "arguments": {"command": "ls"}}``.

    Example:
        >>> wait = ToolSpec("wait", "", {"properties": {"s": {"type": "number", "minimum": 0}}})
        >>> space = ToolCallSpace([wait])
        >>> {"tool": "wait", "arguments": {"s": 1}} in space
        True
        >>> {"tool": "wait", "arguments": {"s": "soon"}} in space
        False

    Args:
        tools: The tools; their JSON Schemas define the elements.
        seed: Seed for `sample`.
    """

    def __init__(self, tools: Sequence[ToolSpec], seed: int | None = None) -> None:
        self.tools = tuple(tools)
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: tool calls have no fixed size."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> dict[str, Json]:
        """Draw a legal call. Raises ValueError for a mask or probabilities: there is no list."""
        _refuse_masks(self, mask, probability)
        return sample_call(self.tools, self.np_random).to_json()

    def contains(self, x: object) -> bool:
        """Return whether `x`, a dict or an Action, is a legal call."""
        try:
            check_call(Action.from_json(x), self.tools)
        except ActionError:
            return False
        return True

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[dict[str, Json]]:
        """Return calls as JSON objects, which can be read back unchanged."""
        return [Action.from_json(x).to_json() for x in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolCallSpace) and self.tools == other.tools

    def __repr__(self) -> str:
        return f"ToolCallSpace({', '.join(tool.name for tool in self.tools)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolCallSpace:
        # The copy shares the tools: their compiled schemas are remembered by identity.
        copy = ToolCallSpace(self.tools)
        copy._np_random = deepcopy(self._np_random, memo)
        return copy


class SlotSpace(Space[T], Generic[T]):
    """Values of varying size that can be written as at most `max_bytes` bytes.

    Subclasses define the encoding (`encode`, `decode`), the value of an empty slot (`blank`), and
    the JSON Schema of a sample.
    """

    blank: T
    example: Json

    def __init__(self, max_bytes: int, seed: int | None = None) -> None:
        self.max_bytes = max_bytes
        super().__init__(seed=seed)

    def encode(self, value: Any) -> bytes:
        """Encode a value. Raises TypeError, ValueError or RecursionError for an invalid element."""
        raise NotImplementedError

    def decode(self, data: bytes) -> T:
        """Return the value that `encode` wrote."""
        raise NotImplementedError

    @property
    def is_np_flattenable(self) -> bool:
        """False: the values have no fixed size."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> T:
        """Draw a short value. Raises ValueError for a mask or probabilities."""
        _refuse_masks(self, mask, probability)
        value = draw_value(self.example, self.np_random)
        return cast("T", value) if self.contains(value) else self.blank

    def contains(self, x: object) -> bool:
        """Return whether `x` can be encoded within `max_bytes`."""
        try:
            return len(self.encode(x)) <= self.max_bytes
        except (TypeError, ValueError, RecursionError):
            return False

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.max_bytes == self.max_bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(max_bytes={self.max_bytes})"


class TextSpace(SlotSpace[str]):
    """Any Unicode text up to a length in UTF-8, without lone surrogates.

    Example:
        >>> "漢字" in TextSpace(6), "漢字" in TextSpace(5)
        (True, False)
    """

    blank = ""
    example: Json = {"type": "string"}

    def encode(self, value: Any) -> bytes:
        """Return the text in UTF-8."""
        if not isinstance(value, str):
            raise TypeError(f"expected text, got {type(value).__name__}")
        return value.encode()

    def decode(self, data: bytes) -> str:
        """Return the text."""
        return data.decode()


class JsonSpace(SlotSpace[Json]):
    """Any JSON value up to a length as ASCII text, with lists as sequences and text as keys."""

    blank = None
    example: Json = {"type": ["null", "boolean", "integer", "number", "string", "array"]}

    def encode(self, value: Any) -> bytes:
        """Return the value as JSON, if reading it gives the value back."""
        text = json.dumps(value, allow_nan=False)
        if json.loads(text) != value:
            raise ValueError("expected only lists, and objects with text as keys")
        return text.encode()

    def decode(self, data: bytes) -> Json:
        """Return the value."""
        return cast("Json", json.loads(data)) if data else self.blank


class PictureSpace(SlotSpace[NDArray[np.uint8]]):
    """Pictures of any size up to a width and a height: ``uint8[H, W, 3]``, RGB.

    Example:
        >>> PictureSpace(6, 8).contains(np.zeros((8, 5, 3), np.uint8))
        True

    Args:
        width: Largest width in pixels.
        height: Largest height in pixels.
        seed: Seed for `sample`.
    """

    blank = np.zeros(NO_IMAGE, np.uint8)

    def __init__(self, width: int, height: int, seed: int | None = None) -> None:
        self.width, self.height = width, height
        super().__init__(_SIZE.size + 3 * width * height, seed)

    def __eq__(self, other: object) -> bool:
        same_size = isinstance(other, PictureSpace) and other.width == self.width
        return same_size and super().__eq__(other)

    def __repr__(self) -> str:
        return f"PictureSpace({self.width}, {self.height})"

    def encode(self, value: Any) -> bytes:
        """Return height, width and the bytes of the pixels."""
        if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3:
            raise TypeError("expected uint8[H, W, 3]")
        height, width, colours = value.shape
        if colours != 3 or not (0 < width <= self.width and 0 < height <= self.height):
            raise ValueError(f"expected at most {self.width}x{self.height}, got {value.shape}")
        return _SIZE.pack(height, width) + value.tobytes()

    def decode(self, data: bytes) -> NDArray[np.uint8]:
        """Return the picture."""
        if not data:
            return self.blank
        size = _SIZE.unpack_from(data)
        return np.frombuffer(data, np.uint8, offset=_SIZE.size).reshape(*size, 3).copy()

    def sample(self, mask: None = None, probability: None = None) -> NDArray[np.uint8]:
        """Draw a small picture. Raises ValueError for a mask or probabilities."""
        _refuse_masks(self, mask, probability)
        height = int(self.np_random.integers(1, min(self.height, _DRAWN) + 1))
        width = int(self.np_random.integers(1, min(self.width, _DRAWN) + 1))
        return self.np_random.integers(0, 256, (height, width, 3), np.uint8)

    def to_jsonable(self, sample_n: Iterable[NDArray[np.uint8]]) -> list[Any]:
        """Return pictures as nested lists."""
        return [sample.tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[NDArray[np.uint8]]:
        """Return the pictures that `to_jsonable` wrote."""
        return [np.asarray(sample, np.uint8) for sample in sample_n]


def _refuse_masks(space: Space[Any], mask: object, probability: object) -> None:
    if mask is not None or probability is not None:
        raise ValueError(
            f"{space} cannot be listed, so it takes no mask and no probability; "
            f"got mask={mask!r}, probability={probability!r}"
        )


# --- between processes ---------------------------------------------------------------------

_LENGTH: Final = struct.Struct("<I")


class SlotView(Sequence[T]):
    """The present values in shared memory; a deep copy is a tuple that does not change."""

    def __init__(self, space: SlotSpace[T], shared: Any, n: int) -> None:
        self._space, self._n = space, n
        self._bytes = memoryview(shared.get_obj()).cast("B")

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._n)[index] * (_LENGTH.size + self._space.max_bytes) + _LENGTH.size
        (length,) = _LENGTH.unpack_from(self._bytes, start - _LENGTH.size)
        return self._space.decode(bytes(self._bytes[start : start + length]))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[T, ...]:
        return tuple(self)


@create_shared_memory.register(SlotSpace)
def _create_slots(space: SlotSpace[Any], n: int = 1, ctx: Any = None) -> Any:
    return ctx.Array("B", n * (_LENGTH.size + space.max_bytes))


@read_from_shared_memory.register(SlotSpace)
def _read_slots(space: SlotSpace[T], shared_memory: Any, n: int = 1) -> SlotView[T]:
    return SlotView(space, shared_memory, n)


@write_to_shared_memory.register(SlotSpace)
def _write_slot(space: SlotSpace[Any], index: int, value: Any, shared_memory: Any) -> None:
    data = space.encode(value)
    if len(data) > space.max_bytes:
        raise ValueError(
            f"an observation of {len(data)} bytes does not fit its slot: expected at most "
            f"{space.max_bytes}; lower the task's limits.output_bytes or pass shared_memory=False"
        )
    start = index * (_LENGTH.size + space.max_bytes)
    record = _LENGTH.pack(len(data)) + data
    memoryview(shared_memory.get_obj()).cast("B")[start : start + len(record)] = record


@create_empty_array.register(SlotSpace)
def _create_blanks(
    space: SlotSpace[T], n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[T, ...]:
    return (space.blank,) * n
