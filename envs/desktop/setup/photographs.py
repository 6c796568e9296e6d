"""Pictures for the setups of desktop tasks; equal arguments give equal bytes."""

import random

from documents import HOME
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

_FONTS = "/usr/share/fonts/truetype/liberation/LiberationSans-{}.ttf"


def font(size, bold=False, italic=False):
    """Return the font of the office in a size in pixels."""
    kind = "Bold" if bold else "Italic" if italic else "Regular"
    return ImageFont.truetype(_FONTS.format(kind), size)


def blend(top, bottom, size):
    """Return a picture that goes from one colour at the top to another at the bottom."""
    column = Image.new("RGB", (1, size[1]))
    for y in range(size[1]):
        part = y / max(1, size[1] - 1)
        column.putpixel(
            (0, y), tuple(round(a + (b - a) * part) for a, b in zip(top, bottom, strict=True))
        )
    return column.resize(size)


def grain(image, draw, strength=6):
    """Return a picture with the grain of a film."""
    noise = Image.frombytes("L", image.size, draw.randbytes(image.width * image.height))
    noise = noise.point([round(strength * value / 255) for value in range(256)])
    lighter = ImageChops.add(image, Image.merge("RGB", [noise] * 3))
    return ImageChops.subtract(lighter, Image.new("RGB", image.size, (strength // 2,) * 3))


def clouds(size, draw, cells):
    """Return a mask of soft clouds."""
    small = Image.frombytes("L", cells, draw.randbytes(cells[0] * cells[1]))
    soft = small.resize(size, Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(6))
    return soft.point([max(0, min(220, 3 * (value - 135))) for value in range(256)])


def ridge(width, height, rough, draw):
    """Return the outline of hills as heights from left to right."""
    points = [height + draw.uniform(-rough, rough) for _ in range(9)]
    while len(points) < width:
        rough /= 2.1
        middle = [
            (a + b) / 2 + draw.uniform(-rough, rough)
            for a, b in zip(points, points[1:], strict=False)
        ]
        points = [p for pair in zip(points, middle, strict=False) for p in pair] + points[-1:]
    return [points[round(x * (len(points) - 1) / (width - 1))] for x in range(width)]


def harbour(seed, size=(720, 480)):
    """Return the photograph of a small harbour before hills, in the evening sun."""
    draw = random.Random(seed)
    width, height = size
    shore = round(height * 0.62)
    scene = blend((96, 142, 190), (238, 206, 168), (width, shore))
    scene.paste((250, 244, 236), mask=clouds(scene.size, draw, (13, 9)))
    pen = ImageDraw.Draw(scene)
    for base, rough, colour in (
        (0.52, 60, (116, 128, 150)),
        (0.7, 46, (86, 104, 108)),
        (0.86, 26, (58, 80, 62)),
    ):
        line = ridge(width, shore * base, rough, draw)
        pen.polygon([(0, shore), *enumerate(line), (width, shore)], fill=colour)
    x = draw.randrange(10, 40)
    while x < width - 60:
        wide, high = draw.randrange(34, 58), draw.randrange(34, 66)
        wall = draw.choice(((222, 200, 170), (196, 140, 112), (232, 226, 214), (176, 92, 78)))
        _house(pen, x, shore, wide, high, wall, draw)
        x += wide + draw.randrange(2, 40)
    water = scene.crop((0, shore - (height - shore), width, shore))
    water = water.transpose(Image.Transpose.FLIP_TOP_BOTTOM).filter(ImageFilter.GaussianBlur(3))
    water = Image.blend(water, Image.new("RGB", water.size, (44, 78, 96)), 0.45)
    whole = Image.new("RGB", size)
    whole.paste(scene, (0, 0))
    whole.paste(water, (0, shore))
    pen = ImageDraw.Draw(whole)
    for _ in range(160):
        x, y = draw.randrange(width), draw.randrange(shore + 4, height)
        long = 4 + (y - shore) // 6
        pen.line((x, y, x + long, y), fill=(148, 164, 168) if draw.random() < 0.4 else (40, 66, 82))
    for _ in range(3):
        _boat(pen, draw.randrange(40, width - 120), draw.randrange(shore + 40, height - 24), draw)
    return grain(whole.filter(ImageFilter.GaussianBlur(0.8)), draw)


def _house(pen, x, ground, wide, high, wall, draw):
    roof = draw.choice(((132, 66, 52), (92, 74, 70), (148, 90, 60)))
    pen.rectangle((x, ground - high, x + wide, ground), fill=wall)
    top = ground - high
    pen.polygon([(x - 3, top), (x + wide // 2, top - wide // 3), (x + wide + 3, top)], fill=roof)
    for left in range(x + 6, x + wide - 8, 13):
        for y in range(top + 7, ground - 12, 16):
            lit = draw.random() < 0.3
            pen.rectangle((left, y, left + 6, y + 8), fill=(250, 220, 130) if lit else (60, 66, 78))


def _boat(pen, x, y, draw):
    hull = draw.choice(((150, 44, 40), (38, 70, 110), (236, 232, 222)))
    pen.polygon([(x, y), (x + 78, y), (x + 66, y + 16), (x + 10, y + 16)], fill=hull)
    pen.rectangle((x + 24, y - 15, x + 48, y), fill=(228, 222, 208))
    pen.line((x + 54, y, x + 54, y - 58), fill=(70, 60, 50), width=2)


def save_png(image, path):
    """Save a picture as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, "PNG")


def save_jpeg(image, path, quality=90):
    """Save a picture as JPEG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, "JPEG", quality=quality)


def set_up_drawing():
    """Leave out the greeting of the first start, and show the names of the tools."""
    store = HOME / ".config/glib-2.0/settings/keyfile"
    store.parent.mkdir(parents=True, exist_ok=True)
    lines = ["[com/github/maoschanz/drawing]", "last-version='1.0.2'", "show-labels=true"]
    store.write_text("\n".join([*lines, "maximized=true", ""]))


def set_up_viewer():
    """Let the picture viewer show no small pictures, for which it lacks a service and says so."""
    store = HOME / ".config/xfce4/xfconf/xfce-perchannel-xml/ristretto.xml"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<channel name="ristretto" version="1.0">\n'
        '  <property name="errors" type="empty">\n'
        '    <property name="missing-thumbnailer" type="bool" value="false"/>\n  </property>\n'
        '  <property name="window" type="empty">\n'
        '    <property name="thumbnails" type="empty">\n'
        '      <property name="show" type="bool" value="false"/>\n    </property>\n  </property>\n'
        "</channel>\n"
    )
