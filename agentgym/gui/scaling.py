"""The scale between a screen and the picture of it that an agent sees, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image as Pictures

from agentgym.records import Image


@dataclass(frozen=True, slots=True)
class Scale:
    """A screen and the picture of it, whose pixels an agent names.

    Attributes:
        screen: Width and height of the screen.
        picture: Width and height of the picture.
    """

    screen: tuple[int, int]
    picture: tuple[int, int]

    @classmethod
    def fitting(cls, screen: tuple[int, int], most: tuple[int, int]) -> Scale:
        """Return the scale of the largest picture within `most`, not larger than the screen."""
        factor = min(1.0, most[0] / screen[0], most[1] / screen[1])
        return cls(screen, (max(1, round(screen[0] * factor)), max(1, round(screen[1] * factor))))

    def to_screen(self, x: float, y: float) -> tuple[int, int]:
        """Return the pixel of the screen below the middle of a pixel of the picture."""
        if self.screen == self.picture:
            return int(x), int(y)
        across, down = self.screen[0] / self.picture[0], self.screen[1] / self.picture[1]
        return (
            min(self.screen[0] - 1, int((x + 0.5) * across)),
            min(self.screen[1] - 1, int((y + 0.5) * down)),
        )

    def to_picture(self, box: Sequence[int]) -> list[int]:
        """Return a box (x, y, width, height) of the screen in pixels of the picture."""
        if self.screen == self.picture:
            return [int(side) for side in box]
        across, down = self.picture[0] / self.screen[0], self.picture[1] / self.screen[1]
        left, top = int(box[0] * across), int(box[1] * down)
        right = round((box[0] + box[2]) * across)
        bottom = round((box[1] + box[3]) * down)
        return [left, top, right - left, bottom - top]

    def shown(self, screen: Image) -> Image:
        """Return the picture of a screen, both ``uint8[H, W, 3]``."""
        if self.screen == self.picture:
            return screen
        scaled = Pictures.fromarray(screen).resize(self.picture, Pictures.Resampling.LANCZOS)
        return np.asarray(scaled)

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies on the picture."""
        return 0 <= x < self.picture[0] and 0 <= y < self.picture[1]
