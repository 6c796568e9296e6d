"""What an agent is shown of results: texts, structured parts and pictures, none without bound."""

from __future__ import annotations

import io
import json
from typing import Final

import numpy as np
from PIL import Image, UnidentifiedImageError

from agentgym.protocols import Picture
from agentgym.records import Image as Pixels
from agentgym.records import Json

MAX_TEXT: Final = 32_000
"""Characters of a text."""

MAX_DATA: Final = 60_000
"""Bytes of structured parts as ASCII JSON."""

MAX_SIDE: Final = 1024
"""Pixels of a picture's longer side; a larger one is shown smaller."""


def readable(result: Json) -> str:
    """Return a result as text: text as it is, anything else as JSON on lines of its own."""
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "replace").decode().replace("\0", "\u2400")


def bounded(text: str, tail: int = 0) -> str:
    """Return a text of at most `MAX_TEXT` characters, with a line that says what was left out.

    Args:
        text: Of any length.
        tail: How many characters of its end are kept; the rest is of its beginning.
    """
    if len(text) <= MAX_TEXT:
        return text
    cut = f"[cut: {len(text) - MAX_TEXT} more characters]"
    end = f"\n{text[-tail:]}" if tail else ""
    return f"{text[: MAX_TEXT - tail]}\n{cut}{end}"


def bounded_data(name: str, value: Json) -> dict[str, Json]:
    """Return a value under a name, or how long its JSON is where that is too long to show."""
    data: dict[str, Json] = {name: value}
    size = len(json.dumps(data))
    return data if size <= MAX_DATA else {"omitted_bytes": size}


def pixels(picture: Picture | None) -> Pixels | None:
    """Return a picture as ``uint8[H, W, 3]``, None where there is none that can be read."""
    if picture is None:
        return None
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            shown = image.convert("RGB")
            shown.thumbnail((MAX_SIDE, MAX_SIDE))
            return np.asarray(shown)
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError):
        return None
