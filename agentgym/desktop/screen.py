"""The screen of a desktop on the host: the rows that changed, put into the frame before."""

from __future__ import annotations

from typing import Final

import numpy as np

from agentgym.desktop.messages import Look
from agentgym.errors import SurfaceEndedError
from agentgym.records import Image

_PIXEL_BYTES: Final = 4
_POINTER_PX: Final = 40


class Screen:
    """The latest frame of a desktop.

    Attributes:
        size: Width and height; zeros before the first frame.
        changes: How often the frame has changed but for the pointer.
    """

    def __init__(self) -> None:
        self.size = (0, 0)
        self.changes = 0
        self._frame: Image | None = None
        self._pointer = (0, 0)

    @property
    def is_known(self) -> bool:
        """Whether there is a frame."""
        return self._frame is not None

    @property
    def frame(self) -> Image:
        """The frame, ``uint8[H, W, 3]`` RGB, with the pointer."""
        assert self._frame is not None, "no frame was taken"
        return self._frame

    def take(self, told: Look, rows: bytes) -> None:
        """Put rows into the frame: each pixel is blue, green, red and an unused byte.

        Raises:
            SurfaceEndedError: The rows do not fit the screen.
        """
        (width, height), stride, top = told.size, told.stride, told.top
        count = len(rows) // stride
        whole = len(rows) == count * stride and stride >= width * _PIXEL_BYTES
        if not whole or top + count > height:
            raise SurfaceEndedError(f"the desktop sent {len(rows)} bytes for row {top} of {height}")
        pixels = np.frombuffer(rows, np.uint8).reshape(count, stride)
        news = pixels[:, : width * _PIXEL_BYTES].reshape(count, width, _PIXEL_BYTES)[:, :, 2::-1]
        pointer = told.pointer
        if self._frame is None or self.size != (width, height):
            if count != height:
                raise SurfaceEndedError("the desktop sent a part of an unknown frame")
            self._frame = np.ascontiguousarray(news)
            self.changes += 1
        elif count:
            before = self._frame
            frame = before.copy()
            frame[top : top + count] = news
            self._frame = frame
            band = slice(top, top + count)
            self.changes += self._differ(before[band], frame[band], top, pointer)
        self.size, self._pointer = (width, height), pointer

    def _differ(self, before: Image, after: Image, top: int, pointer: tuple[int, int]) -> bool:
        """Return whether rows differ elsewhere than where the pointer is or was."""
        differing = (before != after).any(axis=2)
        for x, y in (self._pointer, pointer):
            rows = slice(max(0, y - _POINTER_PX - top), max(0, y + _POINTER_PX - top))
            differing[rows, max(0, x - _POINTER_PX) : x + _POINTER_PX] = False
        return bool(differing.any())
