"""Images in the form of the chat-completions API: PNG in a data URL (RFC 2397)."""

from __future__ import annotations

import base64
import io
from collections import OrderedDict
from typing import Final

from PIL import Image as Pillow

from agentgym.records import Image, Json

_KEPT: Final = 4


def as_png(image: Image) -> bytes:
    """Return ``uint8[H, W, 3]`` RGB as the bytes of a PNG file."""
    buffer = io.BytesIO()
    Pillow.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def picture_part(image: Image) -> dict[str, Json]:
    """Return the content part of a message that shows an image."""
    url = "data:image/png;base64," + base64.b64encode(as_png(image)).decode()
    return {"type": "image_url", "image_url": {"url": url}}


class RecentPictures:
    """Makes the parts of images and keeps the last few: a dialogue is sent again at every step."""

    def __init__(self) -> None:
        # The image is kept too, because its address identifies it.
        self._parts: OrderedDict[int, tuple[Image, dict[str, Json]]] = OrderedDict()

    def part(self, image: Image) -> dict[str, Json]:
        """Return the content part of a message that shows an image; see `picture_part`."""
        if id(image) not in self._parts:
            self._parts[id(image)] = image, picture_part(image)
            if len(self._parts) > _KEPT:
                self._parts.popitem(last=False)
        return self._parts[id(image)][1]
