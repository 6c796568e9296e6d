"""Check pack `images`: what pictures show.

Channel: state (the final files, read from outside). PNG, JPEG, GIF, BMP, WebP, TIFF and PPM are
read by a process with bounds; of several frames the first. Pictures are turned upright as their
EXIF data says and put on white where they are transparent. No text is recognised. More than 32 MiB
or 40 million pixels is a fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import is_number, result

_READER = Path(__file__).with_name("reader.py")
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
_IMAGE_BYTES = 32 * 2**20
_COLOUR_REACH = 32
_SHAPE_REACH = 0.05


def size(evidence: Evidence, path: str, width: int, height: int) -> CheckResult:
    """A picture is so many pixels wide and high, upright.

    Channel: state.

    Example:
        use = "images.size"
        with = { path = "/srv/logo.png", width = 256, height = 128 }
    """
    _whole("width", width, 1)
    _whole("height", height, 1)
    seen = _ask(evidence, path, what="about")["size"]
    return result(
        seen == [width, height], f"{path}: {seen[0]} x {seen[1]}, expected {width} x {height}"
    )


def format_is(evidence: Evidence, path: str, format: str) -> CheckResult:
    """A picture is of a format, whatever its name says.

    Channel: state.

    Example:
        use = "images.format_is"
        with = { path = "/srv/photo.webp", format = "WEBP" }
    """
    if format not in _FORMATS:
        raise VerifierError(f"format: expected one of {', '.join(_FORMATS)}, got {format!r}")
    seen = _ask(evidence, path, what="about")["format"]
    return result(seen == format, f"{path}: is {seen}, expected {format}")


def region_colour(
    evidence: Evidence,
    path: str,
    box: Sequence[int],
    colour: str,
    tolerance: int = 16,
    share: float = 0.95,
) -> CheckResult:
    """Most pixels of a region have a colour.

    Channel: state.

    Example:
        use = "images.region_colour"
        with = { path = "/srv/chart.png", box = [10, 10, 40, 20], colour = "#1f77b4" }

    Args:
        evidence: Of the episode.
        path: The picture.
        box: Left, top, width and height of the region in pixels.
        colour: "#rrggbb".
        tolerance: How far off each of red, green and blue may be, of 255.
        share: How much of the region has to have it, 0..1.
    """
    if isinstance(box, str) or len(box) != 4:
        raise VerifierError(f"box: expected [left, top, width, height], got {box!r}")
    for number, side in enumerate(box):
        _whole("box", side, int(number > 1))
    if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise VerifierError(f"colour: expected '#rrggbb', got {colour!r}")
    if not is_number(share) or not 0 < share <= 1:
        raise VerifierError(f"share: expected a number over 0 and at most 1, got {share!r}")
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    reach = _whole("tolerance", tolerance, 0, 255)
    order = {"what": "region", "box": list(box), "colour": parts, "tolerance": reach}
    seen = _ask(evidence, path, **order)
    mean = "#" + "".join(f"{part:02x}" for part in seen["mean"])
    message = f"{path}: {seen['share']:.0%} of the region is {colour}, {mean} on average"
    return result(seen["share"] >= share, message)


def same_pixels(
    evidence: Evidence, path: str, gold: str, tolerance: int = 0, share: float = 1.0
) -> CheckResult:
    """A picture has the size and, but for a share, the pixels of a gold picture.

    Channel: state. The formats may differ; of one that loses detail expect a tolerance.

    Example:
        use = "images.same_pixels"
        with = { path = "/srv/out.png", gold = "out.png", tolerance = 8, share = 0.99 }

    Args:
        evidence: Of the episode.
        path: The picture.
        gold: Name of a gold picture.
        tolerance: How far off each of red, green and blue may be, of 255.
        share: How much of the picture has to be the same, 0..1.
    """
    reach = _whole("tolerance", tolerance, 0, 255)
    if not is_number(share) or not 0 < share <= 1:
        raise VerifierError(f"share: expected a number over 0 and at most 1, got {share!r}")
    seen = _ask(evidence, path, gold, what="pixels", tolerance=reach)
    (width, height), wanted = seen["sizes"]
    if seen["differ"] is None:
        return result(False, f"{path}: {width} x {height}, expected {wanted[0]} x {wanted[1]}")
    same = 1 - seen["differ"] / (width * height)
    return result(same >= share, f"{path}: {same:.2%} of the pixels are as in {gold!r}")


def similar(evidence: Evidence, path: str, gold: str, distance: int = 10) -> CheckResult:
    """A picture looks like a gold picture: scaled, packed again, a little brighter or darker.

    Channel: state. The difference hash of 64 bits differs in at most so many, the mean colour by at
    most 32 of 255, the shape by at most 5%. Small changes are not seen: for those use `same_pixels`
    or `region_colour`.

    Example:
        use = "images.similar"
        with = { path = "/srv/thumb.jpg", gold = "photo.png", distance = 8 }

    Args:
        evidence: Of the episode.
        path: The picture.
        gold: Name of a gold picture.
        distance: Most bits that may differ, of 64; pictures that have nothing to do with each
            other differ in about 32.
    """
    reach = _whole("distance", distance, 0, 64)
    seen = _ask(evidence, path, gold, what="likeness")
    (width, height), (gold_width, gold_height) = seen["sizes"]
    shape = abs(width * gold_height / (height * gold_width) - 1)
    same = seen["distance"] <= reach and seen["colour"] <= _COLOUR_REACH and shape <= _SHAPE_REACH
    message = f"{path}: {seen['distance']} bits from {gold!r}, expected at most {distance}"
    return result(same, f"{message}; colour off by {seen['colour']:.0f}, shape by {shape:.0%}")


def _ask(evidence: Evidence, path: str, gold: str | None = None, **order: Any) -> Any:
    files = {"gold": evidence.gold(gold)} if gold is not None else {}
    files["image"] = evidence.after.read(path, max_bytes=_IMAGE_BYTES)
    return ask(_READER, order, files, what=path)


def _whole(name: str, value: object, least: int, most: int = 100_000) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise VerifierError(f"{name}: expected a whole number {least}..{most}, got {value!r}")
    return value
