"""Pictures for the calibration cases."""

import io

from PIL import Image, ImageDraw

_SCENE = [
    [0, 0, 160, 60, "#87ceeb"],
    [0, 60, 160, 60, "#3a7d34"],
    [20, 30, 40, 50, "#8b1a1a"],
    [110, 10, 24, 24, "#ffd700"],
]


def picture(
    width: int = 160,
    height: int = 120,
    boxes: list = _SCENE,
    kind: str = "PNG",
    scale: float = 1.0,
    mirrored: bool = False,
    turned: bool = False,
    alpha: bool = False,
) -> bytes:
    """Return a picture of coloured boxes (left, top, width, height, colour)."""
    image = Image.new("RGBA" if alpha else "RGB", (width, height), "#0000" if alpha else "white")
    draw = ImageDraw.Draw(image)
    for left, top, wide, high, colour in boxes:
        draw.rectangle((left, top, left + wide - 1, top + high - 1), fill=colour)
    if mirrored:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if turned:
        image = image.transpose(Image.Transpose.ROTATE_90)
    if scale != 1.0:
        image = image.resize((int(width * scale), int(height * scale)))
    stream = io.BytesIO()
    exif = Image.Exif()
    if turned:
        exif[0x0112] = 6  # shown upright after a clockwise turn
    image.save(stream, kind, exif=exif.tobytes())
    return stream.getvalue()
