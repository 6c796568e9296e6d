"""The scale between a screen and the picture of it that an agent sees, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from PIL import Image as Pictures

from agentgym.errors import ActionError
from agentgym.records import Action, Image

_POINTS: Final = (("x", "y"), ("from_x", "from_y"), ("to_x", "to_y"))


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


def rescaled(action: Action, scale: Scale) -> Action:
    """Return an action whose points are pixels of the screen instead of the picture.

    Args:
        action: An action with points on a picture that a model was shown.
        scale: The model's picture, and as its screen the picture of the surface.

    Raises:
        ActionError: A point does not lie on the picture.

    Example:
        >>> rescaled(Action("click", {"x": 500, "y": 500}), Scale((1280, 800), (1000, 1000)))
        Action(tool='click', arguments={'x': 640, 'y': 400})
    """
    given: dict[str, Any] = dict(action.arguments)
    if "width" in given and "height" in given and "x" in given and "y" in given:
        return replace(action, arguments=given | _part(given, scale))
    for across, down in _POINTS:
        if across in given and down in given:
            given[across], given[down] = _on_screen(given[across], given[down], scale)
    if "path" in given:
        given["path"] = [list(_on_screen(x, y, scale)) for x, y in given["path"]]
    return replace(action, arguments=given)


def _part(given: dict[str, Any], scale: Scale) -> dict[str, int]:
    """Return the part of the screen that a part of the picture shows."""
    right, bottom = given["x"] + given["width"] - 1, given["y"] + given["height"] - 1
    for x, y in ((given["x"], given["y"]), (right, bottom)):
        _on_screen(x, y, scale)
    across, down = scale.screen[0] / scale.picture[0], scale.screen[1] / scale.picture[1]
    left, top = int(given["x"] * across), int(given["y"] * down)
    width = max(1, min(scale.screen[0], round((right + 1) * across)) - left)
    height = max(1, min(scale.screen[1], round((bottom + 1) * down)) - top)
    return {"x": left, "y": top, "width": width, "height": height}


def _on_screen(x: Any, y: Any, scale: Scale) -> tuple[int, int]:
    if not scale.holds(x, y):
        width, height = scale.picture
        raise ActionError(f"({x:g}, {y:g}) is not on the picture of {width} x {height} pixels")
    return scale.to_screen(x, y)
