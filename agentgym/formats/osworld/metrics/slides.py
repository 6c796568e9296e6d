"""Metrics of single properties of Impress's presentations (pptx)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from agentgym.formats.osworld.metrics.matching import Rule

DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_HALF_INCH: Final = 457_200
_MARGIN: Final = 50
_SOLID, _BACKGROUND = 1, 5
_PICTURE: Final = 13


def open_presentation(path: Path) -> Any:
    """Return the presentation in a file (python-pptx)."""
    from pptx import Presentation

    return Presentation(str(path))


def is_picture(shape: Any) -> bool:
    """Return whether a shape is a picture."""
    return bool(shape.shape_type == _PICTURE)


def background(slide: Any) -> Any:
    """Return the colour of a slide's background, its master's if it has none; None if unknown."""
    for fill in (slide.background.fill, slide.slide_layout.slide_master.background.fill):
        if fill.type == _SOLID:
            return colour_of(fill.fore_color)
        if fill.type != _BACKGROUND:
            return None
    return None


def colour_of(colour: Any) -> Any:
    """Return a colour as RGB; None if it is given otherwise."""
    return getattr(colour, "rgb", None)


def strike(font: Any) -> str:
    """Return how a font is struck through, ``noStrike`` if it is not."""
    return str(font._element.get("strike", "noStrike"))


def check_strikethrough(result: Path | None, rules: Rule) -> float:
    """The text of the named paragraphs is struck through."""
    if result is None:
        return 0.0
    slides = list(open_presentation(result).slides)
    for slide in rules["slide_index_s"]:
        for shape in rules["shape_index_s"]:
            paragraphs = slides[slide].shapes[shape].text_frame.paragraphs
            for at in rules["paragraph_index_s"]:
                runs = [run for run in paragraphs[at].runs if run.text.strip()]
                if not runs or any(strike(run.font) == "noStrike" for run in runs):
                    return 0.0
    return 1.0


def check_slide_orientation_Portrait(result: Path | None) -> float:
    """The slides are higher than wide."""
    if result is None:
        return 0.0
    seen = open_presentation(result)
    return float(seen.slide_width < seen.slide_height)


def check_image_stretch_and_center(result: Path | None, first: Path | None) -> float:
    """The first slide's picture fills it, half an inch more or less."""
    if result is None or first is None:
        return 0.0
    before, after = open_presentation(first), open_presentation(result)
    pictures = [one for one in before.slides[0].shapes if is_picture(one)]
    if not pictures:
        raise ValueError("the first slide of the file to begin with has no picture")
    same = [
        one
        for one in after.slides[0].shapes
        if is_picture(one) and one.image.sha1 == pictures[0].image.sha1
    ]
    width, height = before.slide_width, before.slide_height

    def fills(one: Any) -> bool:
        away = one.width - width, one.height - height
        middle = one.left - (width - one.width) / 2, one.top - (height - one.height) / 2
        return all(abs(each) <= _HALF_INCH for each in (*away, *middle))

    return float(bool(same) and fills(same[-1]))


def check_transition(result: Path | None, rules: Rule) -> float:
    """A slide comes with this transition."""
    if result is None:
        return 0.0
    slides = list(open_presentation(result).slides)
    if rules["slide_idx"] >= len(slides):
        return 0.0
    element = slides[rules["slide_idx"]].element
    kind = f"{_SLIDE}{rules['transition_type']}"
    return float(any(one.find(kind) is not None for one in element.iter(f"{_SLIDE}transition")))


def evaluate_presentation_fill_to_rgb_distance(result: Path | None, rules: Rule) -> float:
    """The nearness of the backgrounds to a colour: 1 less the mean distance."""
    if result is None:
        return 0.0
    slides = list(open_presentation(result).slides)
    wanted, before = tuple(rules["rgb"]), tuple(rules.get("original_rgb") or ())

    def away(slide: Any) -> float:
        seen = background(slide)
        if seen is None or tuple(seen) == before:
            return 1.0
        squares = sum((one - two) ** 2 for one, two in zip(seen, wanted, strict=True))
        return float((squares / (3 * 255**2)) ** 0.5)

    return 1 - sum(map(away, slides)) / len(slides) if slides else 0.0


def check_page_number_colors(result: Path | None, rules: Rule) -> float:
    """The page numbers of the master are red, green, blue or black.

    Raises:
        ValueError: The colour is another one.
    """
    if rules["color"] not in ("red", "green", "blue", "black"):
        raise ValueError(f"check_page_number_colors knows no colour {rules['color']!r}")
    if result is None:
        return 0.0
    master = open_presentation(result).slide_masters[0]
    for shape in master.placeholders:
        if "SLIDE_NUMBER" in str(shape.placeholder_format.type):
            found = next(shape._element.iter(f"{DRAWING}srgbClr"), None)
            if found is not None:
                return float(_is_colour(bytes.fromhex(found.get("val")), rules["color"]))
    return 0.0


def _is_colour(seen: bytes, name: str) -> bool:
    if name == "black":
        return max(seen) < _MARGIN
    at = ("red", "green", "blue").index(name)
    return all(seen[at] > value + _MARGIN for place, value in enumerate(seen) if place != at)
