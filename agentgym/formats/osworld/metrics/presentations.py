"""The metric that compares two of Impress's presentations (pptx)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym.formats.osworld.metrics.slides import (
    DRAWING,
    background,
    colour_of,
    is_picture,
    open_presentation,
    strike,
)

_LOW: Final = 3_600_000
_RIGHT: Final = 4_320_000
_HIGH: Final = 1_980_000
_SIDES: Final = ("left", "top", "width", "height")
_FREEFORM, _TABLE = 5, 19
_OFF: Final = frozenset(
    (
        "title_bottom_position",
        "table_bottom_position",
        "right_position",
        "top_position",
        "shape_for_shift_size",
        "image_size",
        "modify_height",
        "shape_lenient_height",
    )
)
_KNOWN: Final = _OFF | frozenset(
    (
        "number_of_slides",
        "shape",
        "text",
        "indent",
        "font_name",
        "font_size",
        "font_bold",
        "font_italic",
        "color_rgb",
        "font_underline",
        "strike_through",
        "alignment",
        "run_count",
        "bullets",
        "background_color",
        "note",
    )
)
_PREFIX: Final = "examine_"


@dataclass(frozen=True)
class _Examined:
    """The properties that `compare_pptx_files` compares, as the options of a task say.

    Attributes:
        options: Switches by name, without ``examine_``.
        tolerance: Largest difference of two lengths, as a share of the larger one.
    """

    options: Mapping[str, bool]
    tolerance: float

    def __getitem__(self, name: str) -> bool:
        return self.options.get(name, name not in _OFF)

    def near(self, one: int | None, other: int | None) -> bool:
        """Return whether two lengths are equal, or nearly."""
        if one == other or one is None or other is None:
            return one == other
        return abs(one - other) <= self.tolerance * max(abs(one), abs(other))

    def placed(self, one: Any, other: Any, sides: Sequence[str] = _SIDES) -> bool:
        """Return whether two shapes have the same place and size, or some sides of them."""
        return all(self.near(getattr(one, side), getattr(other, side)) for side in sides)


def compare_pptx_files(
    result: Path | None,
    expected: Path | None,
    approximately_tolerance: float = 0.005,
    **options: Any,
) -> float:
    """Both presentations are equal in everything that the options do not except.

    Raises:
        ValueError: An option is unknown.
    """
    switches = {}
    for name, value in options.items():
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) in _KNOWN:
            switches[name.removeprefix(_PREFIX)] = bool(value)
        elif name != "enable_debug":
            raise ValueError(f"compare_pptx_files knows no option {name!r}")
    if result is None or expected is None:
        return 0.0
    examined = _Examined(switches, approximately_tolerance)
    seen, wanted = (list(open_presentation(one).slides) for one in (result, expected))
    if len(seen) != len(wanted) and examined["number_of_slides"]:
        return 0.0
    pairs = zip(seen, wanted, strict=False)
    return float(
        all(_slides(one, two, number, examined) for number, (one, two) in enumerate(pairs, 1))
    )


def _slides(one: Any, two: Any, number: int, examined: _Examined) -> bool:
    if examined["background_color"] and background(one) != background(two):
        return False
    if examined["note"] and _note(one) != _note(two):
        return False
    shapes = list(one.shapes), list(two.shapes)
    if len(shapes[0]) != len(shapes[1]):
        return False
    if not all(_shapes(*pair, number, examined) for pair in zip(*shapes, strict=True)):
        return False
    if not examined["alignment"]:
        return True
    texts = list(_with_text(shapes[0])), list(_with_text(shapes[1]))
    return [_alignments(one) for one in texts[0]] == [_alignments(one) for one in texts[1]]


def _note(slide: Any) -> str:
    if not slide.has_notes_slide or slide.notes_slide.notes_text_frame is None:
        return ""
    return str(slide.notes_slide.notes_text_frame.text).strip()


def _with_text(shapes: Sequence[Any]) -> Iterator[Any]:
    """Yield the shapes with text, those in groups too."""
    for shape in shapes:
        if shape.has_text_frame:
            yield shape
        yield from _with_text(list(getattr(shape, "shapes", ())))


def _alignments(shape: Any) -> list[int]:
    return [_alignment(paragraph) for paragraph in shape.text_frame.paragraphs]


def _alignment(paragraph: Any) -> int:
    return int(paragraph.alignment or 1)  # without one it is to the left


def _shapes(one: Any, two: Any, number: int, examined: _Examined) -> bool:
    if not _places(one, two, number, examined):
        return False
    if one.shape_type == _TABLE or two.shape_type == _TABLE:
        return bool(one.shape_type == two.shape_type) and _tables(one.table, two.table, examined)
    if not (one.has_text_frame and two.has_text_frame):
        return bool(one.has_text_frame == two.has_text_frame)
    if examined["text"] and one.text_frame.text.strip() != two.text_frame.text.strip():
        return False
    return _frames(one.text_frame, two.text_frame, examined)


def _places(one: Any, two: Any, number: int, examined: _Examined) -> bool:
    return _moved(one, two, number, examined) and _sized(one, two, examined)


def _moved(one: Any, two: Any, number: int, examined: _Examined) -> bool:
    """Return whether what a task asks to move has been moved, and nothing else.

    The expected file of these tasks shows the start, and the task's own names and limits are here.
    """
    same = examined.placed(one, two)
    texts = [shape.text_frame.text if shape.has_text_frame else None for shape in (one, two)]
    equal = None not in texts and texts[0] == texts[1]
    if examined["title_bottom_position"]:
        lowered = one.top > two.top and one.top >= _LOW
        if not (lowered if equal and texts[0] == "Product Comparison" else equal or same):
            return False
    if examined["table_bottom_position"]:
        lowered = one.top > two.top and one.top >= _LOW
        is_table = number == 3 and one.shape_type == two.shape_type == _TABLE
        if not (lowered if is_table else same):
            return False
    right = one.left > two.left and one.left >= _RIGHT
    if examined["right_position"] and number == 2 and texts == [None, None] and not right:
        return False
    above = one.top < two.top and one.top <= _HIGH
    pictures = is_picture(one) and is_picture(two)
    if examined["top_position"] and number == 2 and pictures and not above:
        return False
    shifted = equal and texts[0] == "Elaborate on what you want to discuss."
    return same or shifted or not examined["shape_for_shift_size"]


def _sized(one: Any, two: Any, examined: _Examined) -> bool:
    written = any(shape.has_text_frame and shape.text_frame.text.strip() for shape in (one, two))
    if examined["shape"] and written:
        lenient = examined["shape_lenient_height"]
        sides: Sequence[str] = ("left", "top", "width") if lenient else _SIDES
        if not examined.placed(one, two, sides):
            return False
    if examined["image_size"]:
        pictures = is_picture(one) and is_picture(two)
        if not examined.placed(one, two, ("width", "height") if pictures else _SIDES):
            return False
    if examined["modify_height"]:
        free = one.shape_type == two.shape_type == _FREEFORM
        only = free or not (one.has_text_frame or two.has_text_frame)
        return examined.placed(one, two, ("height",) if only else _SIDES)
    return True


def _tables(one: Any, two: Any, examined: _Examined) -> bool:
    sizes = [(len(table.rows), len(table.columns)) for table in (one, two)]
    if sizes[0] != sizes[1]:
        return False
    at = ((row, column) for row in range(sizes[0][0]) for column in range(sizes[0][1]))
    return all(
        _frames(one.cell(*place).text_frame, two.cell(*place).text_frame, examined) for place in at
    )


def _frames(one: Any, two: Any, examined: _Examined) -> bool:
    paragraphs = list(one.paragraphs), list(two.paragraphs)
    if len(paragraphs[0]) != len(paragraphs[1]):
        return False
    return all(_paragraphs(*pair, examined) for pair in zip(*paragraphs, strict=True))


def _paragraphs(one: Any, two: Any, examined: _Examined) -> bool:
    if examined["alignment"] and _alignment(one) != _alignment(two):
        return False
    if examined["text"] and one.text != two.text:
        return False
    # Levels 0 and 1 look the same.
    if examined["indent"] and one.level != two.level and max(one.level, two.level) > 1:
        return False
    if examined["bullets"] and _bullet(one) != _bullet(two):
        return False
    runs = [[run for run in each.runs if run.text.strip()] for each in (one, two)]
    if examined["run_count"] and len(runs[0]) != len(runs[1]):
        return False
    pairs = zip(runs[0], runs[1], strict=False)
    return all(_runs(first.font, second.font, examined) for first, second in pairs)


def _bullet(paragraph: Any) -> tuple[str, str] | None:
    """Return the bullet of a paragraph with text and its level; None without one."""
    if not paragraph.text.strip():
        return None
    properties = paragraph._p.find(f"{DRAWING}pPr")
    found = None if properties is None else properties.find(f"{DRAWING}buChar")
    return None if found is None else (found.get("char", ""), properties.get("lvl") or "0")


def _runs(one: Any, two: Any, examined: _Examined) -> bool:
    """Return whether two fonts are equal; what is not stated is off."""
    pairs = {
        "font_name": (one.name, two.name),
        "font_size": (one.size, two.size),
        "font_bold": (bool(one.bold), bool(two.bold)),
        "font_italic": (bool(one.italic), bool(two.italic)),
        "font_underline": (one.underline or False, two.underline or False),
        "strike_through": (strike(one), strike(two)),
    }
    if any(examined[name] and first != second for name, (first, second) in pairs.items()):
        return False
    colours = colour_of(one.color), colour_of(two.color)
    return not (examined["color_rgb"] and None not in colours and colours[0] != colours[1])
