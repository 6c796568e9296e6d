"""Marks on pictures: each element that can be hit has a frame and its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from PIL import Image, ImageDraw

from agentgym.records import Image as Picture

_COLOURS: Final = ("#d0021b", "#1b5fd0", "#0a7d3b", "#8b1bd0", "#b35c00", "#00707d")


def with_marks(picture: Picture, nodes: Sequence[Mapping[str, Any]]) -> Picture:
    """Return a picture on which each element that can be hit has a frame and its reference.

    Args:
        picture: ``uint8[H, W, 3]``, RGB, in the pixels of the boxes.
        nodes: The elements, in the form of `agentgym.gui.tree`.
    """
    image = Image.fromarray(picture)
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
    return np.asarray(image)


_UNMARKED: Final = frozenset(
    (
        *("main", "navigation", "banner", "contentinfo", "complementary", "form", "region"),
        *("search", "list", "listitem", "table", "row", "cell", "rowheader", "columnheader"),
        *("application", "window", "document", "toolbar", "menubar", "tablist", "status", "panel"),
        *("root-pane", "label", "scrollbar"),
        *("heading", "group", "article", "figure", "separator", "iframe", "paragraph"),
    )
)


def _marked(node: Mapping[str, Any]) -> bool:
    return node["r"] not in _UNMARKED and node["b"][2] > 0 and node["b"][3] > 0
