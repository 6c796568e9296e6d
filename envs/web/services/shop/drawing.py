"""Pictures of products, drawn as SVG files: one for each kind of thing and colour.

`drawings.json` has the shapes of each kind, in the order in which they are painted: ``p`` is a
path, ``l`` a line, ``e`` an ellipse (centre, radii), ``r`` a rectangle (corner, size, radius). The
second letter is the paint.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Final

MIME: Final = "image/svg+xml"
_SHAPES: Final[dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("drawings.json").read_text(encoding="utf-8")
)
_COLOURS: Final = {
    "black": "3a3d44",
    "white": "f6f1e7",
    "oak": "c79a63",
    "sage": "9db38a",
    "navy": "2f4771",
    "terracotta": "c96a4b",
    "grey": "8f959c",
    "mustard": "dba833",
    "": "7f9bb3",
}
_PAINTS: Final = {
    **{"k": "4a4238", "m": "c3c8ce", "w": "fffdf8", "o": "b98b56"},
    **{"y": "ffd978", "g": "6f9a5a", "b": "a9cfe6"},
}
_GROUND: Final = "ebe6dd"
_SIZE: Final = 200


def kind_of(title: str) -> str | None:
    """Return the kind of thing that a product's title begins with; None if it has no drawing."""
    told = title.lower().strip()
    return next((kind for kind in _SHAPES if told.startswith(kind.lower())), None)


@functools.lru_cache(maxsize=1024)
def drawing(kind: str, colour: str, *, detail: bool = False) -> bytes:
    """Return a picture of a thing as an SVG file.

    Args:
        kind: Kind of thing.
        colour: Its colour; an unknown one is drawn as if it had none.
        detail: Whether only the middle is shown, larger.
    """
    main = _COLOURS.get(colour, _COLOURS[""])
    paints = {**_PAINTS, "c": main}
    paints |= {"d": _mixed(main, "1f1a16", 0.32), "l": _mixed(main, "ffffff", 0.42)}
    view = "48 48 104 104" if detail else f"0 0 {_SIZE} {_SIZE}"
    shapes = "".join(_shape(told, paints) for told in _SHAPES[kind])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="480" viewBox="{view}">'
        f'<rect width="{_SIZE}" height="{_SIZE}" fill="#{_GROUND}"/>'
        f'<ellipse cx="100" cy="178" rx="74" ry="9" fill="#000" opacity=".08"/>{shapes}</svg>'
    ).encode()


def _shape(told: str, paints: dict[str, str]) -> str:
    form, paint, rest = told.split(" ", 2)
    fill = f'fill="#{paints[paint]}"'
    if form == "p":
        return f'<path d="{rest}" {fill}/>'
    if form == "l":
        return (
            f'<path d="{rest}" fill="none" stroke="#{paints[paint]}" stroke-width="6"'
            ' stroke-linecap="round" stroke-linejoin="round"/>'
        )
    names = ("cx", "cy", "rx", "ry") if form == "e" else ("x", "y", "width", "height", "rx")
    places = " ".join(f'{n}="{v}"' for n, v in zip(names, rest.split(), strict=True))
    return f"<{'ellipse' if form == 'e' else 'rect'} {places} {fill}/>"


def _mixed(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another one."""
    pairs = zip(bytes.fromhex(colour), bytes.fromhex(other), strict=True)
    return "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
