"""Metrics of pictures.

Structural similarity follows Wang et al., "Image quality assessment: from error visibility to
structural similarity", 2004: uniform windows of 7 x 7 pixels, sample covariance, 8-bit range.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from PIL import Image, ImageChops, ImageOps, ImageStat

from agentgym.formats.osworld.metrics.matching import Rule

_WINDOW: Final = 7
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_SAME: Final = 0.9
_SAME_MIRRORED: Final = 0.99
_SAME_MORE_CONTRAST: Final = 0.65
_LIKE: Final = 0.85
_MIDDLE: Final = 128.0
_MOST_SQUARES: Final = 0.03
_DARK: Final = 128
_LEFT: Final = 0.05
_MOST_PIXELS: Final = 80_000_000
_FORMATS: Final = (
    *("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "ICO", "TGA", "PCX", "XPM", "PSD"),
    *("JPEG2000", "SGI", "DDS", "ICNS"),
)
"""Formats that Pillow decodes itself; it would have Ghostscript of this machine draw PostScript."""


def decoded(source: Path | BinaryIO) -> Any:
    """Return a decoded picture.

    Raises:
        UnidentifiedImageError: It is no picture of a known format.
        DecompressionBombError: It has more than 80 million pixels.
    """
    picture = Image.open(source, formats=_FORMATS)
    if picture.width * picture.height > _MOST_PIXELS:
        told = f"a picture of {picture.width} × {picture.height} pixels is too large"
        raise Image.DecompressionBombError(told)
    picture.load()
    return picture


def _averages(values: Any) -> Any:
    """Return the mean of each window."""
    sums = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    size = _WINDOW
    whole = sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]
    return whole / size**2


def _structure(one: Any, other: Any) -> float:
    """Return the structural similarity of two arrays of one channel."""
    first, second = one.astype(np.float64), other.astype(np.float64)
    mean1, mean2 = _averages(first), _averages(second)
    count = _WINDOW**2
    sample = count / (count - 1)
    variance1 = sample * (_averages(first * first) - mean1 * mean1)
    variance2 = sample * (_averages(second * second) - mean2 * mean2)
    covariance = sample * (_averages(first * second) - mean1 * mean2)
    top = (2 * mean1 * mean2 + _C1) * (2 * covariance + _C2)
    bottom = (mean1**2 + mean2**2 + _C1) * (variance1 + variance2 + _C2)
    return float((top / bottom).mean())


def likeness(one: Any, other: Any) -> float:
    """Return the structural similarity of two pictures; 0 for other sizes and tiny ones."""
    if one.size != other.size or min(one.size) < _WINDOW:
        return 0.0
    first, second = (np.asarray(each.convert("RGB")) for each in (one, other))
    return sum(_structure(first[:, :, at], second[:, :, at]) for at in range(3)) / 3


def compare_images(
    result: Path | None, expected: Path | None, reference_base_result: float | None = None
) -> float:
    """Return the structural similarity of two pictures in grey, in the size of the expected one.

    If `reference_base_result` gives the similarity at the start, the result is the share of the
    remaining difference that the agent has removed.
    """
    if result is None or expected is None:
        return 0.0
    pictures = [decoded(one).convert("L") for one in (result, expected)]
    if min(*pictures[0].size, *pictures[1].size) < _WINDOW:
        return 0.0
    size = pictures[1].size
    arrays = [np.asarray(one.resize(size, Image.Resampling.LANCZOS)) for one in pictures]
    seen = max(0.0, _structure(*arrays))
    if reference_base_result is None:
        return seen
    gain = (seen - reference_base_result) / (1 - reference_base_result)
    return gain if seen >= reference_base_result + 0.01 else 0.0


def compare_image_list(
    result: Path | Sequence[Path | None] | None, expected: Path | Sequence[Path]
) -> float:
    """All pictures are equal, pixel by pixel, after they were scaled to the same size."""
    seen = [result] if result is None or isinstance(result, Path) else list(result)
    wanted = [expected] if isinstance(expected, Path) else list(expected)
    if len(seen) != len(wanted):
        return 0.0
    return float(
        all(
            one and _equal(decoded(one), decoded(two))
            for one, two in zip(seen, wanted, strict=True)
        )
    )


def _equal(one: Any, other: Any) -> bool:
    if one.size != other.size:
        one = one.resize(other.size, Image.Resampling.LANCZOS)
    difference = ImageChops.difference(one.convert("RGBA"), other.convert("RGBA"))
    return not np.asarray(difference).any()


def check_structure_sim(result: Path | None, expected: Path | None) -> float:
    """Both pictures have the same size and structure."""
    return _alike(result, expected, _SAME)


def check_file_exists_and_structure_sim(result: Path | None, expected: Path | None) -> float:
    """The picture exists and has the size and structure of the other."""
    return _alike(result, expected, _SAME)


def _alike(result: Path | None, expected: Path | None, least: float) -> float:
    if result is None or expected is None:
        return 0.0
    return float(likeness(decoded(result), decoded(expected)) >= least)


def check_structure_sim_with_threshold(
    result: Path | None, expected: Path | None, ssim_threshold: float = _LIKE
) -> float:
    """The structural similarity of both pictures, scaled to one size, reaches the threshold."""
    if result is None or expected is None:
        return 0.0
    wanted = decoded(expected)
    seen = decoded(result).convert("RGB").resize(wanted.size, Image.Resampling.LANCZOS)
    return float(likeness(seen, wanted) >= ssim_threshold)


def check_structure_sim_resized(result: Path | None, expected: Path | None) -> float:
    """The opaque part of the picture has, scaled, the structure of the other."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = decoded(result), decoded(expected)
    box = seen.convert("RGBA").getchannel("A").getbbox()
    if box is None:
        return 0.0
    return float(likeness(seen.convert("RGB").crop(box).resize(wanted.size), wanted) >= _SAME)


def check_image_mirror(result: Path | None, expected: Path | None) -> float:
    """The picture is the other one, mirrored."""
    if result is None or expected is None:
        return 0.0
    return float(likeness(ImageOps.mirror(decoded(result)), decoded(expected)) >= _SAME_MIRRORED)


def check_palette_and_structure_sim(result: Path | None, expected: Path | None) -> float:
    """The picture has a palette, and the structure of the other."""
    if result is None or expected is None:
        return 0.0
    seen = decoded(result)
    return float(seen.mode == "P" and likeness(seen, decoded(expected)) >= _SAME)


def check_brightness_decrease_and_structure_sim(
    result: Path | None, expected: Path | None, threshold: float = _MOST_SQUARES
) -> float:
    """The picture is darker than the other, and the same at equal brightness."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = decoded(result).convert("RGB"), decoded(expected).convert("RGB")
    dark, bright = _brightness(seen), _brightness(wanted)
    if not 0 < dark < bright:
        return 0.0
    one = _lit(seen.resize(wanted.size, Image.Resampling.LANCZOS), _MIDDLE / dark)
    return float(((one - _lit(wanted, _MIDDLE / bright)) ** 2).mean() < threshold)


def _brightness(picture: Any) -> float:
    return float(ImageStat.Stat(picture.convert("L")).mean[0])


def _lit(picture: Any, factor: float) -> Any:
    return np.clip(np.asarray(picture, dtype=np.float64) * factor, 0, 255) / 255


def check_saturation_increase_and_structure_sim(
    result: Path | None, expected: Path | None
) -> float:
    """The picture has more saturation than the other, and the same hues and values."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = (decoded(one).convert("RGB").convert("HSV") for one in (result, expected))
    means = [float(np.asarray(one.getchannel("S")).mean()) for one in (seen, wanted)]
    same = all(likeness(seen.getchannel(at), wanted.getchannel(at)) >= _SAME for at in "HV")
    return float(means[0] > means[1] and same)


def check_contrast_increase_and_structure_sim(result: Path | None, expected: Path | None) -> float:
    """The picture has more contrast than the other, and a similar structure."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = decoded(result), decoded(expected)
    spread = [
        float(np.asarray(one.convert("RGB"), dtype=np.float64).std()) for one in (seen, wanted)
    ]
    return float(spread[0] > spread[1] and likeness(seen, wanted) >= _SAME_MORE_CONTRAST)


def check_green_background(result: Path | None, expected: Path | None) -> float:
    """The picture is greener than red or blue wherever the other one is not black."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = (
        np.asarray(decoded(one).convert("RGB")).astype(int) for one in (result, expected)
    )
    if seen.shape != wanted.shape:
        return 0.0
    pixels = seen[wanted.any(axis=2)]
    return float(bool((pixels[:, 1] > np.maximum(pixels[:, 0], pixels[:, 2])).all()))


def check_triangle_position(result: Path | None) -> float:
    """The part with the second most frequent colour lies in the middle of the picture."""
    if result is None:
        return 0.0
    pixels = np.asarray(decoded(result).convert("RGBA"))
    colours, counts = np.unique(pixels.reshape(-1, 4), axis=0, return_counts=True)
    if len(colours) < 2:
        return 0.0
    colour = colours[np.argsort(counts)[-2]]
    at = np.argwhere((pixels == colour).all(axis=2)).mean(axis=0)
    size = np.array(pixels.shape[:2])
    return float(bool((np.abs(at - size / 2) < 0.05 * size).all()))


def check_textbox_on_leftside(result: Path | None) -> float:
    """The leftmost dark pixel lies in the left twentieth of the picture."""
    if result is None:
        return 0.0
    picture = decoded(result)
    columns = np.flatnonzero((np.asarray(picture.convert("L")) < _DARK).any(axis=0))
    return float(columns.size > 0 and int(columns[0]) < _LEFT * picture.size[0])


def check_image_size(result: Path | None, rule: Rule) -> float:
    """The picture, or what is opaque of it, has this width and height."""
    if result is None:
        return 0.0
    picture = decoded(result)
    width, height = picture.size
    if rule.get("ignore_transparent"):
        box = picture.convert("RGBA").getchannel("A").getbbox() or (0, 0, 0, 0)
        width, height = box[2] - box[0], box[3] - box[1]
    wanted = rule.get("width"), rule.get("height")
    return float(wanted[0] in (None, width) and wanted[1] in (None, height))


def check_image_file_size(result: Path | None, rule: Rule) -> float:
    """The file has fewer bytes, and is a picture."""
    if result is None:
        return 0.0
    decoded(result)
    return float(result.stat().st_size < rule["max_size"])
