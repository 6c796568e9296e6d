"""Read the agent's pictures in a process with limits (`agentgym.verify.subprocess_reader`).

Similarity is the difference hash of Krawetz (2013): for each pair of neighbouring cells in a 9 x 8
grid of greys, which one is brighter.
"""

import os

from PIL import Image, ImageChops, ImageOps, ImageStat

MOST_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM")


def answer(order, folder):
    """Return the requested measure of ``image``, compared with ``gold`` if that is given."""
    seen, kind = _open(os.path.join(folder, "image"))
    if order["what"] == "about":
        return {"size": seen.size, "format": kind}
    if order["what"] == "region":
        return _region(seen, order)
    gold, _ = _open(os.path.join(folder, "gold"))
    if order["what"] == "likeness":
        grids = zip(_bits(seen), _bits(gold), strict=True)
        means = zip(ImageStat.Stat(seen).mean, ImageStat.Stat(gold).mean, strict=True)
        return {
            "distance": sum(a != b for a, b in grids),
            "colour": max(abs(a - b) for a, b in means),
            "sizes": [seen.size, gold.size],
        }
    if seen.size != gold.size:
        return {"sizes": [seen.size, gold.size], "differ": None}
    sizes = [seen.size, gold.size]
    if order["box"] is not None:
        seen, gold = _part(seen, order["box"]), _part(gold, order["box"])
    differ = _outside(ImageChops.difference(seen, gold), order["tolerance"])
    return {"sizes": sizes, "differ": differ}


def _open(path):
    """Return the first frame, rotated upright, with white for transparent, and the format."""
    image = Image.open(path, formats=FORMATS)
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels are too many")
    kind = image.format
    image = ImageOps.exif_transpose(image).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image).convert("RGB"), kind


def _bits(image):
    grid = image.convert("L").resize((9, 8), Image.Resampling.BOX)
    cells = list(grid.tobytes())
    return [cells[9 * y + x] < cells[9 * y + x + 1] for y in range(8) for x in range(8)]


def _region(image, order):
    part = _part(image, order["box"])
    plain = Image.new("RGB", part.size, tuple(order["colour"]))
    outside = _outside(ImageChops.difference(part, plain), order["tolerance"])
    mean = [round(value) for value in ImageStat.Stat(part).mean]
    return {"share": 1 - outside / (part.width * part.height), "mean": mean}


def _part(image, box):
    x, y, width, height = box
    if x + width > image.width or y + height > image.height:
        raise ValueError(f"{image.width} x {image.height} pixels, too small for the region")
    return image.crop((x, y, x + width, y + height))


def _outside(difference, tolerance):
    """Count the pixels that differ by more than the tolerance in any channel."""
    red, green, blue = difference.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return sum(most.histogram()[tolerance + 1 :])
