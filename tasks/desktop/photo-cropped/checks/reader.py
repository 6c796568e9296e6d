"""Find the part of the scan that a picture shows, pixel by pixel."""

import os

from PIL import Image

MOST_PIXELS = 1_000_000


def answer(order, folder):
    """Return left, top, right and bottom of the part; an empty list if it is not found."""
    scan = Image.open(os.path.join(folder, "scan")).convert("RGB")
    kinds = ("PNG", "JPEG", "BMP", "WEBP", "TIFF")
    image = Image.open(os.path.join(folder, "image"), formats=kinds)
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels are too many")
    image = image.convert("RGB")
    width, height = image.size
    if width > scan.width or height > scan.height or min(width, height) < 20:
        return []
    whole, part = scan.tobytes(), image.tobytes()
    # A line in the middle is looked for first; the grain makes every line another one.
    middle = height // 2
    line = part[3 * width * middle : 3 * width * (middle + 1)]
    place = whole.find(line)
    while place >= 0:
        pixel, within = divmod(place, 3)
        y, x = divmod(pixel, scan.width)
        box = (x, y - middle, x + width, y - middle + height)
        fits = box[1] >= 0 and box[2] <= scan.width and box[3] <= scan.height
        if not within and fits and scan.crop(box).tobytes() == part:
            return list(box)
        place = whole.find(line, place + 1)
    return []
