"""Pictures of the viewport, with or without marks on its elements."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from PIL import Image, ImageDraw

from agentgym.browser.tab import PageBusyError, PageGoneError, Tab

_QUALITY: Final = 80
_COLOURS: Final = ("#d0021b", "#1b5fd0", "#0a7d3b", "#8b1bd0", "#b35c00", "#00707d")


async def capture(tab: Tab) -> bytes | None:
    """Return the viewport of a tab as JPEG; None if the page gives none."""
    try:
        taken = await tab.send(
            "Page.captureScreenshot", format="jpeg", quality=_QUALITY, optimizeForSpeed=True
        )
    except (PageBusyError, PageGoneError):
        return None
    return base64.b64decode(taken["data"])


def with_marks(picture: bytes, nodes: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a picture on which each element that can be hit has a frame and its reference."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    draw = ImageDraw.Draw(image)
    for node in nodes:
        flags = node.get("f", ())
        hidden = "offscreen" in flags or "covered" in flags or "hidden" in flags
        if "ref" not in node or hidden or not _marked(node):
            continue
        left, top, width, height = node["b"]
        colour = _COLOURS[node["ref"] % len(_COLOURS)]
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline=colour, width=2)
        text = str(node["ref"])
        label = draw.textbbox((0, 0), text)
        x, y = max(0, left), max(0, top - label[3] - 2)
        draw.rectangle((x, y, x + label[2] + 3, y + label[3] + 2), fill=colour)
        draw.text((x + 2, y), text, fill="white")
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


_UNMARKED: Final = frozenset(
    (
        *("main", "navigation", "banner", "contentinfo", "complementary", "form", "region"),
        *("search", "list", "listitem", "table", "row", "cell", "rowheader", "columnheader"),
        *("heading", "group", "article", "figure", "separator", "iframe", "paragraph"),
    )
)


def _marked(node: Mapping[str, Any]) -> bool:
    return node["r"] not in _UNMARKED and node["b"][2] > 0 and node["b"][3] > 0
