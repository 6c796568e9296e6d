"""Images in the form of the chat-completions API: PNG in a data URL (RFC 2397)."""

from __future__ import annotations

import base64
import io

from PIL import Image as Pillow

from agentgym.records import Image, Json


def as_png(image: Image) -> bytes:
    """Return ``uint8[H, W, 3]`` RGB as the bytes of a PNG file."""
    buffer = io.BytesIO()
    Pillow.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def picture_part(image: Image) -> dict[str, Json]:
    """Return the content part of a message that shows an image."""
    url = "data:image/png;base64," + base64.b64encode(as_png(image)).decode()
    return {"type": "image_url", "image_url": {"url": url}}
