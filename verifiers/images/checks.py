"""Check pack `images`: contents of pictures.

Channel: state (the final files, read from outside). A process with limits reads PNG, JPEG, GIF,
BMP, WebP, TIFF and PPM, and of several frames the first. Pictures are rotated as their EXIF data
says, and transparent parts become white. Text in pictures is not recognised. More than 32 MiB or 40
million pixels is a fail.
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
    """A picture has this width and height in pixels, after rotation.

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
    """A picture has this format, independent of its name.

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
        evidence: Evidence of the episode.
        path: The picture.
        box: Left, top, width and height of the region in pixels.
        colour: "#rrggbb".
        tolerance: Largest difference of red, green and blue each, of 255.
        share: Share of the region that has to have the colour, 0..1.
    """
    region = _box(box)
    if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise VerifierError(f"colour: expected '#rrggbb', got {colour!r}")
    if not is_number(share) or not 0 < share <= 1:
        raise VerifierError(f"share: expected a number over 0 and at most 1, got {share!r}")
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    reach = _whole("tolerance", tolerance, 0, 255)
    order = {"what": "region", "box": region, "colour": parts, "tolerance": reach}
    seen = _ask(evidence, path, **order)
    mean = "#" + "".join(f"{part:02x}" for part in seen["mean"])
    message = f"{path}: {seen['share']:.0%} of the region is {colour}, {mean} on average"
    return result(seen["share"] >= share, message)


def _box(box: Sequence[int]) -> list[int]:
    if isinstance(box, str) or len(box) != 4:
        raise VerifierError(f"box: expected [left, top, width, height], got {box!r}")
    return [_whole("box", side, int(number > 1)) for number, side in enumerate(box)]


def same_pixels(
    evidence: Evidence,
    path: str,
    gold: str,
    tolerance: int = 0,
    share: float = 1.0,
    box: Sequence[int] | None = None,
) -> CheckResult:
    """A picture has the size of a gold picture and at least a share of its pixels.

    Channel: state. The formats may differ; a format with loss needs a tolerance.

    Example:
        use = "images.same_pixels"
        with = { path = "/srv/out.png", gold = "out.png", tolerance = 8, share = 0.99 }

    Args:
        evidence: Evidence of the episode.
        path: The picture.
        gold: Name of a gold picture.
        tolerance: Largest difference of red, green and blue each, of 255.
        share: Share of the picture that has to be the same, 0..1.
        box: Left, top, width and height of a region; the pixels outside of it do not count.
    """
    reach = _whole("tolerance", tolerance, 0, 255)
    if not is_number(share) or not 0 < share <= 1:
        raise VerifierError(f"share: expected a number over 0 and at most 1, got {share!r}")
    region = None if box is None else _box(box)
    seen = _ask(evidence, path, gold, what="pixels", tolerance=reach, box=region)
    (width, height), wanted = seen["sizes"]
    if seen["differ"] is None:
        return result(False, f"{path}: {width} x {height}, expected {wanted[0]} x {wanted[1]}")
    pixels = width * height if region is None else region[2] * region[3]
    same = 1 - seen["differ"] / pixels
    return result(same >= share, f"{path}: {same:.2%} of the pixels are as in {gold!r}")


def similar(evidence: Evidence, path: str, gold: str, distance: int = 10) -> CheckResult:
    """A picture looks like a gold picture; it may be scaled, recompressed or a little brighter.

    Channel: state. The 64-bit difference hashes may differ in `distance` bits, the mean colour by
    32 of 255, and the aspect ratio by 5%. Small changes are not noticed: use `same_pixels` or
    `region_colour` for those.

    Example:
        use = "images.similar"
        with = { path = "/srv/thumb.jpg", gold = "photo.png", distance = 8 }

    Args:
        evidence: Evidence of the episode.
        path: The picture.
        gold: Name of a gold picture.
        distance: Maximum number of different bits, of 64; unrelated pictures differ in about 32.
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
