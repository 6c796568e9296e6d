"""Texts, structured parts and pictures of bounded size, as an agent is shown results.

The bounds are arguments. A surface kind that needs no others takes the defaults, `LIMITS`.
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
"""Characters of a text."""

MAX_MESSAGE: Final = 2_000
"""Characters of what says that a call was refused."""

MAX_DATA: Final = 60_000
"""Bytes of structured parts as ASCII JSON."""

MAX_SIDE: Final = 1024
"""Pixels of a picture's longer side; a larger one is shown smaller."""

LIMITS: Final = ObservationLimits(
    text_bytes=4 * MAX_TEXT + 4_096,
    data_bytes=65_536,
    image_width=MAX_SIDE,
    image_height=MAX_SIDE,
)
"""Of an observation whose parts were cut to the bounds above: 4 bytes a character, and a remark."""

_MOST_PIXELS: Final = 40_000_000
"""Of a picture that is decoded."""


def readable(result: Json) -> str:
    """Return a result as text: text as it is, anything else as JSON on lines of its own.

    A value beyond the bounds of `agentgym.records.bounds` is named and not shown.
    """
    text = result if isinstance(result, str) else ""
    if not isinstance(result, str):
        flaw = flaw_of(result)
        text = f"[not shown: {flaw}]" if flaw else _indented(result)
    return text.encode("utf-8", "replace").decode()


def _indented(result: Json) -> str:
    return json.dumps(result, ensure_ascii=False, indent=1)


def bounded(text: str, tail: int = 0, most: int = MAX_TEXT) -> str:
    """Return a text as an observation may hold it: NULs made visible, of bounded length.

    Where it is longer, a line says how much was left out.

    Args:
        text: Of any length.
        tail: How many characters of its end are kept; the rest is of its beginning.
        most: How many characters are kept.
    """
    text = text.replace("\0", "\u2400")
    if len(text) <= most:
        return text
    cut = f"[cut: {len(text) - most} more characters]"
    end = f"\n{text[-tail:]}" if tail else ""
    return f"{text[: most - tail]}\n{cut}{end}"


def bounded_data(name: str, value: Json, most: int = MAX_DATA) -> dict[str, Json]:
    """Return a value under a name, or why it is left out where it is too large to show.

    Args:
        name: Its key.
        value: The value.
        most: Bytes as ASCII JSON, the key included.
    """
    if flaw := flaw_of(value):
        return {"omitted": flaw}
    data: dict[str, Json] = {name: value}
    size = len(json.dumps(data))
    return data if size <= most else {"omitted_bytes": size}


def pixels(data: bytes, width: int = MAX_SIDE, height: int = MAX_SIDE) -> Image | None:
    """Return the picture in a file's bytes, ``uint8[H, W, 3]`` RGB.

    None if there is none, if it cannot be decoded, or if it has more than 40 million pixels.

    Args:
        data: The file.
        width: Pixels; a wider picture is shown smaller.
        height: Likewise.
    """
    try:
        with Pictures.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            shown = image.convert("RGB")
            shown.thumbnail((width, height))
            return np.asarray(shown)
    except Exception:  # noqa: BLE001 - decoders raise what they like at odd files
        return None
