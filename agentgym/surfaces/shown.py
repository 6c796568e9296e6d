"""How results become what an agent sees: text of bounded length, pictures as arrays."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
from PIL import Image as Pictures
from PIL import UnidentifiedImageError

from agentgym.records import Image

MAX_TEXT: Final = 32_000
"""Characters of one observation."""

_MOST_PIXELS: Final = 40_000_000


def bounded(text: str) -> str:
    """Return a text as an observation may hold it: NULs made visible, a long end cut off."""
    text = text.replace("\0", "\u2400")
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[cut: {len(text) - MAX_TEXT} more characters]"


def pixels(data: bytes) -> Image | None:
    """Return the picture in a file's bytes, ``uint8[H, W, 3]`` RGB.

    None where there is none, or one of more than 40 million pixels.
    """
    try:
        with Pictures.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError, Pictures.DecompressionBombError):
        return None
