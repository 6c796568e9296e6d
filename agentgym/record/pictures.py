"""Observations whose pictures stay in the record; one of 1280×800 pixels takes 3 MB of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.records import Image, Observation


class RecordedObservation(Observation):
    """An observation that reads its picture from the record each time it is asked for it.

    `recorded` makes one. A copy by `dataclasses.replace` is an ordinary observation.
    """

    __slots__ = ("_png",)
    _png: Callable[[], bytes]

    def __new__(cls, *values: Any, **fields: Any) -> Any:
        """Return an ordinary observation, which is what `dataclasses.replace` wants."""
        return Observation(*values, **fields)

    @property
    def image(self) -> Image:
        """The picture, ``uint8[H, W, 3]`` RGB.

        Raises:
            RecordError: The record does not hold it any more, or it is damaged.
        """
        try:
            return codec.image_from_png(self._png())
        except (OSError, SyntaxError, ValueError) as error:
            raise RecordError(f"a recorded picture is damaged: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Take the compressed picture along to another process, which may not read the record."""
        return _from_png, (self.text, dict(self.data), self.effect, self._png())


def recorded(observation: Observation, png: Callable[[], bytes]) -> Observation:
    """Return an observation without its picture in memory.

    Args:
        observation: The observation as it was recorded.
        png: Returns the recorded picture, as the bytes of a PNG file.
    """
    light = object.__new__(RecordedObservation)
    for name in ("text", "data", "effect"):
        object.__setattr__(light, name, getattr(observation, name))
    object.__setattr__(light, "_png", png)
    return light


def _from_png(text: str, data: Any, effect: Any, png: bytes) -> Observation:
    return recorded(Observation(text, None, data, effect), lambda: png)
