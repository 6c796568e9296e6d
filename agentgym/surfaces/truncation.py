"""Bounds the size of the texts, structured parts and pictures that an agent sees.

The bounds are arguments. A surface kind without special needs uses the defaults, `LIMITS`.
"""

from __future__ import annotations

import io
import json
from typing import Final

import numpy as np
from PIL import Image as Pictures

from agentgym.records import Image, Json, ObservationLimits
from agentgym.records.bounds import flaw_of

MAX_TEXT: Final = 32_000
"""Largest number of characters of a text."""

MAX_MESSAGE: Final = 2_000
"""Largest number of characters of the message for a refused call."""

MAX_DATA: Final = 60_000
"""Largest number of bytes of structured parts as ASCII JSON."""

MAX_SIDE: Final = 1024
"""Largest number of pixels of a picture's longer side; a larger picture is scaled down."""

LIMITS: Final = ObservationLimits(
    text_bytes=4 * MAX_TEXT + 4_096,
    data_bytes=65_536,
    image_width=MAX_SIDE,
    image_height=MAX_SIDE,
)
"""Limits of an observation cut to these bounds: 4 bytes a character, and a remark."""

_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM")
"""Formats that Pillow decodes itself; it would have Ghostscript of this machine draw PostScript."""

_MOST_PIXELS: Final = 40_000_000
"""Largest number of pixels of a picture that is decoded."""


def readable(result: Json) -> str:
    """Return a result as text: a text unchanged, anything else as indented JSON lines.

    A value beyond the bounds of `agentgym.records.bounds` is described instead of shown.
    """
    text = result if isinstance(result, str) else ""
    if not isinstance(result, str):
        flaw = flaw_of(result)
        text = f"[not shown: {flaw}]" if flaw else _indented(result)
    return text.encode("utf-8", "replace").decode()


def _indented(result: Json) -> str:
    return json.dumps(result, ensure_ascii=False, indent=1)


def bounded(text: str, tail: int = 0, most: int = MAX_TEXT) -> str:
    """Return a text that fits an observation: NULs are visible and the length is bounded.

    A line in a shortened text says how much was left out.

    Args:
        text: Text of any length.
        tail: Number of characters kept from its end; the others are kept from its beginning.
        most: Number of characters kept in all.
    """
    text = text.replace("\0", "\u2400")
    if len(text) <= most:
        return text
    cut = f"[cut: {len(text) - most} more characters]"
    end = f"\n{text[-tail:]}" if tail else ""
    return f"{text[: most - tail]}\n{cut}{end}"


def bounded_data(name: str, value: Json) -> dict[str, Json]:
    """Return a value under a name; the reason for its absence if it is too large to show.

    It is too large if it has more than `MAX_DATA` bytes as ASCII JSON, the name included.
    """
    if flaw := flaw_of(value):
        return {"omitted": flaw}
    data: dict[str, Json] = {name: value}
    size = len(json.dumps(data))
    return data if size <= MAX_DATA else {"omitted_bytes": size}


def pixels(data: bytes, width: int = MAX_SIDE, height: int = MAX_SIDE) -> Image | None:
    """Return the picture in a file's bytes, ``uint8[H, W, 3]`` RGB.

    None if the data is not a picture of a usual format, cannot be decoded, or has more than 40
    million pixels.

    Args:
        data: Content of the file.
        width: Largest width in pixels; a wider picture is scaled down.
        height: Largest height in pixels, likewise.
    """
    try:
        with Pictures.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            shown = image.convert("RGB")
            shown.thumbnail((width, height))
            return np.asarray(shown)
    except Exception:  # noqa: BLE001 - decoders raise what they like at odd files
        return None
